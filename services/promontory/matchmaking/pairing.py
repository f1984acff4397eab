"""Pairing: which of a pool's waiting tickets make matches now. Pure: same tickets and time, same matches."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import attrgetter

import msgspec

from promontory.matchmaking.domain import Entrant, HouseBot, Place, Pool, Ticket

MOST_BETWEEN = 32
"""How many tickets between the lowest and the highest of a group are weighed, where a match has more than 2 seats."""

Group = tuple[Place, ...]
Candidate = tuple[float, tuple[int, ...], int, tuple[int, ...]]

_by_age = attrgetter("created_ms", "id")


class RatedBot(msgspec.Struct, frozen=True):
    """A house bot that may fill a seat, and its rating in rating points."""

    bot: HouseBot
    rating: float


def pair(pool: Pool, tickets: Sequence[Ticket], now_ms: int, bots: Sequence[RatedBot] = ()) -> tuple[Group, ...]:
    """Return the matches that `tickets` of `pool` make at `now_ms`, each with its places in the order of seats.

    A group needs as many tickets as the pool has seats, each rating within every other one's window. The narrowest
    group goes first, of equal ones that with the oldest ticket, until no group is left. Whoever has then waited long
    enough plays with others who have, and with those of `bots` that are nearest in rating and hold no ticket
    themselves. Seats go by age, house bots last.
    """
    line = _Line(pool, _one_a_player([ticket for ticket in tickets if ticket.retry_at_ms <= now_ms]), now_ms)
    groups = tuple(line.place(members) for members in line.take_groups())
    waiting = {ticket.entrant.player for ticket in tickets}
    free = [bot for bot in bots if bot.bot.player not in waiting]
    return groups + tuple(line.take_filled(free))


def _one_a_player(tickets: Sequence[Ticket]) -> list[Ticket]:
    oldest = {ticket.entrant.player: ticket for ticket in sorted(tickets, key=_by_age, reverse=True)}
    return sorted(oldest.values(), key=attrgetter("rating", "created_ms", "id"))


class _Line:
    """Tickets in a line by rating; whoever gets a match leaves it."""

    def __init__(self, pool: Pool, tickets: Sequence[Ticket], now_ms: int) -> None:
        self._pool, self._tickets, self._now_ms = pool, tickets, now_ms
        self._ratings = [ticket.rating for ticket in tickets]
        self._widths = [pool.window.width(now_ms - ticket.created_ms) for ticket in tickets]
        self._free = [True] * len(tickets)
        self._left = [i - 1 for i in range(len(tickets))]
        self._right = [i + 1 for i in range(len(tickets))]

    def take_groups(self) -> Iterator[tuple[int, ...]]:
        """Yield full groups, the narrowest first, until there is none."""
        candidates = [found for low in range(len(self._tickets)) if (found := self._narrowest(low))]
        heapify(candidates)
        while candidates:
            _, _, low, members = heappop(candidates)
            if all(self._free[member] for member in members):
                self._leave(members)
                yield members
            elif self._free[low] and (found := self._narrowest(low)):
                heappush(candidates, found)

    def take_filled(self, bots: Sequence[RatedBot]) -> Iterator[Group]:
        """Yield groups with house bots in the seats that no ticket takes, those of the longest waiting first."""
        for anchor in sorted(self._due(), key=lambda i: _by_age(self._tickets[i])):
            if not self._free[anchor]:
                continue
            members = self._company(anchor)
            filling = self._nearest(bots, anchor)[: self._pool.seats - len(members)]
            if len(members) + len(filling) == self._pool.seats:
                self._leave(members)
                yield self.place(members) + tuple(filling)

    def place(self, members: Sequence[int]) -> Group:
        """Return the places of `members`, the oldest ticket first."""
        tickets = sorted((self._tickets[member] for member in members), key=_by_age)
        return tuple(Place(each.entrant, each.rating, each.id, each.created_ms, each.refusals) for each in tickets)

    def _narrowest(self, low: int) -> Candidate | None:
        """Return the narrowest group whose lowest rating is that of `low`.

        It is fixed by its highest ticket: those two accept each other, so they accept all between them, and of these
        as many as there are seats must accept both.
        """
        between: list[int] = []
        for high in self._reachable(low):
            if not self._accepts(high, low):
                continue
            inner = [i for i in between if self._accepts(i, high)]
            if len(inner) >= self._pool.seats - 2:
                oldest = sorted(inner, key=lambda i: _by_age(self._tickets[i]))[: self._pool.seats - 2]
                return self._candidate((low, *oldest, high))
            between.append(high)
            if len(between) > MOST_BETWEEN:
                return None
        return None

    def _candidate(self, members: tuple[int, ...]) -> Candidate:
        ages = tuple(sorted(self._tickets[member].created_ms for member in members))
        return (self._ratings[members[-1]] - self._ratings[members[0]], ages, members[0], members)

    def _reachable(self, low: int) -> Iterator[int]:
        """Yield the tickets above `low` that it accepts, from the nearest on."""
        end, high = len(self._tickets), self._right[low]
        while high < end and self._accepts(low, high):
            yield high
            high = self._right[high]

    def _accepts(self, one: int, other: int) -> bool:
        return abs(self._ratings[other] - self._ratings[one]) <= self._widths[one]

    def _leave(self, members: Sequence[int]) -> None:
        for i in members:
            self._free[i] = False
            left, right = self._left[i], self._right[i]
            if left >= 0:
                self._right[left] = right
            if right < len(self._tickets):
                self._left[right] = left

    def _due(self) -> list[int]:
        """Return the tickets that have waited long enough for house bots."""
        after = self._pool.house_bots_after_seconds
        if after is None:
            return []
        latest = self._now_ms - after * 1000
        return [i for i, ticket in enumerate(self._tickets) if self._free[i] and ticket.created_ms <= latest]

    def _company(self, anchor: int) -> tuple[int, ...]:
        """Return `anchor` and the tickets, nearest first, that are due too and agree with all."""
        members = [anchor]
        if self._pool.seats > 2:
            near = sorted(self._due(), key=lambda i: (abs(self._ratings[i] - self._ratings[anchor]), i))
            for i in near:
                if i != anchor and all(self._accepts(i, m) and self._accepts(m, i) for m in members):
                    members.append(i)
        return tuple(islice(members, self._pool.seats))

    def _nearest(self, bots: Sequence[RatedBot], anchor: int) -> list[Place]:
        """Return `bots`, the nearest in rating first; equally near ones come in an order of the ticket's own."""
        ticket = self._tickets[anchor]

        def distance(rated: RatedBot) -> tuple[float, int, str]:
            lot = zlib.crc32(f"{ticket.id}|{rated.bot.player}".encode())
            return abs(rated.rating - ticket.rating), lot, rated.bot.player

        return [
            Place(Entrant(rated.bot.player, rated.bot.policy), rated.rating) for rated in sorted(bots, key=distance)
        ]
