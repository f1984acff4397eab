"""Matches with clocks, at a time that tests set."""

from __future__ import annotations

from typing import Any

from promontory.codec.conduct import Ending
from promontory.codec.terms import ClockKind, TimeControl
from promontory.rules.arbitration import Enforced, Wish
from promontory.rules.domain import Match, SeatSetup, Setup
from tests.support.refereeing import HOUSE_SEAT, RELAY, Bench, holder

SECOND = 1000
MINUTE = 60 * SECOND
PLAYERS = ("ada", "ben", "cleo", "dora", "emil")
BUDGET = TimeControl(ClockKind.INCREMENT, base_ms=5 * MINUTE, increment_ms=10 * SECOND)
PER_TURN = TimeControl(ClockKind.PER_TURN, base_ms=MINUTE)


class Time:
    """The time that every process of a test reads, in ms since the epoch."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms

    def passes(self, ms: int) -> None:
        """Let so many ms pass."""
        self.ms += ms


def table(seats: int = 2, *, bots: int = 0, **options: Any) -> Setup:
    """Return a match of so many seats, the last `bots` of them played by the house."""
    players = tuple(SeatSetup(name) for name in PLAYERS[: seats - bots])
    return Setup((*players, *(HOUSE_SEAT,) * bots), **options)


class Arbiters:
    """Calls the arbiter's use cases of a bench in the name of seats."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._count = 0

    async def enforce(self, match: Match) -> Enforced:
        """Have the clock enforced, as the relay does."""
        return await self._bench.arbitration.enforce_clock(RELAY, match.match_id)

    def wish(self, match: Match, seat: int, request_id: str | None = None) -> tuple[Any, Wish]:
        """Return a wish of a seat, under a new request id unless one is given, and whose it is."""
        self._count += 1
        return holder(match, seat), Wish(match.match_id, seat, request_id or f"wish-{self._count}")

    async def abort(self, match: Match, seat: int) -> Match:
        """Have `seat` call the match off."""
        return (await self._bench.arbitration.abort(*self.wish(match, seat))).step.match

    async def claim(self, match: Match, seat: int, request_id: str | None = None) -> Match:
        """Have `seat` claim the match."""
        return (await self._bench.arbitration.claim(*self.wish(match, seat, request_id))).step.match

    async def offer(self, match: Match, seat: int, ending: Ending) -> Match:
        """Have `seat` agree to an ending."""
        return (await self._bench.arbitration.offer(*self.wish(match, seat), ending)).step.match

    async def decline(self, match: Match, seat: int) -> Match:
        """Have `seat` decline what others offered."""
        return (await self._bench.arbitration.decline(*self.wish(match, seat))).step.match
