"""Obligations, read from their names, and the tasks that meet them. Pure."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from promontory.eventlog.port import Claimed
from promontory.games.registry import UnknownGameError, entry_of_match
from promontory.runtime.broker import ARCHIVE, ARCHIVE_MATCH, BOTS, LIST_MATCH, PLAY_BOT_TURN, TALLIES, TALLY_MATCH


class BotTurn(msgspec.Struct, frozen=True):
    """A house bot's seat is to act, since the match's commit `since_version`."""

    game: str
    match_id: str
    seat: int
    since_version: int


class TallyDue(msgspec.Struct, frozen=True):
    """A closed match is to be tallied."""

    match_id: str


class ListDue(msgspec.Struct, frozen=True):
    """A closed match is to be put into the lists of matches."""

    match_id: str


class ClockDue(msgspec.Struct, frozen=True):
    """A player's time may have run out."""

    game: str
    match_id: str


class ArchiveDue(msgspec.Struct, frozen=True):
    """A match that was closed at `closed_at_ms` is to be archived."""

    match_id: str
    closed_at_ms: int


Obligation: TypeAlias = BotTurn | TallyDue | ListDue | ClockDue | ArchiveDue


class Task(msgspec.Struct, frozen=True):
    """A task to publish, for the `attempt` at `obligation`; `trace` is the W3C trace context it carries, if any."""

    name: str
    queue: str
    arguments: tuple[str | int, ...]
    obligation: str
    attempt: int
    trace: str = ""

    @property
    def match_id(self) -> str:
        """The match it is about."""
        return self.obligation.split("|")[1]

    @property
    def task_id(self) -> str:
        """The message's id: no two messages share one, so no broker may take a later attempt for the first."""
        return f"{self.obligation}|{self.attempt}"


KINDS = ("bot", "tally", "list", "clock", "archive", "unknown")
"""The metrics' words for obligations."""


def kind_of(obligation: Obligation | None) -> str:
    """Return the metrics' word for an obligation; `unknown` for None."""
    match obligation:
        case BotTurn():
            return "bot"
        case TallyDue():
            return "tally"
        case ListDue():
            return "list"
        case ClockDue():
            return "clock"
        case ArchiveDue():
            return "archive"
    return "unknown"


def parse(name: str) -> Obligation | None:
    """Return the obligation called `name`, or None if this version knows no such kind."""
    match name.split("|"):
        case ["bot", match_id, seat, since] if seat.isdecimal() and since.isdecimal():
            game = _game_of(match_id)
            return BotTurn(game, match_id, int(seat), int(since)) if game else None
        case ["tally", match_id]:
            return TallyDue(match_id)
        case ["list", match_id]:
            return ListDue(match_id)
        case ["clock", match_id]:
            game = _game_of(match_id)
            return ClockDue(game, match_id) if game else None
        case ["archive", match_id, closed_at_ms] if closed_at_ms.isdecimal():
            return ArchiveDue(match_id, int(closed_at_ms))
    return None


def task_of(obligation: BotTurn | TallyDue | ListDue | ArchiveDue, claimed: Claimed) -> Task:
    """Return the task that meets `obligation`; clocks are met without one."""
    match obligation:
        case BotTurn(game, match_id, seat, since):
            arguments = (game, match_id, seat, since)
            return Task(PLAY_BOT_TURN, BOTS, arguments, claimed.name, claimed.attempt)
        case TallyDue(match_id):
            return Task(TALLY_MATCH, TALLIES, (match_id,), claimed.name, claimed.attempt)
        case ListDue(match_id):
            return Task(LIST_MATCH, TALLIES, (match_id,), claimed.name, claimed.attempt)
        case ArchiveDue(match_id, closed_at_ms):
            attempt = claimed.attempt
            return Task(ARCHIVE_MATCH, ARCHIVE, (match_id, closed_at_ms, attempt), claimed.name, attempt)


def _game_of(match_id: str) -> str | None:
    try:
        return entry_of_match(match_id).name
    except UnknownGameError:
        return None


class Ages:
    """How long obligations have been outstanding, as far as their attempts tell.

    An obligation that is handed out again, `lease_seconds` after the last time or up to a tenth sooner, has been
    outstanding ever since the first, for about as many of them; one that does not come again was met.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._seen: dict[str, tuple[float, float]] = {}

    def handed_out(self, claimed: Claimed, now: float) -> None:
        """Note that `claimed` was handed out at `now`, in seconds of any clock."""
        if claimed.attempt > 1:
            first = now - (claimed.attempt - 1) * self._lease_seconds
            since = min(first, self._seen.get(claimed.name, (first, now))[0])
            self._seen[claimed.name] = (since, now)

    def oldest_seconds(self, now: float) -> float:
        """Return the age of the oldest one that still seems outstanding at `now`, or 0."""
        horizon = now - 1.5 * self._lease_seconds
        self._seen = {name: times for name, times in self._seen.items() if times[1] > horizon}
        return max((now - since for since, _ in self._seen.values()), default=0.0)
