"""A pool's line, kept as its queue is in the store: by what is told of changes, and by comparing now and then."""

from __future__ import annotations

from collections.abc import Collection

from promontory.matchmaking.domain import Pool, Ticket
from promontory.matchmaking.pairing import Line
from promontory.matchmaking.ports import Change, Tickets
from promontory.runtime import clock, metrics

COMPARE_SECONDS = 5.0
"""How often a line is compared with its queue, since notes may get lost."""


class KeptLine:
    """The `line` of `pool`, as it was when it was read last, and what has changed since then."""

    def __init__(self, pool: Pool, tickets: Tickets) -> None:
        self._pool, self._tickets = pool, tickets
        self.line = Line(pool)
        self._is_stale = True
        self._compared_at: float | None = None
        self._arrived: list[Ticket] = []
        self._came: set[str] = set()
        self._gone: set[str] = set()

    @property
    def has_grown(self) -> bool:
        """Whether tickets may have come."""
        return self._is_stale or bool(self._arrived or self._came)

    def note(self, change: Change) -> None:
        """Note a change of the pool's tickets; all of them may have changed if it names none."""
        if not change.tickets:
            self._is_stale = True
        elif change.no_more:
            self._gone.update(change.tickets)
        elif change.arrived:
            self._arrived.append(change.arrived)
        else:
            self.doubt(change.tickets)

    def doubt(self, tickets: Collection[str]) -> None:
        """Have tickets read that may wait, or no longer do."""
        self._came.update(tickets)

    async def read(self) -> bool:
        """Bring the line up to date by what has changed, or read all of it if nobody knows that.

        Return whether tickets may have come. A read that fails is made up for by the next, which is of all.
        """
        arrived, came, gone = self._arrived, self._came, self._gone
        self._arrived, self._came, self._gone = [], set(), set()
        compared_at, self._compared_at = self._compared_at, None
        now = clock.monotonic()
        if self._is_stale or compared_at is None:
            self._is_stale = False
            await self._read_all()
            self._compared_at = now
            return len(self.line) > 0
        for ticket in arrived:
            self.line.put(ticket)
        for gone_id in gone:
            self.line.drop(gone_id)
        is_compared = now > compared_at + COMPARE_SECONDS
        if is_compared:
            came |= set(await self._tickets.waiting_ids(self._pool.id)).symmetric_difference(self.line)
        has_found = await self._read_again(came)
        self._compared_at = now if is_compared else compared_at
        if arrived or came or gone or is_compared:
            self._show()
        return bool(arrived) or has_found

    async def _read_again(self, tickets: Collection[str]) -> bool:
        """Bring `tickets` up to date, and return whether one of them waits."""
        found = await self._tickets.still_waiting(self._pool.id, sorted(tickets)) if tickets else ()
        for ticket in tickets:
            self.line.drop(ticket)
        for each in found:
            self.line.put(each)
        return bool(found)

    async def _read_all(self) -> None:
        line = Line(self._pool)
        for ticket in await self._tickets.waiting(self._pool.id):
            line.put(ticket)
        self.line = line
        self._show()

    def _show(self) -> None:
        oldest_ms = self.line.oldest_ms
        waited_ms = 0 if oldest_ms is None else max(0, clock.now_ms() - oldest_ms)
        metrics.TICKETS_OPEN.labels(pool=self._pool.id).set(len(self.line))
        metrics.OLDEST_TICKET_SECONDS.labels(pool=self._pool.id).set(waited_ms / 1000)
