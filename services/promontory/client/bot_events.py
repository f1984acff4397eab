"""What a bot's run tells as it goes, and what it came to; each reads as a line for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from promontory.client.wording import refusal
from promontory.codec.outcomes import CloseReason
from promontory.games.text import counted, words


class MatchesLeftOpen(msgspec.Struct, frozen=True):
    """Earlier runs left `found` matches of `pool` open; the run goes on with `taken` of them."""

    pool: str
    found: int
    taken: int

    def __str__(self) -> str:
        if not self.found:
            return f"no match was left open in {self.pool}"
        more = "" if self.taken == self.found else f"; --matches {self.found} goes on with all"
        return f"{counted(self.found, 'match', 'matches')} left open in {self.pool}, going on with {self.taken}{more}"


class QueueEntered(msgspec.Struct, frozen=True):
    """The bot waits in the queue of `pool`; after `house_bots_after` seconds a house bot comes, or never if None."""

    pool: str
    house_bots_after: float | None

    def __str__(self) -> str:
        if self.house_bots_after is None:
            return f"waiting in {self.pool} for another player"
        return f"waiting in {self.pool}; a house bot comes after {self.house_bots_after:g} s"


class MatchStarted(msgspec.Struct, frozen=True):
    """The bot got `seat` in a match against the players `opponents`."""

    match_id: str
    seat: int
    opponents: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.match_id}: started in seat {self.seat} against {', '.join(self.opponents)}"


class CommandRefused(msgspec.Struct, frozen=True):
    """The rules refused `command`, as the bot's `choose` returned it at `version`; `instead` is what was played.

    `phase` is the game's own word for where the turn stood, or empty; `metadata` holds the rule and its values.
    """

    match_id: str
    version: int
    phase: str
    command: str
    reason: str
    message: str
    metadata: Mapping[str, str]
    instead: str

    def __str__(self) -> str:
        phase = f", phase {self.phase}" if self.phase else ""
        why = refusal(self.reason, self.message, self.metadata)
        return (
            f"{self.match_id}: version {self.version}{phase}: {self.command} was refused: {why};"
            f" played {self.instead} instead"
        )


class MatchLeft(msgspec.Struct, frozen=True):
    """The run ended before the match did: it was `resigned`, or is still open."""

    match_id: str
    resigned: bool

    def __str__(self) -> str:
        if self.resigned:
            return f"{self.match_id}: resigned, so that no opponent waits for a bot that is gone"
        return f"{self.match_id}: still open; `promontory bot run --resume` goes on with it"


class MatchPlayed(msgspec.Struct, frozen=True):
    """A match is over: the bot's place from 1, whether it shared it, and all scores in the order of seats.

    A match that ended without a result has the place 0 and no scores; `reason` is why it was closed.

    `commands` counts the bot's submissions, `refused` those that the rules refused, `reasons` the same by reason.
    """

    match_id: str
    seat: int
    opponents: tuple[str, ...]
    place: int
    shared: bool
    scores: tuple[int, ...]
    reason: CloseReason
    commands: int
    refused: int
    reasons: Mapping[str, int] = {}

    def __str__(self) -> str:
        scores = f" {':'.join(map(str, self.scores))}," if self.scores else ""
        return (
            f"{self.match_id}: {self._result()}{self._ending()} in seat {self.seat} against"
            f" {', '.join(self.opponents)},{scores} {counted(self.commands, 'command')},"
            f" {_refused(self.refused, self.reasons)}"
        )

    def _ending(self) -> str:
        match self.reason:
            case CloseReason.PLAYED_OUT:
                return ""
            case CloseReason.RESIGNED:
                return " by resignation"
            case CloseReason.TIMED_OUT:
                return " on time"
        return f" ({words(self.reason)})"

    def _result(self) -> str:
        if not self.place:
            return "no result"
        if self.place == 1:
            return "drawn" if self.shared else "won"
        return "lost" if len(self.scores) == 2 else f"place {self.place} of {len(self.scores)}"


class RatingSpan(msgspec.Struct, frozen=True):
    """The player's rating in points before and after a run, and how many of its matches that does not count yet."""

    before: float
    after: float
    uncounted: int

    def __str__(self) -> str:
        waiting = f" ({counted(self.uncounted, 'match', 'matches')} not rated yet)" if self.uncounted else ""
        return f"rating {self.before:.0f}, now {self.after:.0f}{waiting}"


class BotResult(msgspec.Struct, frozen=True):
    """What a run came to: its pool, the seed of its random numbers, and its matches in the order they ended.

    `rating` is None where the pool is not rated, or nothing could be learnt of it.
    """

    pool: str
    seed: int
    matches: tuple[MatchPlayed, ...]
    rating: RatingSpan | None = None

    @property
    def won(self) -> int:
        """How many matches the bot won alone."""
        return sum(match.place == 1 and not match.shared for match in self.matches)

    @property
    def drawn(self) -> int:
        """How many matches ended with the bot sharing the first place."""
        return sum(match.place == 1 and match.shared for match in self.matches)

    @property
    def refused(self) -> int:
        """How many of the bot's commands were refused."""
        return sum(match.refused for match in self.matches)

    @property
    def never_played(self) -> bool:
        """Whether every command the bot gave was refused, so that all its play was somebody else's."""
        return 0 < self.refused == sum(match.commands for match in self.matches)

    def __str__(self) -> str:
        decided = sum(bool(match.place) for match in self.matches)
        without = len(self.matches) - decided
        lost = decided - self.won - self.drawn
        reasons: Counter[str] = Counter()
        for match in self.matches:
            reasons.update(match.reasons)
        return (
            f"{counted(len(self.matches), 'match', 'matches')} in {self.pool}:"
            f" {self.won} won, {self.drawn} drawn, {lost} lost{f', {without} without a result' if without else ''};"
            f" {_refused(self.refused, reasons)};" + (f" {self.rating};" if self.rating else "") + f" seed {self.seed}"
        )


BotEvent: TypeAlias = MatchesLeftOpen | QueueEntered | MatchStarted | CommandRefused | MatchPlayed | MatchLeft
"""What a run tells."""

OnEvent: TypeAlias = Callable[[BotEvent], None]


class Narrator:
    """Writes events as lines, but refusals only until the reader knows: the first few of each reason, then counts."""

    most_refusals = 3

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._refusals: Counter[str] = Counter()

    def __call__(self, event: BotEvent) -> None:
        """Write `event`, if it is one to write."""
        if isinstance(event, CommandRefused):
            self._tell_refusal(event)
        else:
            self._write(str(event))

    def _tell_refusal(self, event: CommandRefused) -> None:
        self._refusals[event.reason] += 1
        count = self._refusals[event.reason]
        if count <= self.most_refusals:
            self._write(str(event))
        if count == self.most_refusals:
            self._write(f"further refusals with {event.reason} are only counted")


def _refused(count: int, reasons: Mapping[str, int]) -> str:
    most_first = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{number} {reason}" for reason, number in most_first)
    return f"{count} refused" + (f" ({listed})" if listed else "")
