"""Randomness that players can check: scheme `promontory/1`, commitment, key, draws and shuffles.

Source: the platform's fairness scheme; its published test vectors are in the test suite.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

SCHEME = "promontory/1"
SEED_BYTES = 32
MAX_ENTROPY_BYTES = 32
_RANGE = 2**64
_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ padding for byte in range(256)) for padding in (0x36, 0x5C))

T = TypeVar("T")


def commitment(match_id: str, server_seed: bytes) -> bytes:
    """Return the 32-byte SHA-256 commitment to `server_seed` that is public from the creation on."""
    return hashlib.sha256(f"{SCHEME}|commit|{match_id}|".encode("ascii") + server_seed).digest()


def entropy_digest(entropies: Sequence[bytes]) -> bytes:
    """Return the 32-byte digest of the seats' entropies, 0 to 32 bytes each, in the order of seats.

    Raises `ValueError` if one is longer.
    """
    if any(len(entropy) > MAX_ENTROPY_BYTES for entropy in entropies):
        raise ValueError(f"a seat's entropy has at most {MAX_ENTROPY_BYTES} bytes")
    return hashlib.sha256(b"".join(bytes([len(entropy)]) + entropy for entropy in entropies)).digest()


def match_key(match_id: str, server_seed: bytes, entropies: Sequence[bytes]) -> bytes:
    """Return the 32-byte key that all draws of a match come from."""
    message = f"{SCHEME}|key|{match_id}|".encode("ascii") + entropy_digest(entropies)
    return hmac.digest(server_seed, message, "sha256")


class KeyedDraws(msgspec.Struct, frozen=True, dict=True):
    """The draws of one match: a function of its `key`, of at most 64 bytes, so deciding again draws the same."""

    key: bytes
    game: str

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return the draw in 0..n-1 for (purpose, number, index), for 1 <= n < 2**64."""
        if not 1 <= n < _RANGE:
            raise ValueError(f"n must be in 1..2**64-1, not {n}")
        prefix, limit = f"{SCHEME}|draw|{self.game}|{purpose}|{number}|{index}|", _RANGE - _RANGE % n
        attempt = 0
        while (drawn := self._attempt(f"{prefix}{attempt}")) >= limit:
            attempt += 1
        return drawn % n

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return `items`, given in their start order, shuffled; position 0 is the top."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.integer(i + 1, purpose, number, i)
            order[i], order[j] = order[j], order[i]
        return tuple(order)

    @cached_property
    def _begun(self) -> tuple[Any, Any]:
        """The inner and the outer hash of an HMAC-SHA-256, begun with the key, so that no draw begins with it anew."""
        padded = self.key.ljust(_BLOCK_BYTES, b"\0")
        return hashlib.sha256(padded.translate(_INNER)), hashlib.sha256(padded.translate(_OUTER))

    def _attempt(self, message: str) -> int:
        """Return the first 64 bits of the HMAC of `message`."""
        inner, outer = self._begun
        inner, outer = inner.copy(), outer.copy()
        inner.update(message.encode("ascii"))
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:8], "big")


class BlindDraws(msgspec.Struct, frozen=True):
    """Draws that decide nothing: for previews, which are cut off before the first drawn result."""

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return 0."""
        return 0

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return `items` as they are."""
        return tuple(items)
