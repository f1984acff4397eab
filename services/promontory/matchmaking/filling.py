"""House bots: who plays with them, and which of them take the seats that no ticket takes. Pure."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from promontory.matchmaking.domain import Entrant, HouseBot, Place, Pool
from promontory.matchmaking.stretch import MARGIN, Entry, Group, age, agree, seated


class RatedBot(msgspec.Struct, frozen=True):
    """A house bot that may fill a seat, and its rating in rating points."""

    bot: HouseBot
    rating: float


class Filling:
    """Groups for the tickets of `pool` that have waited long enough for `bots`; `due` has them by rating."""

    def __init__(self, pool: Pool, due: Sequence[Entry], bots: Sequence[RatedBot], now_ms: int) -> None:
        self._pool, self._due, self._bots, self._now_ms = pool, due, bots, now_ms

    def take_groups(self) -> Iterator[Group]:
        """Yield groups for the tickets, those that have waited longest first, with bots in the last seats.

        Each plays with others that are due, as many as agree with all, the nearest first, and with the nearest bots.
        """
        taken = set[str]()
        for anchor in sorted(self._due, key=age) if self._bots else ():
            if anchor[2] in taken:
                continue
            members = self._company(anchor, taken)
            missing = self._pool.seats - len(members)
            if missing <= len(self._bots):
                taken.update(member[2] for member in members)
                yield seated(members) + tuple(self._nearest(anchor)[:missing])

    def _company(self, anchor: Entry, taken: set[str]) -> list[Entry]:
        members = [anchor]
        for entry in self._near(anchor) if self._pool.seats > 2 else ():
            if len(members) == self._pool.seats:
                break
            if entry[2] not in taken and all(
                agree(self._pool.window, entry, member, self._now_ms) for member in members
            ):
                members.append(entry)
        return members

    def _near(self, anchor: Entry) -> list[Entry]:
        """Return the others within the window of `anchor`, the nearest first."""
        reach = self._pool.window.width(self._now_ms - anchor[1]) + MARGIN
        first, last = (bisect_left(self._due, (anchor[0] + way * reach,)) for way in (-1, 1))
        at = bisect_left(self._due, anchor)
        others = chain(self._due[first:at], self._due[at + 1 : last])
        return sorted(others, key=lambda entry: abs(entry[0] - anchor[0]))

    def _nearest(self, anchor: Entry) -> list[Place]:
        """Return the bots, the nearest in rating first; equally near ones come in an order of the ticket's own."""

        def distance(rated: RatedBot) -> tuple[float, int, str]:
            lot = zlib.crc32(f"{anchor[2]}|{rated.bot.player}".encode())
            return abs(rated.rating - anchor[0]), lot, rated.bot.player

        found = sorted(self._bots, key=distance)
        return [Place(Entrant(rated.bot.player, rated.bot.policy), rated.rating) for rated in found]
