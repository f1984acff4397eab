"""A stretch of a pool's line: which groups of its tickets make matches now, the narrowest first. Pure.

A group has a lowest and a highest ticket. Those two accept each other, so they accept all between them; of these the
oldest sit that accept both. Tickets are known by their places in the line here, which goes by rating.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

from promontory.matchmaking.domain import Place, Window

Entry = tuple[float, int, str, Place]
"""A ticket in a line: its rating, when it was created (ms since the epoch), its id, and the seat it is to take."""

Group = tuple[Place, ...]
"""The places of a match, in the order of seats."""

Candidate = tuple[Any, ...]
"""A group that would do, by what counts: its width in points; when its tickets were created, the oldest first; and they
themselves, the lowest first and the highest last. All in one tuple, so that two are quickly compared."""

MARGIN = 1e-6
"""What a stretch is longer than a window at either end, in points: more than sums and differences are rounded by."""

_UNKNOWN: Candidate = ()


class Stretch:
    """Tickets in the order of their ratings, then of their ages; whoever gets a match leaves it."""

    def __init__(self, window: Window, seats: int, entries: Sequence[Entry], now_ms: int) -> None:
        self._entries, self._seats = entries, seats
        self._ratings = [entry[0] for entry in entries]
        self._created = [entry[1] for entry in entries]
        self._widths = window.widths(self._created, now_ms)
        self._free = bytearray(b"\1") * len(entries)
        self._left = list(range(-1, len(entries) - 1))
        self._right = list(range(1, len(entries) + 1))
        self._candidates: list[Candidate | None] = [_UNKNOWN] * len(entries)

    def take_groups(self) -> Iterator[Group]:
        """Yield the groups that leave, each with its oldest ticket first, until none is left.

        They are those that come of taking the narrowest of all again and again, of equal ones that with the oldest
        ticket. A group that is better than all it shares a ticket with is one of them, whatever happens elsewhere: so
        the stretch is gone through once, from each ticket on to ever better groups nearby.
        """
        free = self._free
        for start in range(len(free)):
            lows = [start]
            while lows:
                candidate = self._candidate(lows[-1]) if free[lows[-1]] else None
                better = None if candidate is None else self._better(candidate)
                if better is not None:
                    lows.append(better)
                    continue
                lows.pop()
                if candidate is not None:
                    yield self._leave(candidate[-self._seats :])

    def rest(self) -> list[Entry]:
        """Return the tickets that have not left, in their order."""
        return list(compress(self._entries, self._free))

    def _candidate(self, low: int) -> Candidate | None:
        """Return the best group whose lowest ticket is `low`; one that was found stands while all in it are here."""
        known = self._candidates[low]
        if known:
            free = self._free
            for member in known[-self._seats :]:
                if not free[member]:
                    break
            else:
                return known
        elif known is None:
            return None
        found = self._candidates[low] = self._narrowest(low)
        return found

    def _better(self, candidate: Candidate) -> int | None:
        """Return the lowest ticket of a group that is better than `candidate` and may share a ticket with it, or None.

        Such a group is no wider, so it begins no further below `candidate` than that is wide.
        """
        ratings, left, right = self._ratings, self._left, self._right
        first, last = candidate[-self._seats], candidate[-1]
        lowest = ratings[first] - candidate[0]
        low = left[first]
        while low >= 0 and ratings[low] >= lowest:
            other = self._candidate(low)
            if other is not None and other < candidate:
                return low
            low = left[low]
        low = right[first]
        while low <= last:
            other = self._candidate(low)
            if other is not None and other < candidate:
                return low
            low = right[low]
        return None

    def _narrowest(self, low: int) -> Candidate | None:
        """Return the narrowest group whose lowest ticket is `low`, with the oldest between that and its highest one."""
        ratings, widths, right = self._ratings, self._widths, self._right
        rating, width, end, others = ratings[low], widths[low], len(ratings), self._seats - 2
        between: list[int] = []
        high = right[low]
        while high < end and (gap := ratings[high] - rating) <= width:
            if gap <= widths[high]:
                if not others:
                    return self._pair(gap, low, high)
                if len(between) >= others:
                    inner = [i for i in between if ratings[high] - ratings[i] <= widths[i]]
                    if len(inner) >= others:
                        return self._group(gap, low, inner, high)
                between.append(high)
            high = right[high]
        return None

    def _group(self, gap: float, low: int, inner: list[int], high: int) -> Candidate:
        others = self._seats - 2
        oldest = inner if len(inner) == others else sorted(inner, key=self._age)[:others]
        members = (low, *oldest, high)
        return gap, *sorted([self._created[i] for i in members]), *members

    def _pair(self, gap: float, low: int, high: int) -> Candidate:
        one, other = self._created[low], self._created[high]
        return (gap, one, other, low, high) if one <= other else (gap, other, one, low, high)

    def _age(self, member: int) -> tuple[int, str]:
        return self._entries[member][1:3]

    def _leave(self, members: Sequence[int]) -> Group:
        for i in members:
            self._free[i] = False
            left, right = self._left[i], self._right[i]
            if left >= 0:
                self._right[left] = right
            if right < len(self._free):
                self._left[right] = left
        return seated([self._entries[i] for i in members])


def seated(members: Sequence[Entry]) -> Group:
    """Return the places of `members`, the oldest ticket first."""
    if len(members) == 2:  # most are, and sorting two takes five times as long
        one, other = members
        return (one[3], other[3]) if one[1:3] < other[1:3] else (other[3], one[3])
    return tuple([entry[3] for entry in sorted(members, key=age)])


def age(entry: Entry) -> tuple[int, str]:
    """Return what sorts tickets by when they were created."""
    return entry[1:3]


def agree(window: Window, one: Entry, other: Entry, now_ms: int) -> bool:
    """Tell whether two tickets accept each other."""
    difference = abs(one[0] - other[0])
    return difference <= window.width(now_ms - one[1]) and difference <= window.width(now_ms - other[1])
