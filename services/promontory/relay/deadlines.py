"""Turn clocks: having the rules services record that a player's time ran out."""

from __future__ import annotations

import asyncio

import structlog

from promontory.relay.chores import Chores
from promontory.relay.domain import ClockDue
from promontory.relay.ports import Clockwork, GameUnavailable
from promontory.runtime import clock, metrics

log = structlog.get_logger()

LONGEST_WAIT_SECONDS = 5.0
"""How long a deadline that is a little ahead is waited for; a later one comes again when its lease ends."""


class Deadlines:
    """Has the clocks of matches enforced whose deadline is there.

    Nothing is settled: the commit that ends a turn, by whatever, changes or clears the deadline with it. For
    `hold_seconds` after the start, and after the log was away, nothing is enforced: players are to come back first.
    """

    def __init__(self, clockwork: Clockwork, *, hold_seconds: float) -> None:
        self._clockwork, self._hold_seconds = clockwork, hold_seconds
        self._chores = Chores()
        self._enforced_from = 0.0
        self.hold()

    def hold(self) -> None:
        """Give players time to come back: the platform was away."""
        self._enforced_from = clock.monotonic() + self._hold_seconds

    async def start(self, name: str, due: ClockDue) -> None:
        """Start enforcing the clock of `due`, the obligation `name`, unless deadlines are held."""
        if clock.monotonic() < self._enforced_from:
            metrics.OBLIGATIONS.labels(kind="clock", outcome="held").inc()
            return
        await self._chores.start(name, lambda: self._enforce(due))

    async def finish(self) -> None:
        """Wait until all that was started is done."""
        await self._chores.finish()

    async def _enforce(self, due: ClockDue) -> None:
        outcome = "clock_failed"
        try:
            enforced = await self._clockwork.enforce(due)
            if not enforced.recorded and enforced.due_in_seconds is not None:
                await asyncio.sleep(min(enforced.due_in_seconds, LONGEST_WAIT_SECONDS))
                enforced = await self._clockwork.enforce(due)
            outcome = "clock_enforced" if enforced.recorded else "clock_needless"
            log.info(outcome, game=due.game, match_id=due.match_id)
        except GameUnavailable as error:
            log.warning(outcome, game=due.game, match_id=due.match_id, cause=str(error))
        metrics.OBLIGATIONS.labels(kind="clock", outcome=outcome).inc()
