"""What a log can give up once it is in the archive, and what it still owes: the port of whoever archives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from promontory.eventlog.port import EventLog, Position

KEPT_SECONDS = 7 * 86_400
"""How long a log keeps the head of a stream that it has given up."""


class Pruning(StrEnum):
    """What became of giving a stream up."""

    DONE = "done"
    OPEN = "open"
    OWED = "owed"
    CONFLICT = "conflict"


class Surrender(msgspec.Struct, frozen=True):
    """What is to be given up: all commits up to `position`, which are in the archive at `location`.

    That meets the obligation `meets`. Nothing is given up while one of `after` is not met.
    """

    position: Position
    location: str
    meets: str
    after: Sequence[str] = ()


class PrunableLog(EventLog, Protocol):
    """An event log whose closed streams can be moved to an archive. All methods may raise `EventLogUnavailable`."""

    async def command_ids(self, stream: str) -> Mapping[str, tuple[str, int]]:
        """Return the fingerprint and the version of every commit's command id; empty once the stream was given up."""

    async def prune(self, stream: str, surrender: Surrender) -> Pruning:
        """Give up the commits of `stream`, if it is closed and at that very position; its head is kept for a week.

        Doing it again is done; so is a stream that the log does not know any more. Whatever else is answered, nothing
        was changed.
        """

    async def owe(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Set the obligation `name`, due after `delay_ms`, unless it is there."""

    async def postpone(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Have the obligation `name` due after `delay_ms` instead, if it is there; its attempts go on counting."""

    async def owed(self, bucket: str) -> Sequence[str]:
        """Return the names of all obligations of `bucket`, due or ahead."""

    def closed_streams(self) -> AsyncIterator[str]:
        """Yield every closed stream whose commits are in the log, in no order; one may come twice."""
