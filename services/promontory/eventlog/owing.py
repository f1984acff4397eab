"""What a log's obligations look like one by one: the port of whoever looks after those that nobody meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class Owing(msgspec.Struct, frozen=True):
    """An obligation: when it is due (again), in ms since the epoch, and how often it was handed out."""

    name: str
    due_ms: int
    attempts: int


class Owings(Protocol):
    """The obligations of a log's buckets. All methods may raise `EventLogUnavailable`."""

    async def owings(self, bucket: str) -> Sequence[Owing]:
        """Return the obligations of `bucket`, the earliest due first."""

    async def renew(self, bucket: str, name: str) -> None:
        """Have the obligation `name` due now and its attempts forgotten; nothing happens if it is gone."""

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`, done or not; nothing happens if it is gone."""
