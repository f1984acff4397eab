"""Tickets in the order of their ratings, where one comes or goes as quickly among many as among few."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from promontory.matchmaking.stretch import Entry

BLOCK = 256
"""Entries in a block when it is made; one of more than twice as many is cut up."""

MANY = 8
"""Where newcomers are more than one in so many of those who are there, all are sorted anew."""

Spot = tuple[int, int]
"""The number of a block, and a position in it."""


class Row:
    """Entries by rating, then by age, in blocks none of which is empty."""

    def __init__(self) -> None:
        self._blocks: list[list[Entry]] = []
        self._firsts: list[Entry] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, entries: Sequence[Entry]) -> None:
        """Add `entries`."""
        if MANY * len(entries) > self._count:
            self._set(0, len(self._blocks), sorted(chain(*self._blocks, entries)))
        else:
            for entry in entries:
                number, at = self._spot(entry)
                block = self._blocks[number]
                block.insert(at, entry)
                self._settle(number, block)
        self._count += len(entries)

    def remove(self, entry: Entry) -> None:
        """Remove `entry`, if it is there."""
        number, at = self._spot(entry)
        block = self._blocks[number] if self._blocks else []
        if at < len(block) and block[at] is entry:
            del block[at]
            self._settle(number, block)
            self._count -= 1

    def between(self, low: float, high: float) -> list[Entry]:
        """Return the entries whose ratings are at least `low` and below `high`."""
        (first, start), (last, end) = self._spot((low,)), self._spot((high,))
        if first == last:
            return self._blocks[first][start:end] if self._blocks else []
        return [*self._blocks[first][start:], *chain(*self._blocks[first + 1 : last]), *self._blocks[last][:end]]

    def replace(self, low: float, high: float, entries: Sequence[Entry]) -> None:
        """Have `entries` in place of those `between` `low` and `high`."""
        (first, start), (last, end) = self._spot((low,)), self._spot((high,))
        if not self._blocks:
            return
        self._count += len(entries) + start - end - sum(len(block) for block in self._blocks[first:last])
        if first == last:
            self._blocks[first][start:end] = entries
            self._settle(first, self._blocks[first])
        else:
            self._set(first, last + 1, [*self._blocks[first][:start], *entries, *self._blocks[last][end:]])

    def below(self, entry: Entry) -> Iterator[Entry]:
        """Yield the entries before `entry`, which is there, the nearest first."""
        number, at = self._spot(entry)
        while number >= 0:
            block = self._blocks[number]
            for position in range(at - 1, -1, -1):
                yield block[position]
            number -= 1
            at = len(self._blocks[number])

    def above(self, entry: Entry) -> Iterator[Entry]:
        """Yield the entries after `entry`, which is there, the nearest first."""
        number, at = self._spot(entry)
        while number < len(self._blocks):
            block = self._blocks[number]
            for position in range(at + 1, len(block)):
                yield block[position]
            number, at = number + 1, -1

    def _spot(self, entry: tuple[Any, ...]) -> Spot:
        """Return where `entry` is, or would be."""
        number = max(0, bisect_right(self._firsts, entry) - 1)
        return number, bisect_left(self._blocks[number], entry) if self._blocks else 0

    def _settle(self, number: int, block: list[Entry]) -> None:
        """Put a block right that was changed."""
        if 0 < len(block) <= 2 * BLOCK:
            self._firsts[number] = block[0]
        else:
            self._set(number, number + 1, block)

    def _set(self, first: int, last: int, entries: list[Entry]) -> None:
        """Have `entries` in place of some blocks."""
        blocks = [entries[start : start + BLOCK] for start in range(0, len(entries), BLOCK)]
        self._blocks[first:last] = blocks
        self._firsts[first:last] = [block[0] for block in blocks]
