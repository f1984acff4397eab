"""What the relay needs of the world beside the event log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from promontory.relay.domain import BotTurn, ClockDue, Task


class BrokerUnavailable(Exception):
    """The broker did not take a task, or it is not known whether it did."""


class GameUnavailable(Exception):
    """A game's service could not play a turn now; trying again may help."""


class Publisher(Protocol):
    """Hands tasks to the broker."""

    async def publish(self, tasks: Sequence[Task]) -> None:
        """Publish `tasks` in order. Raises `BrokerUnavailable` with the first that fails, and sends no more."""

    async def queued(self) -> Mapping[str, int]:
        """Return how many tasks wait in each queue of the broker. Raises `BrokerUnavailable`."""


class AutomaticPlay(Protocol):
    """Plays for a house bot that does not."""

    async def play(self, turn: BotTurn, *, request_id: str) -> bool:
        """Play the rules' automatic command; return False if there was nothing left to play.

        Raises `GameUnavailable` if that could not be found out.
        """


class Enforced(msgspec.Struct, frozen=True):
    """Whether time ran out in a match and that was recorded now, and how long until its next deadline, if any."""

    recorded: bool
    due_in_seconds: float | None


class Clockwork(Protocol):
    """Enforces the clocks of matches."""

    async def enforce(self, due: ClockDue) -> Enforced:
        """Record that time ran out, if it did. Raises `GameUnavailable` if that could not be found out."""
