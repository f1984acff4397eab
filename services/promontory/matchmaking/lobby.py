"""What players can do with private tables, and their lists of matches."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import msgspec

from promontory.games.registry import AnyGame, seat_counts
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.domain import MatchEntry, Table, derived_id, fingerprint_of
from promontory.matchmaking.ports import RequestIdReused, TableFull, Tables
from promontory.matchmaking.validation import checked_player, request_id_reused
from promontory.runtime import clock, pages
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.forms import REQUEST_ID
from promontory.runtime.identity import Caller, Scope

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
DEFAULT_PAGE = 20
MAX_PAGE = 100


class TableWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a table is opened from."""

    request_id: str
    game: str
    seats: int
    draw_start: bool = False
    variant: str = ""
    entropy: bytes = b""


class Lobby:
    """The use cases of the lobby; `games` holds the games that are served, by name.

    A full table's match is created by whoever notices it: the guest who took the last seat, anybody who asks for the
    table, or a matcher once `lease_seconds` have passed.
    """

    def __init__(
        self, tables: Tables, creation: Creation, *, games: Mapping[str, AnyGame], lease_seconds: float
    ) -> None:
        self._tables, self._creation, self._games, self._lease_seconds = tables, creation, games, lease_seconds

    async def create(self, caller: Caller, wish: TableWish) -> Table:
        """Open a table with the caller in seat 0; the same wish again finds the same table."""
        caller.require(Scope.PLAY)
        guest = checked_player(caller, wish.entropy)
        self._check(wish)
        table = Table(
            id=derived_id("tb", caller.subject, REQUEST_ID.checked(wish.request_id, "request_id")),
            invite_code="".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH)),
            game=wish.game,
            seats=wish.seats,
            draw_start=wish.draw_start,
            variant=wish.variant,
            created_ms=clock.now_ms(),
            fingerprint=fingerprint_of(wish),
            guests=(guest,),
        )
        try:
            return await self._tables.open(table)
        except RequestIdReused as error:
            raise request_id_reused() from error

    def _check(self, wish: TableWish) -> None:
        if wish.game not in self._games:
            raise malformed("game", f"is one of {', '.join(self._games)}")
        game = self._games[wish.game]
        if wish.seats not in game.seats:
            raise malformed("seats", f"{wish.game} has {seat_counts(game.seats)} seats, not {wish.seats}")
        if wish.variant and wish.variant not in game.variants:
            raise malformed("variant", f"is empty or one of {', '.join(game.variants)}")

    async def join(self, caller: Caller, invite_code: str, entropy: bytes) -> Table:
        """Take the next free seat of the table with `invite_code`; the last one starts the match."""
        caller.require(Scope.PLAY)
        guest = checked_player(caller, entropy)
        table = await self._tables.find_invited(invite_code.strip().upper())
        try:
            joined = table and await self._tables.join(table.id, guest, lease_seconds=self._lease_seconds)
        except TableFull as error:
            raise Refusal(Kind.FORBIDDEN_NOW, "TABLE_CLOSED", "the table is full") from error
        if joined is None:
            raise _no_table()
        return await self._completed(joined)

    async def find(self, caller: Caller, table: str) -> Table:
        """Return a table the caller sits at."""
        found = await self._tables.find(table)
        if found is None:
            raise _no_table()
        if all(guest.player != caller.subject for guest in found.guests):
            raise Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", "the caller does not sit at the table")
        return await self._completed(found)

    async def _completed(self, table: Table) -> Table:
        if table.made or not table.is_full:
            return table
        return msgspec.structs.replace(table, made=await self._creation.complete(table.proposal()))

    async def matches(self, caller: Caller, *, page_size: int, page_token: str) -> tuple[Sequence[MatchEntry], str]:
        """Return a page of the caller's matches, the newest first, and the token of the next page or an empty text."""
        size, listing = pages.page_size(page_size, usual=DEFAULT_PAGE, most=MAX_PAGE), f"matches {caller.subject}"
        (before,) = pages.page_start(listing, page_token) if page_token else (None,)
        rows = await self._tables.matches(caller.subject, before=before, limit=size + 1)
        page = rows[:size]
        return [entry for _, entry in page], pages.page_token(listing, page[-1][0]) if len(rows) > size else ""


def _no_table() -> Refusal:
    return Refusal(Kind.NOT_FOUND, "TABLE_NOT_FOUND", "no such table, or a wrong invite code")
