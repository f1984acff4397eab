"""Suspending players: they are kept out for a while, and out of what they wait for; their matches go on."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from promontory.matchmaking.farewells import CancelTickets, LeaveTables, listed_of
from promontory.matchmaking.forgetting import Forgetting
from promontory.matchmaking.ports import Doors, Lists
from promontory.runtime import clock
from promontory.runtime.errors import malformed
from promontory.runtime.forms import PLAYER_ID
from promontory.runtime.identity import SERVICE_PREFIX, Caller, Scope
from promontory.runtime.players import Directory, Suspension, account_of


class Suspended(msgspec.Struct, frozen=True):
    """What a suspension took a player out of; `known` tells whether there is anything about the player at all."""

    tickets: int
    tables: int
    known: bool


class SuspendPlayers:
    """The use cases of suspending; `house` holds the ids of house bots, which are no players."""

    def __init__(
        self,
        directory: Directory,
        doors: Doors,
        *,
        farewells: tuple[CancelTickets, LeaveTables],
        lists: Lists,
        house: Collection[str],
    ) -> None:
        self._directory, self._doors, self._house = directory, doors, house
        (self._tickets, self._tables), self._lists = farewells, lists

    async def suspend(self, caller: Caller, player: str, until_ms: int) -> Suspended:
        """Keep `player` out until `until_ms`, in ms since the epoch, and out of queues and tables from now on.

        Other processes learn of it some seconds later, and serve the player till then, but no ticket is created and no
        seat taken any more. A ticket or a table that leads to a match just now is left to do so: a match that has begun
        goes on. Repeating it changes nothing. Raises the refusals `SCOPE_MISSING` and `BAD_REQUEST`.
        """
        account = await self._account(caller, player)
        if until_ms <= clock.now_ms():
            raise malformed("until_time", "must be in the future")
        await self._directory.suspend(Suspension(account, until_ms))
        await self._set_door(player, account)
        left = Forgetting(player=player, account=account, requested_ms=clock.now_ms())
        left = await self._tables(await self._tickets(left, is_last=False), is_last=False)
        known = bool(left.tickets or left.tables) or await self._is_known(player)
        return Suspended(left.tickets, left.tables, known)

    async def _is_known(self, player: str) -> bool:
        """Tell whether the player has an account or a match; who is called as the provider does has no account."""
        return bool(await self._directory.registered(player) or await listed_of(self._lists, player))

    async def restore(self, caller: Caller, player: str) -> bool:
        """Let `player` in again, and return whether they were kept out. Raises what `suspend` does."""
        account = await self._account(caller, player)
        was_out = await self._directory.restore(account)
        await self._set_door(player, account)
        return was_out

    async def _set_door(self, player: str, account: str) -> None:
        """Have the door be as the directory says at last, whoever else suspends or restores the player meanwhile."""
        told_ms: int | None = None
        while told_ms != (until_ms := await self._directory.suspended_ms(account)):
            told_ms = until_ms
            if until_ms < 0:
                await self._doors.let_in(player)
            else:
                await self._doors.keep_out(player, until_ms)

    async def _account(self, caller: Caller, player: str) -> str:
        caller.require(Scope.SUSPEND_PLAYER)
        PLAYER_ID.checked(player, "player_id")
        if player in self._house or player.startswith(SERVICE_PREFIX):
            raise malformed("player_id", "is no player's")
        known = await self._directory.registered(player)
        return account_of(known.subject if known else player)
