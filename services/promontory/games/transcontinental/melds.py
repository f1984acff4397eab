"""Melds: what a set of cards is, what it scores, and all the melds of a hand [Transcontinental 4]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, compress, product
from typing import TypeVar

from promontory.games.transcontinental.cards import Card
from promontory.games.transcontinental.vocabulary import MeldKind, Suit

SMALLEST_SURPLUS = 3
SMALLEST_RAIL = 4
SMALLEST_LINE = 4
SMALLEST_TRACK = 5
LAST_RANK = 10

_KINDS = tuple(MeldKind)
_RAIL_LINE = MeldKind.RAIL_LINE  # asked for with each meld: an attribute of an enum is slow to read

_T = TypeVar("_T")


def recognise(cards: Collection[Card]) -> tuple[MeldKind, ...]:
    """Return all the kinds a set of different cards has, in the order of `MeldKind`; empty if it is no meld.

    A set with a difficulty card has none [T-30]. Source: [Transcontinental 4.1].
    """
    size = len(cards)
    suits = {card.suit for card in cards}
    ranks = {card.rank for card in cards if card.rank is not None}
    if size < SMALLEST_SURPLUS or None in [card.rank for card in cards]:
        return ()
    surplus = len(ranks) == 1
    rail = size >= SMALLEST_RAIL and len(ranks) == size and max(ranks) - min(ranks) == size - 1
    line = size >= SMALLEST_LINE and len(suits) == 1
    track = size >= SMALLEST_TRACK and len(suits) == size
    return tuple(compress(_KINDS, (surplus, rail, line, track, rail and line)))


def points(kinds: Collection[MeldKind], size: int, table: Mapping[int, int]) -> int:
    """Return what a meld of `size` cards scores: once by its size [T-18], double if all of it is a rail line [T-19].

    `table` gives the points of the sizes 3 to 10.
    """
    return table[size] * (2 if _RAIL_LINE in kinds else 1)


def all_melds(cards: Iterable[Card]) -> list[tuple[Card, ...]]:
    """Return every set of `cards` that is a meld, each in ascending `n`, the sets in lexicographic order of `n`.

    The cards are different; cards the side cannot meld must be left out by the caller.
    """
    by_n = {card.n: card for card in cards if card.rank is not None}
    by_suit: dict[Suit, list[int]] = {}
    by_rank: dict[int | None, list[int]] = {}
    for n in sorted(by_n):
        card = by_n[n]
        by_suit.setdefault(card.suit, []).append(n)
        by_rank.setdefault(card.rank, []).append(n)
    sets = [
        *_groups(SMALLEST_SURPLUS, by_rank.values()),
        *_groups(SMALLEST_LINE, by_suit.values()),
        *_rails(by_rank),
        *_tracks(by_suit.values()),
    ]
    return [tuple([by_n[n] for n in meld]) for meld in sorted({tuple(sorted(found)) for found in sets})]


def _groups(smallest: int, groups: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return all sets of `smallest` and more out of one of the groups."""
    return [found for group in groups if len(group) >= smallest for found in _at_least(smallest, group)]


def _at_least(smallest: int, items: Sequence[_T]) -> Iterator[tuple[_T, ...]]:
    for size in range(smallest, len(items) + 1):
        yield from combinations(items, size)


def _rails(by_rank: Mapping[int | None, Sequence[int]]) -> Iterator[tuple[int, ...]]:
    for first in range(1, LAST_RANK - SMALLEST_RAIL + 2):
        run: list[Sequence[int]] = []
        for rank in range(first, LAST_RANK + 1):
            if rank not in by_rank:
                break
            run.append(by_rank[rank])
            if len(run) >= SMALLEST_RAIL:
                yield from product(*run)


def _tracks(by_suit: Collection[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    for groups in _at_least(SMALLEST_TRACK, list(by_suit)):
        yield from product(*groups)
