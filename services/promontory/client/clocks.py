"""Players' time as the client tells it: time controls, and what a clock shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from promontory.api.match.v1 import match_pb2
from promontory.codec import terms
from promontory.codec.terms import ClockKind
from promontory.codec.times import in_ms, span_of, time_of

DEFAULT_GRACE = timedelta(milliseconds=terms.GRACE_MS)


class TimeControl(msgspec.Struct, frozen=True):
    """How long players may think, and what happens to one whose time is up.

    `base` is the budget for the match, or with the kinds other than `INCREMENT` the time for each turn, to which
    `grace` is added for the network's sake. The first `default_moves` turns that time runs out for are met by a default
    move, by the bot policy `default_policy` or by the rules' own pass if that is empty; after those the seat forfeits.
    """

    kind: ClockKind
    base: timedelta
    increment: timedelta = timedelta()
    grace: timedelta = DEFAULT_GRACE
    default_moves: int = 0
    default_policy: str = ""

    def message(self) -> match_pb2.TimeControl:
        """Return it as a message."""
        control = terms.TimeControl(
            kind=self.kind,
            base_ms=in_ms(self.base),
            increment_ms=in_ms(self.increment),
            grace_ms=in_ms(self.grace),
            default_moves=self.default_moves,
            default_policy=self.default_policy,
        )
        return terms.time_control_message(control)


class SeatClock(msgspec.Struct, frozen=True):
    """A seat's clock: what was left when the server told it, and when it will be used up (UTC), None while it rests.

    `timeouts` counts the turns that time ran out for.
    """

    seat: int
    remaining: timedelta
    deadline: datetime | None
    timeouts: int


def time_control_of(message: Any) -> TimeControl | None:
    """Return the time control in a message that may have one, None without a clock. Raises `Undecodable`."""
    control = terms.time_control_of(message.time_control)
    if control is None:
        return None
    return TimeControl(
        kind=control.kind,
        base=timedelta(milliseconds=control.base_ms),
        increment=timedelta(milliseconds=control.increment_ms),
        grace=timedelta(milliseconds=control.grace_ms),
        default_moves=control.default_moves,
        default_policy=control.default_policy,
    )


def clock_of(message: match_pb2.SeatClock) -> SeatClock:
    """Return the struct of a `SeatClock`."""
    deadline = time_of(message.deadline) if message.HasField("deadline") else None
    return SeatClock(message.seat, span_of(message.remaining), deadline, message.timeouts)
