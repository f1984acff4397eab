"""What the rules service needs from outside, beside the event log (`promontory.eventlog.port`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from promontory.games.kernel import Seat

DrawSeed = Callable[[], bytes]
"""Returns a fresh server seed of 32 bytes from a source nobody can foresee."""


class SealBroken(Exception):
    """The seal key does not open a sealed seed: another key made it, or it belongs to another match."""


class Presence(Protocol):
    """Knows when players were last there: with a stream, or with a call. What it knows may be lost without harm.

    It has known that since `since_ms`; before, players may have been there, or kept from it by the platform.
    """

    since_ms: int

    def seen(self, match_id: str, seat: Seat) -> None:
        """Note that the player of `seat` is there now."""

    async def last_seen(self, match_id: str) -> Mapping[Seat, int]:
        """Return when the players of seats were last there, in ms since the epoch; those never seen are left out."""


class Seals(Protocol):
    """Keeps the server's seeds unreadable in the log while matches are open."""

    def seal(self, match_id: str, server_seed: bytes) -> bytes:
        """Return `server_seed` sealed for `match_id`."""

    def open(self, match_id: str, sealed_seed: bytes) -> bytes:
        """Return the 32-byte seed, or raise `SealBroken`."""
