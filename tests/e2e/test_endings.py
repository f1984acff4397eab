"""Matches that players end themselves, and what becomes of finished ones, through every process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from promontory import AsyncClient, Ending, FailedPrecondition, TableOptions
from promontory.bots.registry import policy
from promontory.client.matches import MatchOutcome, Update
from promontory.client.places import DATA_DIRECTORY
from promontory.client.seats import Seat
from promontory.codec.conduct import EndingOffered, LeaveCause, MatchEvent, SeatLeft
from promontory.codec.outcomes import CloseReason
from promontory.eventlog.port import bucket_of
from promontory.games.registry import AnyGame
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from tests.e2e.test_bot_command import promontory
from tests.support.players import client_of
from tests.support.process_logs import log_faults
from tests.support.waiting import eventually

GAME = "transcontinental"
ABANDON_AFTER = timedelta(seconds=10)
Players = tuple[AsyncClient, AsyncClient]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with an archive for what has ended a second ago."""
    home = tmp_path_factory.mktemp("endings")
    settings = {"PROMONTORY_ARCHIVE_URL": _archive(home), "PROMONTORY_ARCHIVE_AFTER_SECONDS": "1"}
    with Platform(home / DATA_DIRECTORY, settings=settings) as running:
        write_connection(running)
        yield running


def _archive(home: Path) -> str:
    return f"file://{home}/archive"


@pytest.fixture
async def players(platform: Platform) -> AsyncIterator[Players]:
    """Two who know each other."""
    async with AsyncExitStack() as stack:
        ann, bob = [await stack.enter_async_context(client_of(platform, name)) for name in ("ann", "bob")]
        yield ann, bob


async def seated(players: Players) -> tuple[Seat, Seat]:
    """Return the seats of a new match of both."""
    ann, bob = players
    table = await ann.create_table(GAME, TableOptions(abandon_after=ABANDON_AFTER))
    joined = await bob.join_table(table.invite_code)
    return await table.seat(), await joined.seat()


async def outcome(seat: Seat) -> tuple[CloseReason, list[int]]:
    """Return how the match of `seat` ended, and the places."""
    found: MatchOutcome | None = (await seat.look()).match.outcome
    assert found is not None
    return found.reason, [placement.place for placement in found.placements]


@pytest.mark.timeout(120)
async def test_players_end_matches_themselves(players: Players) -> None:
    """[match/v1 CloseReason] Called off, drawn and cancelled by agreement; who is gone is claimed, not who watches."""
    watched = await seated(players)
    updates = aiter(watched[0])
    await anext(updates)  # before the others begin, so that it could be claimed before them
    watching = asyncio.create_task(_drain(updates))
    aborted, drawn, cancelled, claimed = [await seated(players) for _ in range(4)]
    await aborted[1].abort()
    for ending, seats in ((Ending.DRAW, drawn), (Ending.CANCEL, cancelled)):
        await seats[0].offer(ending)
        await seats[1].decline()
        await seats[0].offer(ending)
        await seats[1].offer(ending)
    await eventually(lambda: _claimed(claimed[1]), seconds=60)
    with pytest.raises(FailedPrecondition, match="NOTHING_TO_CLAIM"):
        await watched[1].claim()
    watching.cancel()
    assert [await outcome(seats[0]) for seats in (aborted, drawn, cancelled, claimed)] == [
        (CloseReason.ABORTED, []),
        (CloseReason.DRAWN, [1, 1]),
        (CloseReason.CANCELLED, []),
        (CloseReason.ABANDONED, [2, 1]),
    ]
    assert [type(event) for event in await _beside(drawn[0])].count(EndingOffered) == 3
    assert await _beside(claimed[0]) == [SeatLeft(0, LeaveCause.ABANDONED, "")]


async def _beside(seat: Seat) -> list[MatchEvent]:
    return [event async for commit in seat.events() for event in commit.match_events]


async def _drain(updates: AsyncIterator[Update]) -> None:
    async for _ in updates:
        pass


async def _claimed(seat: Seat) -> bool:
    with suppress(FailedPrecondition):
        return (await seat.claim()).is_over
    return False


@pytest.mark.timeout(120)
async def test_a_finished_match_is_archived_and_stays_what_it_was(platform: Platform, players: Players) -> None:
    """[event_log 2.11] Replayed, forked, exported and audited like before, with nothing left in the log's server."""
    seat, other = await seated(players)
    rules = await seat.rules()
    await asyncio.gather(*(each.play(_greedy(rules)) for each in (seat, other)))
    before = (await seat.export(), await seat.look(3))
    await eventually(lambda: _pruned(platform, seat.match_id), seconds=60)
    assert (await seat.export(), await seat.look(3)) == before
    replay = await players[1].replay(seat.match_id)
    assert replay.at(3, seat=0).view == before[1].view
    fork = await players[1].fork(seat.match_id, 3, seats=[None, "greedy"])
    assert (await fork.seats[0].play(_greedy(rules))).match.is_over
    told = json.loads(await _told(platform, "audit", seat.match_id, fork.match.match_id, "--json"))
    assert [report["ok"] for report in told] == [True, True]
    steps = await _told(platform, "replay", seat.match_id, "--json")
    assert len(steps.splitlines()) == (await seat.look()).version
    assert json.loads(await _told(platform, "versions", "--json"))
    assert seat.match_id in await _told(
        platform, "archive", "list", "--json", "--archive", _archive(platform.directory.parent)
    )
    assert log_faults(platform.directory / "logs") == []


async def _pruned(platform: Platform, match_id: str) -> bool:
    async with Redis.from_url(platform.redis_url) as redis:
        return not await redis.exists(f"{{{bucket_of(match_id)}}}:m:{match_id}:log")


def _greedy(rules: AnyGame) -> Callable[[Any], Any]:
    choose, rng = policy(rules, "greedy"), Random(1)
    return lambda view: choose(view, rng)


async def _told(platform: Platform, *arguments: str) -> str:
    code, out, err = await promontory(*arguments, "--data-dir", str(platform.directory))
    assert code == 0, err
    return out
