"""Matches as the command line shows them to people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

import promontory
from promontory import AsyncClient, Update
from promontory.client.clocks import SeatClock
from promontory.client.match_text import match_text
from tests.client.referee import Referee

GAME = "transcontinental"


@pytest.fixture
async def update(client: AsyncClient) -> Update:
    """An open match as a spectator sees it."""
    return await client.spectate(GAME, Referee.match_id).look()


def lines(update: Update, **changes: object) -> list[str]:
    """Return what is shown of `update` with `changes` in its match."""
    return match_text(replace(update, match=replace(update.match, **changes)), promontory.game(GAME)).splitlines()


def test_a_spectator_is_told_that_the_match_is_further_on(update: Update) -> None:
    """[docs/watching] What is shown is not what is being played, which a version alone does not tell."""
    assert "spectators see it 10 commits later" in lines(update, spectator_delay=10)
    assert "later" not in "\n".join(lines(update))


def test_a_clock_that_runs_says_until_when(update: Update) -> None:
    """[SeatClock] What was left when the clock began to run is no longer what is left."""
    deadline = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    clocks = (SeatClock(0, timedelta(minutes=9, seconds=8), deadline, 0), SeatClock(1, timedelta(minutes=10), None, 0))
    shown = "time left: seat 0 09:08 (until 2030-01-02 03:04:05 UTC), seat 1 10:00"
    assert shown in lines(update, clocks=clocks)
