"""Recomputing a pool's ratings from the matches' logs."""

from __future__ import annotations

import msgspec
import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, Commit, Proposed, StoredEvent
from promontory.scoring.domain import Change, Rating
from promontory.scoring.ladders import Ladders
from promontory.scoring.rebuild import Rebuilt, rebuild_pool
from promontory.scoring.records import encode, recorded, stream_of
from promontory.scoring.usecases import TallyMatch
from tests.support.closed_matches import POOL, Played, match_id, write_closed

STREAM = stream_of(POOL)
MATCHES = (
    Played("first", ("ada", "ben"), (1, 2)),
    Played("second", ("ben", "cyd"), (1, 1)),
    Played("third", ("cyd", "ada"), (2, 1)),
)


@pytest.fixture
async def log() -> MemoryEventLog:
    log = MemoryEventLog()
    tally = TallyMatch(log, Ladders(log))
    for match in MATCHES:
        await tally(await write_closed(log, match))
    return log


async def rewritten(log: MemoryEventLog, change: object) -> Rebuilt:
    """Rebuild from a copy of `log` in which `change` made other commits of the rating log's."""
    copy = MemoryEventLog()
    for match in MATCHES:
        await write_closed(copy, match)
    position = START
    for proposed in change(await log.read(STREAM)):  # type: ignore[operator]
        await copy.append(STREAM, proposed, expected=position)
        position = (await copy.head(STREAM)).position  # type: ignore[union-attr]
    return await rebuild_pool(copy, POOL)


def same(commit: Commit) -> Proposed:
    return Proposed(commit.events, commit.command_id, "")


def one_bit_more(commits: list[Commit]) -> list[Proposed]:
    """The second match gave ben the next greater mu."""
    first, second, third = commits
    tally = recorded(STREAM, second)
    change = tally.changes[0]
    after = Rating(change.after.mu + 1e-15 * 25, change.after.sigma, change.after.matches)
    changes = (Change(change.finish, change.before, after), tally.changes[1])
    payload = encode(msgspec.structs.replace(tally, changes=changes))
    altered = Proposed((StoredEvent(second.events[0].type, payload),), second.command_id, "")
    return [same(first), altered, same(third)]


def counted_twice(commits: list[Commit]) -> list[Proposed]:
    return [same(commits[0]), Proposed(commits[0].events, "again", "")]


def other_command_id(commits: list[Commit]) -> list[Proposed]:
    return [Proposed(commits[0].events, "whatever", "")]


def not_a_tally(commits: list[Commit]) -> list[Proposed]:
    return [same(commits[0]), Proposed((StoredEvent("promontory.api.scoring.v1.Rating", b""),), "stray", "")]


def unknown_match(commits: list[Commit]) -> list[Proposed]:
    tally = msgspec.structs.replace(recorded(STREAM, commits[0]), match_id=match_id("gone"))
    return [Proposed((StoredEvent(commits[0].events[0].type, encode(tally)),), f"tally:{tally.match_id}", "")]


async def test_an_honest_record_is_rebuilt_to_the_byte(log: MemoryEventLog) -> None:
    """[architecture 6] A leaderboard can be rebuilt to the byte."""
    rebuilt = await rebuild_pool(log, POOL)
    assert (rebuilt.equal, rebuilt.matches, rebuilt.players, rebuilt.first_difference) == (True, 3, 3, None)
    assert rebuilt == await rebuild_pool(log, POOL)


async def test_tables_of_many_with_ties_are_rebuilt_to_the_byte() -> None:
    """[architecture 6] Three to five seats; the same players in other seats."""
    log = MemoryEventLog()
    tally = TallyMatch(log, Ladders(log))
    players = ("ada", "ben", "cyd", "dot", "eve")
    for number, places in enumerate([(1, 1, 3), (1, 2, 2, 4), (4, 1, 1, 1), (1, 1, 1, 5, 4), (3, 1, 3, 1, 5)]):
        seated = (*players[number:], *players[:number])[: len(places)]
        await tally(await write_closed(log, Played(f"table {number}", seated, places)))
    rebuilt = await rebuild_pool(log, POOL)
    assert (rebuilt.equal, rebuilt.matches, rebuilt.players) == (True, 5, 5)


async def test_an_empty_pool_is_rebuilt(log: MemoryEventLog) -> None:
    """Nothing equals nothing."""
    rebuilt = await rebuild_pool(log, "pacific.ranked")
    assert (rebuilt.equal, rebuilt.matches, rebuilt.players) == (True, 0, 0)


async def test_another_order_of_matches_gives_another_leaderboard(log: MemoryEventLog) -> None:
    """The digest stands for the ratings."""
    other = MemoryEventLog()
    tally = TallyMatch(other, Ladders(other))
    for match in reversed(MATCHES):
        await tally(await write_closed(other, match))
    rebuilt = await rebuild_pool(other, POOL)
    assert rebuilt.equal
    assert rebuilt.leaderboard_sha256 != (await rebuild_pool(log, POOL)).leaderboard_sha256


@pytest.mark.parametrize(
    ("change", "version", "cause"),
    [
        (one_bit_more, 2, "the record is not what the match's log gives"),
        (counted_twice, 2, "the match counts a second time"),
        (other_command_id, 1, "the command id 'whatever' does not keep the match from counting again"),
        (not_a_tally, 2, "rt-000-transcontinental-ranked does not verify"),
        (unknown_match, 1, "the match's log is gone"),
    ],
)
async def test_a_record_that_does_not_follow_is_found(
    log: MemoryEventLog, change: object, version: int, cause: str
) -> None:
    """[event_log R18] The report says where and why."""
    rebuilt = await rewritten(log, change)
    assert not rebuilt.equal
    assert rebuilt.first_difference is not None
    assert rebuilt.first_difference.version == version
    assert rebuilt.first_difference.cause.startswith(cause)
