"""Private tables and players' lists of matches in the server that `redis_tickets` uses too."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from promontory.matchmaking.domain import Entrant, Made, MatchEntry, Proposal, Table
from promontory.matchmaking.ports import RequestIdReused, TableFull
from promontory.matchmaking.redis_tickets import DUE, NUMBER, TRIES, Server, key, match_lists, table_of

OPEN_SECONDS = 24 * 3600
"""How long a table waits for its guests."""


class RedisTables:
    """The port `Tables`; a table with a match is kept for `retention_seconds`."""

    def __init__(self, server: Server, *, retention_seconds: float) -> None:
        self._server, self._retention_ms = server, int(retention_seconds * 1000)

    async def open(self, table: Table) -> Table:
        """Return `table`, opened; see `Tables.open`."""
        first = table.guests[0]
        body = msgspec.json.encode(msgspec.structs.replace(table, guests=()))
        keys = (key("b", table.id), key("i", table.invite_code))
        guest = (msgspec.json.encode(first), first.player)
        arguments = (table.id, table.fingerprint, body, table.seats, *guest, OPEN_SECONDS * 1000)
        match await self._server.function("open_table", keys, *arguments):
            case [b"OK"]:
                return table
            case [b"KNOWN"]:
                return await self.find(table.id) or table
        raise RequestIdReused(table.id)

    async def find(self, table: str) -> Table | None:
        """Return a table, or None."""
        row = await self._server.command("HGETALL", key("b", table))
        return table_of(row) if row else None

    async def find_invited(self, invite_code: str) -> Table | None:
        """Return the table with the invite code, or None."""
        table = await self._server.command("GET", key("i", invite_code))
        return await self.find(table.decode()) if table else None

    async def join(self, table: str, guest: Entrant, *, lease_seconds: float) -> Table | None:
        """Give `guest` the next seat; see `Tables.join`."""
        arguments = (table, msgspec.json.encode(guest), guest.player, int(lease_seconds * 1000))
        if await self._server.function("join_table", (key("b", table), DUE), *arguments) == [b"FULL"]:
            raise TableFull(table)
        return await self.find(table)

    async def start(self, proposal: Proposal, made: Made) -> bool:
        """Give the full table its match; see `Tables.start`."""
        lists, rows = match_lists(proposal, made)
        keys = (key("b", proposal.id), DUE, TRIES, NUMBER, *lists)
        arguments = (proposal.id, msgspec.json.encode(made), self._retention_ms, *rows)
        return await self._server.does("start_table", keys, *arguments)

    async def matches(self, player: str, *, before: int | None, limit: int) -> Sequence[tuple[int, MatchEntry]]:
        """Return a page of the player's list, the newest first; see `Tables.matches`."""
        start = "+inf" if before is None else f"({before}"
        page = ("ZRANGE", key("m", player), start, "-inf", "BYSCORE", "REV", "LIMIT", 0, limit, "WITHSCORES")
        rows = await self._server.command(*page)
        return [
            (int(float(number)), msgspec.json.decode(entry, type=MatchEntry))
            for entry, number in zip(rows[::2], rows[1::2], strict=True)
        ]
