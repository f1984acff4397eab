"""How many commands came, what became of them, and how long that took."""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from promontory.eventlog.port import CommandIdReused, EventLogUnavailable, Fenced, VersionConflict
from promontory.games.kernel import Rejected
from promontory.rules.recorder import AlreadyActed, Answer
from promontory.runtime import clock, metrics
from promontory.runtime.errors import Refusal

_OUTCOMES: dict[type[Exception], str] = {
    Rejected: "refused",
    VersionConflict: "conflict",
    AlreadyActed: "late",
    CommandIdReused: "reused",
    Refusal: "denied",
    EventLogUnavailable: "unavailable",
    Fenced: "unavailable",
}


class CommandMeter:
    """Counts the commands of one game by kind and outcome."""

    def __init__(self, game: str) -> None:
        self._game = game
        self._seconds = metrics.COMMAND_SECONDS.labels(game=game)

    async def observe(self, kinds: Collection[str], answer: Awaitable[Answer]) -> Answer:
        """Return `answer`, once it is there, and count commands of `kinds`; they are names of the game's commands."""
        started = clock.monotonic()
        try:
            answered = await answer
        except Exception as error:
            self._count(kinds, metrics.outcome_of(error, _OUTCOMES))
            raise
        finally:
            self._seconds.observe(clock.monotonic() - started)
        self._count(kinds, "duplicate" if answered.duplicate else "accepted")
        return answered

    def _count(self, kinds: Collection[str], outcome: str) -> None:
        for kind in kinds:
            metrics.labelled(metrics.COMMANDS, game=self._game, command=kind, outcome=outcome).inc()
