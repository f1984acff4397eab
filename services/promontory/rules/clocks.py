"""The players' clocks: what they show, and when time is up. Pure; times in ms since the epoch, by the server."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from promontory.codec.terms import TimeControl
from promontory.games.kernel import Seat

REFILLED_PART = 10
"""A budget that is used up, but whose turn is met by a default move, is filled to this part of the base: a tenth."""


class Clock(msgspec.Struct, frozen=True):
    """A seat's clock: `remaining_ms` was left at `since_ms`; it stands still while that is None.

    `timeouts` counts the turns that time ran out for; `timeout_version` is the commit that recorded the last of them,
    0 once the seat has moved again.
    """

    remaining_ms: int = 0
    since_ms: int | None = None
    timeouts: int = 0
    timeout_version: int = 0

    def remaining_at(self, now_ms: int) -> int:
        """Return the ms that are left at `now_ms`, never below 0."""
        running_ms = 0 if self.since_ms is None else max(0, now_ms - self.since_ms)
        return max(0, self.remaining_ms - running_ms)

    @property
    def deadline_ms(self) -> int | None:
        """When the time is used up, None while the clock stands still."""
        return None if self.since_ms is None else self.since_ms + self.remaining_ms


Clocks = tuple[Clock, ...]
"""The clocks in the order of seats. Without a time control they only tell since when a seat is to act."""


def wound(control: TimeControl | None, seats: int) -> Clocks:
    """Return the clocks of a match that has not begun."""
    return (Clock(control.base_ms if control else 0),) * seats


def ticked(
    control: TimeControl | None, clocks: Clocks, owing: Collection[Seat], *, is_new_period: bool, now_ms: int
) -> Clocks:
    """Return the clocks once a commit at `now_ms` has left the seats `owing` to act.

    The clock of a seat that goes on owing in the same period runs on; every other turn is over.
    """
    if not is_new_period and [*owing] == [seat for seat, clock in enumerate(clocks) if clock.since_ms is not None]:
        return clocks
    return tuple(
        [
            clock
            if clock.since_ms is not None and seat in owing and not is_new_period
            else _turned(_stopped(control, clock, now_ms), now_ms if seat in owing else None)
            for seat, clock in enumerate(clocks)
        ]
    )


def _turned(clock: Clock, since_ms: int | None) -> Clock:
    return clock if clock.since_ms == since_ms else replace(clock, since_ms=since_ms)


def _stopped(control: TimeControl | None, clock: Clock, now_ms: int) -> Clock:
    """Return `clock` after its turn, if it ran."""
    if control is None or clock.since_ms is None:
        return clock
    left_ms = clock.remaining_at(now_ms) + control.increment_ms if control.has_budget else control.base_ms
    return replace(clock, remaining_ms=left_ms, since_ms=None)


def run_out(control: TimeControl, clock: Clock, *, version: int) -> Clock:
    """Return `clock` after commit `version` recorded that its time ran out: it stands still, and is filled again."""
    left_ms = control.base_ms // REFILLED_PART if control.has_budget else control.base_ms
    return Clock(left_ms, timeouts=clock.timeouts + 1, timeout_version=version)


def is_up(control: TimeControl, clock: Clock, now_ms: int) -> bool:
    """Tell whether the clock's time, and the grace after it, are over."""
    deadline_ms = clock.deadline_ms
    return deadline_ms is not None and now_ms >= deadline_ms + control.grace_ms


def next_end_ms(control: TimeControl | None, clocks: Clocks) -> int | None:
    """Return when the first of the running clocks will be up, grace included, or None if none runs."""
    if control is None:
        return None
    return min((end + control.grace_ms for clock in clocks if (end := clock.deadline_ms) is not None), default=None)
