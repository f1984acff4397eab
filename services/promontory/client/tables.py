"""The lobby: private tables, and the lists of the player's matches."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.client.connection import Connection, Remote
from promontory.codec.times import time_of

LOBBY = pb.DESCRIPTOR.services_by_name["LobbyService"]
PAGE_SIZE = 100


class TableOptions(msgspec.Struct, frozen=True):
    """What a table is opened for: `seats` is as few as the game allows if None.

    `draw_start` draws who starts; `variant` is one of the game's `variants`, the usual one if empty.
    """

    seats: int | None = None
    draw_start: bool = False
    variant: str = ""


USUAL = TableOptions()


class Table(msgspec.Struct, frozen=True):
    """A private table; whoever joins needs `invite_code`.

    `players` are those who sit there, in the order of seats. `match_id` is empty until all `seats` are taken; `variant`
    is the way the match will be played, one of the game's `variants`, the usual one if empty.
    """

    table_id: str
    invite_code: str
    game: str
    seats: int
    players: tuple[str, ...]
    match_id: str
    create_time: datetime
    variant: str = ""


class MatchEntry(msgspec.Struct, frozen=True):
    """One of the player's matches: `seat` is the player's, `pool` is empty for a private match."""

    match_id: str
    game: str
    pool: str
    seat: int
    players: tuple[str, ...]
    create_time: datetime


class Lobby:
    """The lobby service."""

    def __init__(self, connection: Connection) -> None:
        self._remote = Remote(connection, LOBBY)

    async def create(self, request: pb.CreateTableRequest) -> Table:
        """Open a table."""
        return _table_of((await self._remote.call("CreateTable", request)).table)

    async def join(self, request: pb.JoinTableRequest) -> Table:
        """Take a seat at a table."""
        return _table_of((await self._remote.call("JoinTable", request)).table)

    async def look(self, table_id: str) -> Table:
        """Return a table."""
        return _table_of((await self._remote.call("GetTable", pb.GetTableRequest(table_id=table_id))).table)

    async def matches(self) -> AsyncGenerator[MatchEntry]:
        """Yield the player's matches, the newest first."""
        async for page in self._remote.pages("ListMatches", pb.ListMatchesRequest(page_size=PAGE_SIZE)):
            for entry in page.matches:
                yield _entry_of(entry)


def _table_of(message: Any) -> Table:
    return Table(
        table_id=message.table_id,
        invite_code=message.invite_code,
        game=message.game,
        seats=message.seats,
        players=tuple(message.player_ids),
        match_id=message.match_id,
        create_time=time_of(message.create_time),
        variant=message.variant,
    )


def _entry_of(message: Any) -> MatchEntry:
    return MatchEntry(
        match_id=message.match_id,
        game=message.game,
        pool=message.pool,
        seat=message.seat,
        players=tuple(message.player_ids),
        create_time=time_of(message.create_time),
    )
