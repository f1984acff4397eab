"""Turn clocks of the whole platform: they survive the restart of everything, and time runs out exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from random import Random

import pytest

from promontory import ClockKind, TableOptions, TimeControl
from promontory.bots.registry import policy
from promontory.client.seats import Seat, overtaken
from promontory.codec.conduct import LeaveCause, MatchEvent, SeatLeft, TurnTimedOut
from promontory.codec.outcomes import CloseReason
from promontory.local.platform import GAME_NAMES, SERVER, Platform
from promontory.rules.audit import audit, shipped_rulesets
from tests.support import havoc
from tests.support.players import client_of
from tests.support.process_logs import log_faults

HURRIED = {"PROMONTORY_CLOCK_HOLD_SECONDS": "0.5", "PROMONTORY_LEASE_SECONDS": "1", "PROMONTORY_MAX_ATTEMPTS": "30"}
TIME = TimeControl(ClockKind.PER_TURN, base=timedelta(seconds=2), default_moves=2)
VICTIMS = ("relay", *GAME_NAMES, SERVER, "worker-0", "relay")


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, impatient."""
    with Platform(tmp_path_factory.mktemp("clocks"), settings=HURRIED) as running:
        yield running


async def asleep(seat: Seat) -> tuple[CloseReason, Sequence[MatchEvent]]:
    """Watch a match without ever moving, and return why it was closed and what happened beside the game."""
    happened = [event async for update in seat for event in update.match_events]
    last = await seat.look()
    assert last.match.outcome is not None
    return last.match.outcome.reason, happened


@pytest.mark.timeout(120)
async def test_time_runs_out_exactly_once_while_everything_is_killed(platform: Platform) -> None:
    """[event_log 2.10] [event_log R1] [event_log R3] Who never moves loses after two default moves, in every game."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client_of(platform, f"sleeper-{game}")) for game in GAME_NAMES]
        options = TableOptions(seats=2, house_bots={1: "greedy"}, time_control=TIME)
        tables = [await client.create_table(game, options) for client, game in zip(clients, GAME_NAMES, strict=True)]
        seats = [await table.seat() for table in tables]
        watching = asyncio.gather(*(asleep(seat) for seat in seats))
        await _kill_in_turn(platform)
        results = await watching
        exports = [await seat.export() for seat in seats]
    assert results == [
        (
            CloseReason.TIMED_OUT,
            [
                *(TurnTimedOut(0, number, "") for number in (1, 2, 3)),
                SeatLeft(0, LeaveCause.TIMED_OUT, ""),
            ],
        )
    ] * len(GAME_NAMES)
    assert [audit(raw, shipped_rulesets()).cause for raw in exports] == [None] * len(GAME_NAMES)
    assert log_faults(platform.directory / "logs") == []


async def _kill_in_turn(platform: Platform) -> None:
    for name in VICTIMS:
        await havoc.crash(platform, name)


@pytest.mark.timeout(120)
async def test_the_house_stands_in_for_a_turn_and_takes_over_for_good(platform: Platform) -> None:
    """A policy plays the late turn, the player the next one; who leaves three is played on for to the end."""
    control = TimeControl(ClockKind.PER_TURN, timedelta(seconds=2), default_moves=5, default_policy="greedy")
    options = TableOptions(seats=3, house_bots={1: "random", 2: "random"}, time_control=control, stand_in="greedy")
    async with client_of(platform, "dozer") as client:
        table = await client.create_table("pacific", options)
        seat = await table.seat()
        choose, rng = policy(await seat.rules(), "greedy"), Random(1)
        slept, events = False, list[MatchEvent]()
        async for update in seat:
            events += update.match_events
            if not update.your_turn:
                continue
            if not slept:
                slept = bool(update.match.clocks[0].timeouts)
                continue
            with overtaken():  # others' commits may come before that of the seat's own departure
                if update.view.turn == 3:
                    await seat.resign()
                else:
                    await seat.submit(choose(update.view, rng), expected_version=update.version)
        last = await seat.look()
    assert events[:1] == [TurnTimedOut(0, 1, "greedy")]
    assert events[-1:] == [SeatLeft(0, LeaveCause.RESIGNED, "greedy")]
    assert last.match.outcome is not None
    assert last.match.outcome.reason is CloseReason.PLAYED_OUT
    assert last.match.outcome.placements[0].place == 3
