"""Terms as the API shows them: the one place where they become messages, and messages terms."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from msgspec.structs import replace

from promontory.api.match.v1 import match_pb2
from promontory.codec.times import duration, ms_of
from promontory.matchmaking.terms import ClockKind, TimeControl
from promontory.runtime.errors import malformed

_KINDS = {kind: match_pb2.ClockKind.Value(f"CLOCK_KIND_{kind.name}") for kind in ClockKind}
_OF_NUMBER = {number: kind for kind, number in _KINDS.items()}


def span(seconds: float) -> Duration:
    """Return a span of time as a message, to the millisecond."""
    return duration(round(seconds * 1000))


def seconds_of(message: Duration) -> float:
    """Return a span of time, to the millisecond."""
    return ms_of(message) / 1000


def time_control_message(control: TimeControl | None) -> match_pb2.TimeControl | None:
    """Return `control` as a message; None without a clock."""
    if control is None:
        return None
    return match_pb2.TimeControl(
        kind=_KINDS[control.kind],
        base=span(control.base_seconds),
        increment=span(control.increment_seconds),
        grace=span(control.grace_seconds),
        default_moves=control.default_moves,
        default_policy=control.default_policy,
    )


def time_control_of(message: match_pb2.TimeControl) -> TimeControl | None:
    """Return what a message says; None without a clock. Refuses times without a kind of clock that there is."""
    if message == match_pb2.TimeControl():
        return None
    if message.kind not in _OF_NUMBER:
        problem = f"has the unknown value {message.kind}" if message.kind else "is needed"
        raise malformed("time_control.kind", problem)
    control = TimeControl(
        kind=_OF_NUMBER[message.kind],
        base_seconds=seconds_of(message.base),
        increment_seconds=seconds_of(message.increment),
        default_moves=message.default_moves,
        default_policy=message.default_policy,
    )
    return replace(control, grace_seconds=seconds_of(message.grace)) if message.HasField("grace") else control
