"""What every index of the archive does, wherever it keeps its lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promontory.archive.memory import MemoryArchiveIndex
from promontory.archive.port import ArchiveIndex, Entry, Listed
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import Connections
from tests.support.archiving import MATCH, OTHERS

ENDED = 1_790_000_000_123
FIRST = Entry(MATCH, "tc", ("ada", "ben"), ENDED)
SECOND = Entry(OTHERS[1], "tc", ("ben", "bot:house"), ENDED + 1)
ELSEWHERE = Entry(OTHERS[0], "pc", ("ada", "ada"), ENDED + 2)


def _memory(_: Connections) -> ArchiveIndex:
    return MemoryArchiveIndex()


def _redis(connections: Connections) -> ArchiveIndex:
    return RedisArchiveIndex(Caller(connections.commands, attempts=1, deadline_seconds=1))


@pytest.fixture(params=[_memory, _redis], ids=["memory", "redis"])
async def index(request: pytest.FixtureRequest, redis_connections: Connections) -> ArchiveIndex:
    make: Callable[[Connections], ArchiveIndex] = request.param
    made = make(redis_connections)
    await made.clear()
    [await made.add(entry) for entry in (SECOND, FIRST, ELSEWHERE, FIRST)]
    return made


def listed(*entries: Entry) -> list[Listed]:
    return [Listed(entry.match_id, entry.ended_at_ms) for entry in entries]


async def test_a_game_s_matches_come_the_latest_first_and_once(index: ArchiveIndex) -> None:
    assert await index.of_game("tc", limit=10) == listed(SECOND, FIRST)
    assert await index.of_game("tc", limit=1) == listed(SECOND)
    assert await index.of_game("rd", limit=10) == []


async def test_a_player_s_matches_come_from_all_games(index: ArchiveIndex) -> None:
    assert await index.of_player("ada", limit=10) == listed(ELSEWHERE, FIRST)
    assert await index.of_player("nobody", limit=10) == []


async def test_it_knows_which_matches_it_holds(index: ArchiveIndex) -> None:
    assert [await index.holds(match_id) for match_id in (MATCH, OTHERS[0], OTHERS[2])] == [True, True, False]


async def test_it_forgets_everything_when_it_is_cleared(index: ArchiveIndex) -> None:
    await index.clear()
    assert not await index.holds(MATCH)
    assert (await index.of_game("tc", limit=10), await index.of_player("ben", limit=10)) == ([], [])


async def test_it_is_empty_until_a_match_is_noted_and_when_it_is_cleared(index: ArchiveIndex) -> None:
    before = await index.is_empty()
    await index.clear()
    assert (before, await index.is_empty()) == (False, True)
