"""Following what changes in the store: wakes those who watch a ticket or a table, and rings for pools to be matched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

import structlog

from promontory.eventlog.port import EventLogUnavailable
from promontory.matchmaking.domain import PRIVATE
from promontory.matchmaking.ports import Change, Tickets
from promontory.runtime.errors import Kind, Refusal

log = structlog.get_logger()

RETRY_SECONDS = 1.0

GATHER_SECONDS = 0.02
"""How long notes of other processes gather once there are some, so that many are read together."""


class Bell:
    """Rings when what somebody watches has changed, or when the watching must end."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._ended = False

    def ring(self) -> None:
        """Wake who waits."""
        self._rung.set()

    def end(self) -> None:
        """Wake who waits, for the last time."""
        self._ended = True
        self.ring()

    async def wait(self, seconds: float) -> None:
        """Return when the bell rings, after `seconds` at the latest; raise `SERVER_DRAINING` when it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()
        if self._ended:
            raise Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "the server is stopping; watch again on another replica")


class Changes:
    """Follows the store's changes, own ones at once; `on_change` is called with each change of a pool's tickets."""

    def __init__(self, tickets: Tickets, pools: Iterable[str], *, on_change: Callable[[Change], None]) -> None:
        self._tickets, self._pools, self._on_change = tickets, tuple(pools), on_change
        self._bells: dict[str, set[Bell]] = {}
        self._closed = False
        tickets.listen(self._tell)

    async def run(self) -> None:
        """Follow the changes until cancelled. After an outage everything counts as changed."""
        while True:
            try:
                await self._follow()
            except EventLogUnavailable as error:
                log.warning("changes_unavailable", cause=str(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        cursor = await self._tickets.feed_end()
        for pool in self._pools:
            self._tell(Change(pool, ()))
        for bells in self._bells.values():
            for bell in bells:
                bell.ring()
        while True:
            before = cursor
            cursor, changes = await self._tickets.feed(cursor)
            for change in changes:
                self._tell(change)
            if cursor != before:
                await asyncio.sleep(GATHER_SECONDS)

    def _tell(self, change: Change) -> None:
        if change.pool != PRIVATE:
            self._on_change(change)
        for ticket in change.tickets:
            for bell in self._bells.get(ticket, ()):
                bell.ring()

    @contextmanager
    def watching(self, ticket: str) -> Iterator[Bell]:
        """Give a bell that rings whenever `ticket`, which may be a table, changes."""
        bell = Bell()
        if self._closed:
            bell.end()
        self._bells.setdefault(ticket, set()).add(bell)
        try:
            yield bell
        finally:
            self._bells[ticket].discard(bell)
            if not self._bells[ticket]:
                del self._bells[ticket]

    async def close(self) -> None:
        """End everybody's watching."""
        self._closed = True
        for bells in list(self._bells.values()):
            for bell in bells:
                bell.end()
