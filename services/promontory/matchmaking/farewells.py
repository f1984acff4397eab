"""What has to be done to forget a player, one thing after the other, each as often as need be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import structlog
from msgspec.structs import replace

from promontory.matchmaking.domain import TicketState
from promontory.matchmaking.forgetting import Forgetting
from promontory.matchmaking.listing import Listed, matches_of
from promontory.matchmaking.ports import Lists, Tables, Tickets
from promontory.matchmaking.seating import Intent, Seating
from promontory.matchmaking.table import CloseReason, Table, TableState, closed, leave
from promontory.runtime import clock
from promontory.runtime.errors import Refusal

log = structlog.get_logger()

MOST_MATCHES = 1000
"""How many matches a player's lists hold."""
STARTING = "MATCH_STARTING"
"""The problem of a player whose match is just being created: it can be resigned only once it is there."""

_GONE = frozenset({"TABLE_NOT_FOUND", "TABLE_CLOSED"})
_AWAY = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})


class Resigning(Protocol):
    """The rules services, which let players out of matches."""

    async def resign(self, match: Listed, player: str, *, request_id: str) -> bool:
        """Resign `match` for `player`; return False if that is over already. Raises `PEER_UNAVAILABLE`.

        Its metadata has the `code` that the rules service answered with.
        """


class Scoring(Protocol):
    """Scoring, which takes players from leaderboards."""

    async def forget(
        self, player: str, pools: Sequence[str], *, request_id: str, pending: Sequence[str]
    ) -> Sequence[str]:
        """Take `player` from the leaderboards of `pools` and `pending`, and return from which; once a `request_id`.

        In the pools in `pending` old matches of the player may be tallied still. Raises `PEER_UNAVAILABLE`.
        """


class CancelTickets:
    """Takes the player out of all queues."""

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Cancel the player's tickets; those that have just been paired lead to a match, which is waited for."""
        open_now = [await self._tickets.find(ticket) for ticket in await self._tickets.of_player(forgetting.player)]
        old = [each.id for each in open_now if each and each.created_ms <= forgetting.settled_ms]
        found = [await self._tickets.cancel(ticket) for ticket in old]
        cancelled = sum(each is not None and each.state is TicketState.CANCELLED for each in found)
        is_paired = any(each is not None and not each.is_over for each in found)
        return _waiting(replace(forgetting, tickets=forgetting.tickets + cancelled), is_starting=is_paired)


class LeaveTables:
    """Gives up the player's seats at tables, and declines rematches."""

    def __init__(self, tables: Tables, seating: Seating) -> None:
        self._tables, self._seating = tables, seating

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Leave the open tables; those that are starting lead to a match, which is waited for."""
        left = 0
        for table in await self._tables.of_player(forgetting.player):
            if table.created_ms <= forgetting.settled_ms:
                left += await self._leave(table.id, forgetting.player)
        starting = await self._tables.starting(forgetting.player)
        is_starting = any(table.created_ms <= forgetting.settled_ms for table in starting)
        return _waiting(replace(forgetting, tables=forgetting.tables + left), is_starting=is_starting)

    async def _leave(self, table: str, player: str) -> bool:
        """Return whether `player` left now."""

        def without(found: Table) -> Table:
            if player in found.players:
                return leave(found, player)
            is_asked = player in found.asked and found.state is TableState.OPEN
            return closed(found, CloseReason.DECLINED) if is_asked else found

        try:
            await self._seating.change(table, Intent(player, "", ()), without)
        except Refusal as refusal:
            if refusal.reason not in _GONE:
                raise
            return False
        return True


class ResignMatches:
    """Resigns the player's open matches."""

    def __init__(self, lists: Lists, rules: Resigning) -> None:
        self._lists, self._rules = lists, rules

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Resign all that is open and can be; a match that ends by that is tallied for the others."""
        request_id, away = f"forget-{forgetting.requested_ms}", set[str]()
        latest_ms = clock.now_ms() if forgetting.awaited else forgetting.settled_ms
        for match in await listed_of(self._lists, forgetting.player):
            is_old = match.created_ms <= latest_ms and match.match_id not in forgetting.resigned
            if match.ended or not is_old or match.game in away:
                continue
            try:
                if await self._rules.resign(match, forgetting.player, request_id=request_id):
                    forgetting = replace(forgetting, resigned=(*forgetting.resigned, match.match_id))
            except Refusal as refusal:
                log.warning("match_not_resigned", match_id=match.match_id, reason=refusal.metadata.get("reason"))
                forgetting = replace(forgetting, problem=refusal.reason)
                away |= {match.game} if refusal.metadata.get("code") in _AWAY else set()
        return forgetting


class DropRatings:
    """Takes the player from the leaderboards of the pools that are served, and of those in the player's lists."""

    def __init__(self, lists: Lists, scoring: Scoring, *, pools: Collection[str]) -> None:
        self._lists, self._scoring, self._pools = lists, scoring, pools

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Have the player forgotten by scoring, at the end also where old matches may be tallied still.

        Whether one was tallied is not asked: it may be open for long after the player has left it.
        """
        rated = {match.pool for match in await listed_of(self._lists, forgetting.player) if match.rated and match.pool}
        forgetting = replace(forgetting, pending=tuple(sorted({*forgetting.pending, *rated})))
        taken = await self._scoring.forget(
            forgetting.player,
            tuple(dict.fromkeys((*self._pools, *forgetting.pending, *forgetting.pools))),
            request_id=f"{forgetting.requested_ms}{' at last' if is_last else ''}",
            pending=forgetting.pending if is_last else (),
        )
        return replace(forgetting, pools=tuple(dict.fromkeys((*forgetting.pools, *taken))))


class DropLists:
    """Removes the player's lists of matches; the last thing to do, since the other things to do read them."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Remove the lists, and keep what was made so far from getting into them again."""
        await self._lists.drop(forgetting.player, before_ms=clock.now_ms())
        return forgetting


def _waiting(forgetting: Forgetting, *, is_starting: bool) -> Forgetting:
    """Return `forgetting`, which is to wait for a match if one is starting."""
    return replace(forgetting, problem=STARTING, awaited=True) if is_starting else forgetting


async def listed_of(lists: Lists, player: str) -> Sequence[Listed]:
    """Return the player's matches, the newest first."""
    rows = await lists.entries((matches_of(player),), start=None, limit=MOST_MATCHES)
    return [match for _, match in rows if match]
