"""Changing tables: each change once, whoever else changes the table at the same time, and the match if it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec
import structlog
from msgspec.structs import replace

from promontory.eventlog.port import EventLogUnavailable
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.domain import fingerprint_of
from promontory.matchmaking.ports import CreationRefused, KeptOut, RequestIdReused, Tables, TooManyOpen
from promontory.matchmaking.room import Room
from promontory.matchmaking.table import CloseReason, Request, Table, TableState, closed, remembering, require_unbarred
from promontory.matchmaking.validation import request_id_reused
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.forms import REQUEST_ID
from promontory.runtime.limits import Limit, limit_reached
from promontory.runtime.players import player_suspended

log = structlog.get_logger()

MOST_ATTEMPTS = 64
EXPIRED_AT_ONCE = 100
EXPIRY_SECONDS = 2.0

Change = Callable[[Table], Table]
"""Returns a table as it shall be; raises a refusal if it cannot be so."""


class TableLimits(msgspec.Struct, frozen=True, kw_only=True):
    """At how many open tables a player may sit, and for how long tables and rematches wait without a change."""

    most_open: int = 10
    life_seconds: float = 3600
    rematch_seconds: float = 600

    def end_ms(self, *, is_rematch: bool) -> int:
        """Return when a table that changes now is closed if it does not change again, in ms since the epoch."""
        return clock.now_ms() + round(1000 * (self.rematch_seconds if is_rematch else self.life_seconds))


class Intent(msgspec.Struct, frozen=True):
    """What a player asks for under a request id; `content` is all that is asked for."""

    player: str
    request_id: str
    content: tuple[object, ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        """What the table remembers of it: nothing without a request id. Refuses a malformed one."""
        if not self.request_id:
            return ()
        name = fingerprint_of(self.player, REQUEST_ID.checked(self.request_id, "request_id"))
        return (Request(name[:24], fingerprint_of(*self.content)[:24]),)


class Seating:
    """Opens and changes tables within `limits`.

    A starting table's match is created by whoever notices it: the player whose change started it, anybody who asks for
    the table, or a matcher once the lease has ended.
    """

    def __init__(self, tables: Tables, creation: Creation, limits: TableLimits, room: Room) -> None:
        self._tables, self._creation, self.limits, self._room = tables, creation, limits, room

    async def open(self, table: Table) -> Table:
        """Return `table`, opened, or as it stands; see `Tables.open`. Raises the refusals that say why it cannot be."""
        if await self._tables.find(table.id) is None:
            await self._require_room(table.players)
        try:
            return await self.completed(await self._tables.open(table, most_open=self.limits.most_open))
        except RequestIdReused as error:
            raise request_id_reused() from error
        except KeptOut as error:
            raise player_suspended(error.until_ms) from error
        except TooManyOpen as error:
            raise self._too_many() from error

    async def change(self, table: str, intent: Intent, change: Change) -> Table:
        """Return a table after `change`, or as it stands if `intent` has changed it before.

        Raises the refusals `TABLE_NOT_FOUND`, `REQUEST_ID_REUSED`, `LIMIT_REACHED`, `PLAYER_SUSPENDED`, `TABLE_BARRED`
        for one who was sent away since, and what `change` raises.
        """
        requests = intent.requests
        for _ in range(MOST_ATTEMPTS):
            found = await self.current(table)
            if any(_is_known(found, request) for request in requests):
                require_unbarred(found, intent.player)
                return await self.completed(found)
            changed = change(found)
            if changed == found:
                return await self.completed(found)
            await self._require_room(player for player in changed.players if player not in found.players)
            if stored := await self._store(remembering(changed, requests)):
                return await self.completed(stored)
        raise EventLogUnavailable(f"the table {table} changes all the time")

    async def _require_room(self, newcomers: Iterable[str]) -> None:
        for player in newcomers:
            await self._room.require(player)

    async def current(self, table: str) -> Table:
        """Return a table as it is, closed if its time is up. Raises the refusal `TABLE_NOT_FOUND`."""
        while True:
            found = await self._tables.find(table)
            if found is None:
                raise no_table()
            if found.state is not TableState.OPEN or found.expires_ms > clock.now_ms():
                return found
            await self._tables.replace(_next(closed(found, CloseReason.EXPIRED)), most_open=0)

    async def completed(self, table: Table) -> Table:
        """Return `table`, with its match if it is starting. Raises the refusal `PEER_UNAVAILABLE`; repeat it."""
        if table.state is not TableState.STARTING:
            return table
        proposal = table.proposal()
        try:
            await self._creation.complete(proposal)
        except CreationRefused as error:
            await self._creation.give_up(proposal, error)
        return await self._tables.find(table.id) or table

    async def run_expiry(self) -> None:
        """Close the tables whose time is up until cancelled."""
        while True:
            try:
                await self.expire()
            except EventLogUnavailable as error:
                log.warning("expiry_delayed", cause=str(error))
            await asyncio.sleep(EXPIRY_SECONDS)

    async def expire(self) -> None:
        """Close tables whose time is up; one that cannot be read stays."""
        for table in await self._tables.expired(limit=EXPIRED_AT_ONCE):
            with suppress(Refusal):
                await self.current(table)

    async def _store(self, table: Table) -> Table | None:
        stored = replace(_next(table), expires_ms=self.limits.end_ms(is_rematch=bool(table.rematch_of)))
        try:
            return stored if await self._tables.replace(stored, most_open=self.limits.most_open) else None
        except KeptOut as error:
            raise player_suspended(error.until_ms) from error
        except TooManyOpen as error:
            raise self._too_many() from error

    def _too_many(self) -> Refusal:
        text = f"the player sits at {self.limits.most_open} open tables, the most allowed; leave one"
        return limit_reached(Limit.TABLES, self.limits.most_open, text)


def no_table() -> Refusal:
    """Return the refusal of a table that there is not."""
    return Refusal(Kind.NOT_FOUND, "TABLE_NOT_FOUND", "no such table, or a wrong invite code")


def _next(table: Table) -> Table:
    return replace(table, revision=table.revision + 1)


def _is_known(table: Table, request: Request) -> bool:
    for known in table.requests:
        if known.name == request.name:
            if known.fingerprint != request.fingerprint:
                raise request_id_reused()
            return True
    return False
