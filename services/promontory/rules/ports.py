"""What the rules service needs from outside, beside the event log (`promontory.eventlog.port`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

DrawSeed = Callable[[], bytes]
"""Returns a fresh server seed of 32 bytes from a source nobody can foresee."""


class SealBroken(Exception):
    """The seal key does not open a sealed seed: another key made it, or it belongs to another match."""


class Seals(Protocol):
    """Keeps the server's seeds unreadable in the log while matches are open."""

    def seal(self, match_id: str, server_seed: bytes) -> bytes:
        """Return `server_seed` sealed for `match_id`."""

    def open(self, match_id: str, sealed_seed: bytes) -> bytes:
        """Return the 32-byte seed, or raise `SealBroken`."""
