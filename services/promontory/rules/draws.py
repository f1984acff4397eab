"""A match's draws, whose key is made only when a command really draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

from promontory.games.fairness import KeyedDraws, match_key
from promontory.rules.domain import Match, Setup
from promontory.rules.ports import Seals

T = TypeVar("T")


class SealedDraws:
    """The `Draws` of an open match; the seed is unsealed at the first one."""

    def __init__(self, match: Match, seals: Seals) -> None:
        self._match, self._seals = match, seals

    @cached_property
    def server_seed(self) -> bytes:
        """The server's seed, 32 bytes."""
        return self._seals.open(self._match.match_id, self._match.sealed_seed)

    @cached_property
    def _keyed(self) -> KeyedDraws:
        match = self._match
        return draws_of(match.match_id, match.game, match.setup, self.server_seed)

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return the draw in 0..n-1 for (purpose, number, index)."""
        return self._keyed.integer(n, purpose, number, index)

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return `items`, given in their start order, shuffled."""
        return self._keyed.shuffle(items, purpose, number)


def draws_of(match_id: str, game: str, setup: Setup, server_seed: bytes) -> KeyedDraws:
    """Return the draws that seed, match id and the seats' entropies determine."""
    return KeyedDraws(match_key(match_id, server_seed, setup.entropies), game)
