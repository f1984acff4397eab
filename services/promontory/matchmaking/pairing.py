"""Pairing: which of a pool's waiting tickets make matches now. Pure: same tickets and time, same matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf

from promontory.matchmaking.domain import Place, Pool, Ticket
from promontory.matchmaking.filling import Filling, RatedBot
from promontory.matchmaking.row import Row
from promontory.matchmaking.stretch import MARGIN, Entry, Group, Stretch, age, agree

SLACK = 1000
"""So many ages and alarms of tickets that have left are kept at most, beside as many as there are tickets."""


def pair(pool: Pool, tickets: Iterable[Ticket], now_ms: int, bots: Sequence[RatedBot] = ()) -> tuple[Group, ...]:
    """Return the matches that `tickets` of `pool` make at `now_ms`; see `Line.take`."""
    line = Line(pool)
    for ticket in tickets:
        line.put(ticket)
    return line.take(now_ms, bots)


class Line:
    """The tickets that wait in a pool, kept from one look at them to the next, so that a look costs what has changed.

    Whoever was looked at and stayed accepts nobody who was there, until both windows reach: the later of two looks
    again then. So a group that has become possible since the last look has somebody in it who is awake: a newcomer, or
    one whose alarm went off. No look goes further than the windows of those.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._entries: dict[str, Entry] = {}
        self._players: dict[str, str] = {}
        self._row = Row()
        self._came: list[Entry] = []
        self._resting: dict[str, int] = {}
        self._alarms: list[tuple[float, str]] = []
        self._ages: list[tuple[int, str]] = []
        self._due: dict[str, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, ticket: str) -> bool:
        return ticket in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    @property
    def oldest_ms(self) -> int | None:
        """When the oldest of its tickets was created, in ms since the epoch; None if there is none."""
        while self._ages and self._ages[0][1] not in self._entries:
            heappop(self._ages)
        due = [entry[1] for entry in self._due.values() if entry[2] in self._entries]
        return min([*due, *(created for created, _ in self._ages[:1])], default=None)

    def put(self, ticket: Ticket) -> None:
        """Add a ticket, in place of the same one as it stood before; of a player's tickets only the oldest is kept."""
        entry, player = _entry(ticket), ticket.entrant.player
        known = self._players.get(player)
        if known is not None:
            if known != ticket.id and age(self._entries[known]) < age(entry):
                return
            self.drop(known)
        self._entries[ticket.id], self._players[player] = entry, ticket.id
        if ticket.retry_at_ms:
            self._resting[ticket.id] = ticket.retry_at_ms
            heappush(self._alarms, (ticket.retry_at_ms, ticket.id))
        else:
            self._came.append(entry)
        heappush(self._ages, (ticket.created_ms, ticket.id))

    def drop(self, ticket: str) -> None:
        """Remove a ticket, if it is there."""
        entry = self._entries.get(ticket)
        if entry is not None:
            self._forget(entry[3])
            self._resting.pop(ticket, None)
            self._row.remove(entry)

    def _forget(self, place: Place) -> None:
        del self._entries[place.ticket], self._players[place.entrant.player]

    def _forget_all(self, gone: Sequence[Place]) -> None:
        """Forget those who have left the row; where few stay, it is quicker to note those down anew."""
        if 2 * len(gone) < len(self._entries):
            for place in gone:
                self._forget(place)
            return
        stay = [*self._row.between(-inf, inf), *(self._entries[ticket] for ticket in self._resting)]
        self._entries = {entry[2]: entry for entry in stay}
        self._players = {entry[3].entrant.player: entry[2] for entry in stay}

    def take(self, now_ms: int, bots: Sequence[RatedBot] = ()) -> tuple[Group, ...]:
        """Return the matches that can be made at `now_ms`, each with its places in the order of seats; they leave.

        A group needs as many tickets as the pool has seats, each rating within every other one's window. The narrowest
        group goes first, of equal ones that with the oldest ticket, until no group is left. Whoever has then waited
        long enough plays with others who have, and with those of `bots` that are nearest in rating and hold no ticket
        themselves. Seats go by age, house bots last.
        """
        free = [bot for bot in bots if bot.bot.player not in self._players]
        awake = self._look(now_ms)
        groups = [*self._take_full(awake, now_ms), *self._take_filled(free, now_ms)]
        self._set_alarms(awake, now_ms)
        self._tidy()
        return tuple(groups)

    def _look(self, now_ms: int) -> list[Entry]:
        """Have newcomers stand in the row, and return them with those whose alarm has gone off."""
        came, self._came = [entry for entry in self._came if self._entries.get(entry[2]) is entry], []
        woken = list[Entry]()
        while self._alarms and self._alarms[0][0] <= now_ms:
            _, ticket = heappop(self._alarms)
            if ticket in self._entries and self._resting.get(ticket, 0) <= now_ms:
                rested = self._resting.pop(ticket, None) is not None
                (came if rested else woken).append(self._entries[ticket])
        self._row.add(came)
        return came + woken

    def _take_full(self, awake: Sequence[Entry], now_ms: int) -> Iterator[Group]:
        """Yield groups of tickets."""
        for low, high in self._spans(awake, now_ms):
            stretch = Stretch(self._pool.window, self._pool.seats, self._row.between(low, high), now_ms)
            groups = list(stretch.take_groups())
            if groups:
                self._row.replace(low, high, stretch.rest())
                self._forget_all([place for group in groups for place in group])
            yield from groups

    def _spans(self, awake: Sequence[Entry], now_ms: int) -> Iterable[tuple[float, float]]:
        """Return the ratings that the windows of the awake reach from and to; windows that overlap are one span."""
        if len(awake) == len(self._row) > 0:
            return [(-inf, inf)]
        width, spans = self._pool.window.width, list[tuple[float, float]]()
        for entry in awake:
            reach = width(now_ms - entry[1]) + MARGIN
            spans.append((entry[0] - reach, entry[0] + reach))
        return _merged(spans)

    def _take_filled(self, bots: Sequence[RatedBot], now_ms: int) -> Iterator[Group]:
        """Yield groups with house bots in the seats that no ticket takes."""
        for group in Filling(self._pool, self._due_entries(now_ms), bots, now_ms).take_groups():
            for place in group:
                self.drop(place.ticket)
            yield group

    def _due_entries(self, now_ms: int) -> list[Entry]:
        """Return the tickets that have waited long enough for house bots, in the order of the row."""
        after = self._pool.house_bots_after_seconds
        if after is None:
            return []
        latest = now_ms - after * 1000
        while self._ages and self._ages[0][0] <= latest:
            _, ticket = heappop(self._ages)
            if ticket in self._entries:
                self._due[ticket] = self._entries[ticket]
        self._due = {ticket: entry for ticket, entry in self._due.items() if self._entries.get(ticket) is entry}
        return sorted(entry for entry in self._due.values() if entry[2] not in self._resting)

    def _set_alarms(self, awake: Sequence[Entry], now_ms: int) -> None:
        """Have those of the awake who are still there look again when they may be accepted."""
        for entry in awake:
            if self._entries.get(entry[2]) is entry:
                opens_ms = self._opens_ms(entry, now_ms)
                if opens_ms < inf:
                    heappush(self._alarms, (opens_ms, entry[2]))

    def _tidy(self) -> None:
        """Let go of what stands for tickets that have left, once that is most of it."""
        most = 2 * len(self._entries) + SLACK
        if len(self._ages) > most:
            self._ages = sorted((entry[1], ticket) for ticket, entry in self._entries.items())
        if len(self._alarms) > most:
            self._alarms = sorted(alarm for alarm in self._alarms if alarm[1] in self._entries)

    def _opens_ms(self, entry: Entry, now_ms: int) -> float:
        """Return when `entry` and another one that stands in the row accept each other, the first who do not now."""
        window, soonest = self._pool.window, inf
        for others in (self._row.below(entry), self._row.above(entry)):
            for other in others:
                difference = abs(other[0] - entry[0])
                mine_ms = window.reached_ms(difference, entry[1])
                if mine_ms >= soonest:
                    break
                if not agree(window, entry, other, now_ms):
                    both_ms = max(mine_ms, window.reached_ms(difference, other[1]), now_ms + 1)
                    soonest = min(soonest, both_ms)
        return soonest


def _entry(ticket: Ticket) -> Entry:
    place = Place(ticket.entrant, ticket.rating, ticket.id, ticket.created_ms, ticket.refusals)
    return ticket.rating, ticket.created_ms, ticket.id, place


def _merged(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield `spans` with those that overlap made one, in their order."""
    low, high = inf, -inf
    for first, last in sorted(spans):
        if first > high and low < inf:
            yield low, high
            low, high = first, last
        else:
            low, high = min(low, first), max(high, last)
    if low < inf:
        yield low, high
