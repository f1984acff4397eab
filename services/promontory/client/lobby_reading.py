"""What `promontory matches` and `promontory table` read and show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from promontory.client.access import Access
from promontory.client.asynchronous import AsyncClient
from promontory.client.errors import PromontoryError
from promontory.client.lists import MatchEntry
from promontory.client.matches import MatchState
from promontory.client.tables import Readiness, Table, TableUpdate
from promontory.games.text import words

Sit = Callable[[AsyncClient], Coroutine[Any, Any, Table]]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Which matches to list: live ones, a player's closed ones, or one's own, in a `state` if there is one."""

    live: bool = False
    player: str = ""
    state: str = ""
    game: str = ""
    pool: str = ""
    limit: int = 20


class Begun(msgspec.Struct, frozen=True):
    """A match that has begun at a table, and the player's seat in it."""

    match_id: str
    game: str
    seat: int
    table_id: str

    def sentence(self) -> str:
        """Return it for people to read, with how to go on."""
        look = f"promontory show {self.match_id} --seat {self.seat}"
        return f"the match {self.match_id} has begun; you have seat {self.seat}: {look}"


async def matches(access: Access, wish: Wish) -> list[MatchEntry]:
    """Return the first matches that `wish` is about, in the order of their list."""
    found: list[MatchEntry] = []
    async with access.client() as client, aclosing(_listed(client, wish)) as entries:
        async for entry in entries:
            found.append(entry)
            if len(found) == wish.limit:
                break
    return found


def _listed(client: AsyncClient, wish: Wish) -> AsyncGenerator[MatchEntry]:
    if wish.live and not (wish.game or wish.pool):
        raise LookupError("live matches are listed by game or by pool: add --game or --pool")
    if wish.live:
        return client.live_matches(wish.game, pool=wish.pool)
    if wish.player:
        return client.player_matches(wish.player, game=wish.game, pool=wish.pool)
    state = MatchState(wish.state) if wish.state else None
    return client.matches(state=state, game=wish.game, pool=wish.pool)


def matches_text(entries: Sequence[MatchEntry]) -> str:
    """Return a list of matches for people to read."""
    if not entries:
        return "no matches"
    return "\n".join(_line(entry) for entry in entries)


def _line(entry: MatchEntry) -> str:
    place = entry.placement
    result = f", place {place.place} with {place.score}" if place else ""
    ending = f"over, {words(entry.outcome.reason)}{result}" if entry.outcome else "open"
    begun = f"{entry.create_time:%Y-%m-%d %H:%M}"
    return f"{entry.match_id}  {begun}  {entry.pool or entry.game + ', private'}  {', '.join(entry.players)}: {ending}"


async def wait(access: Access, sit: Sit, *, tell: Callable[[str], None]) -> Begun:
    """Sit down at a table, tell what happens there, and return the match once it has begun.

    If the wait is cancelled, the seat is given up, so that no match begins with nobody there. Raises `TableClosed` if
    the table is closed instead.
    """
    async with access.client() as client:
        table = await sit(client)
        if table.invite_code:
            tell(f"others join with: promontory table join {table.invite_code}")
        try:
            seat = await table.seat(on_update=lambda update: tell(table_text(update)))
        except asyncio.CancelledError:
            await _leave(table, tell)
            raise
    return Begun(seat.match_id, seat.game, seat.seat, table.table_id)


async def _leave(table: Table, tell: Callable[[str], None]) -> None:
    with suppress(PromontoryError):
        await table.leave()
        tell("left the table")


def table_text(table: TableUpdate) -> str:
    """Return who sits at a table, on one line."""
    seats = [f"{seat.seat} {_guest(seat.player_id, seat.readiness)}" for seat in table.places]
    return f"{table.game}, {table.state}: {'; '.join(seats)}"


def _guest(player: str, readiness: Readiness | None) -> str:
    if readiness is None:
        return f"waits for {player}" if player else "free"
    return f"{player} (not ready)" if readiness is Readiness.NOT_READY else player
