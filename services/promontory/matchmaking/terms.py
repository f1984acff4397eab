"""The terms a match is played on beside its game: the players' time, and what becomes of those who leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum

import msgspec

DAY_SECONDS = 86_400
MOST_DAYS = 14
MOST_INCREMENT_SECONDS, MOST_GRACE_SECONDS, MOST_DEFAULT_MOVES = 600, 10, 100
LEAST_ABSENCE_SECONDS, MOST_ABSENCE_SECONDS = 10, 30 * DAY_SECONDS
MOST_SPECTATOR_DELAY = 1000

Problem = tuple[str, str]
"""The name of a field, and what is wrong with it."""


class ClockKind(StrEnum):
    """How players' time is reckoned: a budget for the match, a time for each turn, or whole days for each turn."""

    INCREMENT = "increment"
    PER_TURN = "per_turn"
    CORRESPONDENCE = "correspondence"


class TimeControl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long players may think, and how late a turn may come for the network's sake: `grace_seconds`.

    The first `default_moves` turns of a seat that time runs out for are played by `default_policy`, or by the rules'
    own pass if that is empty; after that the seat forfeits.
    """

    kind: ClockKind
    base_seconds: float
    increment_seconds: float = 0
    grace_seconds: float = 0.3
    default_moves: int = 0
    default_policy: str = ""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a match is played on.

    `stand_in` is the policy that plays on for those who leave, the game's own rule if it is empty. Whoever is to act
    may be gone for `abandon_after_seconds`, for ever if None. Spectators are `spectator_delay` commits behind.
    """

    time_control: TimeControl | None = None
    stand_in: str = ""
    abandon_after_seconds: float | None = None
    spectator_delay: int = 0


def problems_of(terms: Terms, policies: Collection[str]) -> Iterator[Problem]:
    """Yield what is wrong with `terms` in a game that has `policies`."""
    if terms.time_control:
        for field, problem in _problems_of_clock(terms.time_control, policies):
            yield f"time_control.{field}", problem
    if terms.stand_in and terms.stand_in not in policies:
        yield "stand_in", f"is no policy of the game, which has {', '.join(policies)}"
    absence = terms.abandon_after_seconds
    if absence is not None and not LEAST_ABSENCE_SECONDS <= absence <= MOST_ABSENCE_SECONDS:
        yield "abandon_after_seconds", f"is {LEAST_ABSENCE_SECONDS} to {MOST_ABSENCE_SECONDS} (30 days)"
    if not 0 <= terms.spectator_delay <= MOST_SPECTATOR_DELAY:
        yield "spectator_delay", f"is 0 to {MOST_SPECTATOR_DELAY} commits"


def _problems_of_clock(control: TimeControl, policies: Collection[str]) -> Iterator[Problem]:
    if problem := _problem_of_base(control):
        yield "base_seconds", problem
    if not 0 <= control.increment_seconds <= MOST_INCREMENT_SECONDS:
        yield "increment_seconds", f"is 0 to {MOST_INCREMENT_SECONDS}"
    if control.increment_seconds and control.kind is not ClockKind.INCREMENT:
        yield "increment_seconds", f"is for the kind {ClockKind.INCREMENT} only"
    if not 0 <= control.grace_seconds <= MOST_GRACE_SECONDS:
        yield "grace_seconds", f"is 0 to {MOST_GRACE_SECONDS}"
    if not 0 <= control.default_moves <= MOST_DEFAULT_MOVES:
        yield "default_moves", f"is 0 to {MOST_DEFAULT_MOVES}"
    if control.default_policy and control.default_policy not in policies:
        yield "default_policy", f"is no policy of the game, which has {', '.join(policies)}"


def _problem_of_base(control: TimeControl) -> str:
    base = control.base_seconds
    if control.kind is not ClockKind.CORRESPONDENCE:
        return "" if 1 <= base <= DAY_SECONDS else f"is 1 to {DAY_SECONDS} (24 hours)"
    is_whole = base % DAY_SECONDS == 0 and 1 <= base / DAY_SECONDS <= MOST_DAYS
    return "" if is_whole else f"is 1 to {MOST_DAYS} whole days of {DAY_SECONDS} seconds"
