"""The terms that a match of any game is played on: the players' time, and what becomes of those who leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from promontory.api.match.v1 import match_pb2
from promontory.codec.port import Undecodable
from promontory.codec.times import duration, ms_of

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
DAY_MS = 1440 * MINUTE_MS
MOST_DEFAULT_MOVES = 100
MOST_SPECTATOR_DELAY = 1000
GRACE_MS = 300
"""How long after its end a turn is still in time, where a time control does not say."""

Fault = tuple[str, str]
"""The path of a field in a message with terms, and what is wrong with it."""


class ClockKind(StrEnum):
    """How players' time is reckoned: a budget that grows with turns, a time for each turn, or one in whole days."""

    INCREMENT = "increment"
    PER_TURN = "per_turn"
    CORRESPONDENCE = "correspondence"


class TimeControl(msgspec.Struct, frozen=True):
    """How long players may think, and what happens to one whose time is up.

    `base_ms` is the budget for the match, or with the kinds other than `INCREMENT` the time for each turn. The first
    `default_moves` turns of a seat that time ran out for are met by a default move: of the bot policy `default_policy`,
    or by the rules' own pass if that is empty; after those the seat forfeits.
    """

    kind: ClockKind
    base_ms: int
    increment_ms: int = 0
    grace_ms: int = GRACE_MS
    default_moves: int = 0
    default_policy: str = ""

    @property
    def has_budget(self) -> bool:
        """Whether there is one budget for the whole match, not a time for each turn."""
        return self.kind is ClockKind.INCREMENT


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a match is played on.

    `stand_in_policy` takes over the seat of a player who leaves while two others stay; empty leaves it to the game's
    rules. A player may be gone for `abandon_after_ms` before the match can be claimed, 0: for ever. Spectators see the
    open match `spectator_delay` commits later.
    """

    time_control: TimeControl | None = None
    stand_in_policy: str = ""
    abandon_after_ms: int = 0
    spectator_delay: int = 0


_KINDS = {kind: match_pb2.ClockKind.Value(f"CLOCK_KIND_{kind.name}") for kind in ClockKind}
_KINDS_BY_NUMBER = {number: kind for kind, number in _KINDS.items()}


def time_control_of(message: match_pb2.TimeControl) -> TimeControl | None:
    """Return what a message says, None without a clock.

    Raises `Undecodable` for a kind of clock that there is not, and for times without a kind.
    """
    if message == match_pb2.TimeControl():
        return None
    if message.kind not in _KINDS_BY_NUMBER:
        problem = f"has the unknown value {message.kind}" if message.kind else "is needed"
        raise Undecodable("time_control.kind", problem)
    return TimeControl(
        kind=_KINDS_BY_NUMBER[message.kind],
        base_ms=ms_of(message.base),
        increment_ms=ms_of(message.increment),
        grace_ms=ms_of(message.grace) if message.HasField("grace") else GRACE_MS,
        default_moves=message.default_moves,
        default_policy=message.default_policy,
    )


def time_control_message(control: TimeControl) -> match_pb2.TimeControl:
    """Return `control` as a message."""
    return match_pb2.TimeControl(
        kind=_KINDS[control.kind],
        base=duration(control.base_ms),
        increment=duration(control.increment_ms) if control.increment_ms else None,
        grace=duration(control.grace_ms),
        default_moves=control.default_moves,
        default_policy=control.default_policy,
    )


def terms_of(message: Any) -> Terms:
    """Return the terms in a message that has the fields of terms, such as a `MatchSetup`. Raises `Undecodable`."""
    return Terms(
        time_control=time_control_of(message.time_control),
        stand_in_policy=message.stand_in_policy,
        abandon_after_ms=ms_of(message.abandon_after),
        spectator_delay=message.spectator_delay,
    )


def term_fields(terms: Terms) -> dict[str, Any]:
    """Return the fields that a message with `terms` is made with."""
    return {
        "time_control": None if terms.time_control is None else time_control_message(terms.time_control),
        "stand_in_policy": terms.stand_in_policy,
        "abandon_after": duration(terms.abandon_after_ms) if terms.abandon_after_ms else None,
        "spectator_delay": terms.spectator_delay,
    }


def faults_of(terms: Terms, policies: Collection[str]) -> Iterator[Fault]:
    """Yield what is wrong with `terms` in a game that has the bot `policies`."""
    if terms.time_control is not None:
        for field, problem in _time_faults(terms.time_control, policies):
            yield f"time_control.{field}", problem
    if terms.stand_in_policy and terms.stand_in_policy not in policies:
        yield "stand_in_policy", unknown_policy(policies)
    if terms.abandon_after_ms and not 10 * SECOND_MS <= terms.abandon_after_ms <= 30 * DAY_MS:
        yield "abandon_after", "is 10 seconds to 30 days, or unset"
    if not 0 <= terms.spectator_delay <= MOST_SPECTATOR_DELAY:
        yield "spectator_delay", f"is 0 to {MOST_SPECTATOR_DELAY} commits"


def _time_faults(control: TimeControl, policies: Collection[str]) -> Iterator[Fault]:
    if control.kind is ClockKind.CORRESPONDENCE:
        if control.base_ms % DAY_MS or not DAY_MS <= control.base_ms <= 14 * DAY_MS:
            yield "base", "is 1 to 14 whole days"
    elif not SECOND_MS <= control.base_ms <= DAY_MS:
        yield "base", "is 1 second to 24 hours"
    if not 0 <= control.increment_ms <= (10 * MINUTE_MS if control.has_budget else 0):
        yield "increment", f"is 0 to 10 minutes, and for the kind {ClockKind.INCREMENT} only"
    if not 0 <= control.grace_ms <= 10 * SECOND_MS:
        yield "grace", "is 0 to 10 seconds"
    if not 0 <= control.default_moves <= MOST_DEFAULT_MOVES:
        yield "default_moves", f"is 0 to {MOST_DEFAULT_MOVES}"
    if control.default_policy and control.default_policy not in policies:
        yield "default_policy", unknown_policy(policies)


def unknown_policy(policies: Collection[str]) -> str:
    """Return what is wrong with the name of a policy that is none of `policies`."""
    return f"must be one of {', '.join(sorted(policies)) or 'none'}"
