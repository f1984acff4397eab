"""Private tables and rematches in the server that `redis_tickets` uses too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.matchmaking.domain import Made, Proposal
from promontory.matchmaking.listing import listed
from promontory.matchmaking.ports import RequestIdReused, TooManyOpen
from promontory.matchmaking.redis_tickets import DUE, ENDS, FEED, OUT, TRIES, Server, kept_out, key, listing, table_of
from promontory.matchmaking.table import Table, TableState
from promontory.runtime.players import account_of


class RedisTables:
    """The port `Tables`.

    A starting table's lease lasts `lease_seconds`; a table that is over is kept for `retention_seconds`.
    """

    def __init__(self, server: Server, *, retention_seconds: float, lease_seconds: float) -> None:
        self._server = server
        self._retention_ms, self._lease_ms = int(retention_seconds * 1000), int(lease_seconds * 1000)

    async def open(self, table: Table, *, most_open: int) -> Table:
        """Return `table`, opened; see `Tables.open`."""
        match await self._put(table, None, most_open=most_open):
            case [b"OK"]:
                return table
            case [b"KNOWN"]:
                return await self.find(table.id) or table
        raise RequestIdReused(table.id)

    async def find(self, table: str) -> Table | None:
        """Return a table, or None."""
        return table_of(await self._server.command("HGET", key("b", table), "body"))

    async def find_invited(self, invite_code: str) -> Table | None:
        """Return the table with the invite code, or None."""
        table = await self._server.command("GET", key("i", invite_code))
        found = await self.find(table.decode()) if table else None
        return found if found and found.invite_code == invite_code else None

    async def replace(self, table: Table, *, most_open: int) -> bool:
        """Store the next revision of a table; see `Tables.replace`."""
        return await self._put(table, await self.find(table.id), most_open=most_open) == [b"OK"]

    async def start(self, proposal: Proposal, made: Made) -> bool:
        """Give the starting table its match; see `Tables.start`."""
        found = await self.find(proposal.id)
        if found is None or found.state is not TableState.STARTING:
            return False
        started = replace(found, state=TableState.STARTED, made=made, revision=found.revision + 1)
        return await self._put(started, found, most_open=0, lists=listing(listed(proposal, made))) == [b"OK"]

    async def of_player(self, player: str) -> Sequence[Table]:
        """Return the open tables of the player; see `Tables.of_player`."""
        kinds = await self._server.pipeline(*(("ZRANGE", key(kind, player), 0, -1, "WITHSCORES") for kind in "gq"))
        ids = [(float(score), table) for rows in kinds for table, score in zip(rows[::2], rows[1::2], strict=True)]
        ids.sort(reverse=True)
        if not ids:
            return []
        bodies = await self._server.pipeline(*(("HGET", key("b", table.decode()), "body") for _, table in ids))
        return [table for table in map(table_of, bodies) if table and table.state is TableState.OPEN]

    async def starting(self, player: str) -> Sequence[Table]:
        """Return the tables whose match is being created, with the player in it: those that have a lease."""
        leased = await self._server.command("ZRANGE", DUE, 0, -1)
        calls = [("HGET", key("b", name.decode()), "body") for name in leased]
        bodies = await self._server.pipeline(*calls) if calls else ()
        found = [table for table in map(table_of, bodies) if table]
        return [each for each in found if each.state is TableState.STARTING and player in each.players]

    async def expired(self, *, limit: int) -> Sequence[str]:
        """Return open tables whose time is up; see `Tables.expired`."""
        now = await self._server.now_ms()
        rows = await self._server.command("ZRANGE", ENDS, "-inf", now, "BYSCORE", "LIMIT", 0, limit)
        return [row.decode() for row in rows]

    async def _put(
        self, table: Table, before: Table | None, *, most_open: int, lists: tuple[list[str], list[Any]] = ([], [])
    ) -> list[bytes]:
        newcomers = [account_of(player) for player in table.players if before is None or player not in before.players]
        roles = {**dict.fromkeys(_roles(before) if before else (), ""), **_roles(table)}
        if table.state is not TableState.OPEN:
            roles = dict.fromkeys(roles, "")
        names = [name for player in roles for name in (key("g", player), key("q", player))]
        list_keys, list_arguments = lists
        own = (key("b", table.id), key("i", table.invite_code or table.id))
        keys = (*own, ENDS, DUE, TRIES, FEED, OUT, *names, *list_keys)
        stored = (table.id, table.revision, table.fingerprint, msgspec.json.encode(table), table.state.value)
        times = (table.expires_ms, self._lease_ms, self._retention_ms, most_open)
        found: list[bytes] = await self._server.function(
            *("put_table", keys, *stored, *times, len(roles), len(newcomers)),
            *(*roles.values(), *newcomers, *list_arguments),
        )
        match found:
            case [b"LIMIT"]:
                raise TooManyOpen(table.id)
            case [b"OUT", until_ms]:
                raise kept_out(until_ms)
        return found


def _roles(table: Table) -> dict[str, str]:
    """Return what its players are to an open table."""
    return {**dict.fromkeys(table.asked, "asked"), **dict.fromkeys(table.players, "sits")}
