"""What happens to a match beside the game itself, as the client tells it: clocks, departures, offers to end it."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
from google.protobuf.duration_pb2 import Duration

from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.codec.mapping import StructMapping
from promontory.codec.port import Undecodable
from promontory.codec.times import duration, ms_of, time_of

DEFAULT_GRACE = timedelta(milliseconds=300)


class ClockKind(StrEnum):
    """How players' time is reckoned: a budget that grows with turns, a time for each turn, or one in whole days."""

    INCREMENT = "increment"
    PER_TURN = "per_turn"
    CORRESPONDENCE = "correspondence"


class LeaveCause(StrEnum):
    """How a seat's player left an open match."""

    RESIGNED = "resigned"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"


class Ending(StrEnum):
    """How players may agree to end a match: as a draw, or without a result."""

    DRAW = "draw"
    CANCEL = "cancel"


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
        return match_pb2.TimeControl(
            kind=_KINDS[self.kind],
            base=duration(_ms(self.base)),
            increment=duration(_ms(self.increment)),
            grace=duration(_ms(self.grace)),
            default_moves=self.default_moves,
            default_policy=self.default_policy,
        )


class SeatClock(msgspec.Struct, frozen=True):
    """A seat's clock: what was left when the server told it, and when it will be used up (UTC), None while it rests.

    `timeouts` counts the turns that time ran out for.
    """

    seat: int
    remaining: timedelta
    deadline: datetime | None
    timeouts: int


class EndingOffer(msgspec.Struct, frozen=True):
    """An offer that stands: how to end the match, and the seats that agree, ascending."""

    ending: Ending
    seats: tuple[int, ...]


class TurnTimedOut(msgspec.Struct, frozen=True):
    """A seat's time ran out, the `number`-th time; `stand_in_policy` plays its turn unless that is empty."""

    seat: int
    number: int
    stand_in_policy: str


class SeatLeft(msgspec.Struct, frozen=True):
    """A seat's player left; `stand_in_policy` plays on, or the game's own rules do if that is empty."""

    seat: int
    cause: LeaveCause
    stand_in_policy: str


class EndingOffered(msgspec.Struct, frozen=True):
    """A seat's player agrees to end the match."""

    seat: int
    ending: Ending


class EndingDeclined(msgspec.Struct, frozen=True):
    """A seat's player declined the offers that stood."""

    seat: int


class MatchAborted(msgspec.Struct, frozen=True):
    """A seat's player called the match off before any player had moved."""

    seat: int


class MatchCancelled(msgspec.Struct, frozen=True):
    """The platform cancelled the match, which has no result; `note` says why, if it says anything."""

    note: str


MatchEvent: TypeAlias = TurnTimedOut | SeatLeft | EndingOffered | EndingDeclined | MatchAborted | MatchCancelled

MATCH_EVENT = StructMapping(MatchEvent, events_pb2.MatchEvent)
ENDING_OFFER = StructMapping(EndingOffer, match_pb2.EndingOffer)
ENDING_NUMBERS = {ending: match_pb2.Ending.Value(f"ENDING_{ending.name}") for ending in Ending}
_KINDS = {kind: match_pb2.ClockKind.Value(f"CLOCK_KIND_{kind.name}") for kind in ClockKind}
_KINDS_BY_NUMBER = {number: kind for kind, number in _KINDS.items()}
_CAUSES: dict[int, LeaveCause] = {
    match_pb2.LeaveCause.Value(f"LEAVE_CAUSE_{cause.name}"): cause for cause in LeaveCause
}


def time_control_of(message: Any) -> TimeControl | None:
    """Return the time control in a message that may have one, None without a clock. Raises `Undecodable`."""
    control = message.time_control
    if not message.HasField("time_control"):
        return None
    if control.kind not in _KINDS_BY_NUMBER:
        raise Undecodable("time_control.kind", f"has the unknown value {control.kind}")
    return TimeControl(
        kind=_KINDS_BY_NUMBER[control.kind],
        base=_span(control.base),
        increment=_span(control.increment),
        grace=_span(control.grace),
        default_moves=control.default_moves,
        default_policy=control.default_policy,
    )


def clock_of(message: match_pb2.SeatClock) -> SeatClock:
    """Return the struct of a `SeatClock`."""
    deadline = time_of(message.deadline) if message.HasField("deadline") else None
    return SeatClock(message.seat, _span(message.remaining), deadline, message.timeouts)


def leave_cause_of(number: int) -> LeaveCause | None:
    """Return how a player left, None for one who did not. Raises `Undecodable`."""
    if number == match_pb2.LEAVE_CAUSE_UNSPECIFIED:
        return None
    if number not in _CAUSES:
        raise Undecodable("left", f"has the unknown value {number}")
    return _CAUSES[number]


def _span(message: Duration) -> timedelta:
    return timedelta(milliseconds=ms_of(message))


def _ms(span: timedelta) -> int:
    return round(span.total_seconds() * 1000)
