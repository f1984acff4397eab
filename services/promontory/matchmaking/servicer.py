"""The gRPC services of matchmaking and the lobby: each method decodes, calls one use case, and encodes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.matchmaking.lists import Filter, MatchLists
from promontory.matchmaking.lobby import Lobby
from promontory.matchmaking.lobby_messages import (
    entry_messages,
    filter_of,
    page_of,
    readiness_of,
    table_message,
    told_message,
    wish_of,
)
from promontory.matchmaking.messages import pool_message, ticket_message
from promontory.matchmaking.rematch import Rematches
from promontory.matchmaking.table import Guest
from promontory.matchmaking.usecases import Queues, Wish
from promontory.matchmaking.validation import checked_player
from promontory.runtime.allowance import Allowance
from promontory.runtime.identity import caller
from promontory.runtime.rpc import Context


class MatchmakingServicer:
    """`promontory.api.matchmaking.v1.MatchmakingService`."""

    def __init__(self, queues: Queues, allowance: Allowance) -> None:
        self._queues, self._allowance = queues, allowance

    async def ListPools(self, request: pb.ListPoolsRequest, context: Context) -> pb.ListPoolsResponse:
        """List the pools."""
        return pb.ListPoolsResponse(pools=[pool_message(*row) for row in await self._queues.pools()])

    async def CreateTicket(self, request: pb.CreateTicketRequest, context: Context) -> pb.CreateTicketResponse:
        """Enter the caller, or a house bot, into a queue."""
        self._allowance.spend(caller())
        wish = Wish(
            request_id=request.request_id,
            pool=request.pool,
            entropy=request.client_entropy,
            house_bot=request.house_bot,
        )
        return pb.CreateTicketResponse(ticket=ticket_message(await self._queues.create(caller(), wish)))

    async def GetTicket(self, request: pb.GetTicketRequest, context: Context) -> pb.GetTicketResponse:
        """Return a ticket."""
        return pb.GetTicketResponse(ticket=ticket_message(await self._queues.find(caller(), request.ticket_id)))

    async def WatchTicket(
        self, request: pb.WatchTicketRequest, context: Context
    ) -> AsyncIterator[pb.WatchTicketResponse]:
        """Stream a ticket until it is over."""
        async for standing in self._queues.watch(caller(), request.ticket_id):
            yield pb.WatchTicketResponse(ticket=ticket_message(standing))

    async def CancelTicket(self, request: pb.CancelTicketRequest, context: Context) -> pb.CancelTicketResponse:
        """Take a ticket out of its queue."""
        return pb.CancelTicketResponse(ticket=ticket_message(await self._queues.cancel(caller(), request.ticket_id)))


class LobbyCases(msgspec.Struct, frozen=True):
    """The use cases that the lobby's methods call."""

    tables: Lobby
    rematches: Rematches
    lists: MatchLists


class LobbyServicer:
    """`promontory.api.lobby.v1.LobbyService`."""

    def __init__(self, cases: LobbyCases, allowance: Allowance) -> None:
        self._tables, self._rematches, self._lists = cases.tables, cases.rematches, cases.lists
        self._allowance = allowance

    async def CreateTable(self, request: lobby_pb.CreateTableRequest, context: Context) -> lobby_pb.CreateTableResponse:
        """Open a table."""
        self._allowance.spend(caller())
        table = await self._tables.create(caller(), wish_of(request))
        return lobby_pb.CreateTableResponse(table=table_message(table, caller().subject))

    async def JoinTable(self, request: lobby_pb.JoinTableRequest, context: Context) -> lobby_pb.JoinTableResponse:
        """Take a seat of a table."""
        self._allowance.spend(caller())
        guest = Guest(checked_player(caller(), request.client_entropy), readiness_of(request.readiness))
        table = await self._tables.join(caller(), request.invite_code, guest, request_id=request.request_id)
        return lobby_pb.JoinTableResponse(table=table_message(table, caller().subject))

    async def LeaveTable(self, request: lobby_pb.LeaveTableRequest, context: Context) -> lobby_pb.LeaveTableResponse:
        """Give a seat up."""
        table = await self._tables.leave(caller(), request.table_id, request_id=request.request_id)
        return lobby_pb.LeaveTableResponse(table=table_message(table, caller().subject))

    async def SetReady(self, request: lobby_pb.SetReadyRequest, context: Context) -> lobby_pb.SetReadyResponse:
        """Say whether the caller is ready."""
        readiness = readiness_of(request.readiness)
        table = await self._tables.set_ready(caller(), request.table_id, readiness, request_id=request.request_id)
        return lobby_pb.SetReadyResponse(table=table_message(table, caller().subject))

    async def StartTable(self, request: lobby_pb.StartTableRequest, context: Context) -> lobby_pb.StartTableResponse:
        """Start a table's match."""
        table = await self._tables.start(caller(), request.table_id, request_id=request.request_id)
        return lobby_pb.StartTableResponse(table=table_message(table, caller().subject))

    async def KickGuest(self, request: lobby_pb.KickGuestRequest, context: Context) -> lobby_pb.KickGuestResponse:
        """Send a guest away."""
        player, request_id = request.player_id, request.request_id
        table = await self._tables.kick(caller(), request.table_id, player, request_id=request_id)
        return lobby_pb.KickGuestResponse(table=table_message(table, caller().subject))

    async def CloseTable(self, request: lobby_pb.CloseTableRequest, context: Context) -> lobby_pb.CloseTableResponse:
        """Close a table."""
        table = await self._tables.close(caller(), request.table_id, request_id=request.request_id)
        return lobby_pb.CloseTableResponse(table=table_message(table, caller().subject))

    async def GetTable(self, request: lobby_pb.GetTableRequest, context: Context) -> lobby_pb.GetTableResponse:
        """Return a table."""
        table = await self._tables.find(caller(), request.table_id)
        return lobby_pb.GetTableResponse(table=table_message(table, caller().subject))

    async def WatchTable(
        self, request: lobby_pb.WatchTableRequest, context: Context
    ) -> AsyncIterator[lobby_pb.WatchTableResponse]:
        """Stream a table until it is over."""
        async for told in self._tables.watch(caller(), request.table_id):
            yield told_message(told, caller().subject)

    async def ListTables(self, request: lobby_pb.ListTablesRequest, context: Context) -> lobby_pb.ListTablesResponse:
        """List the caller's open tables."""
        found = await self._tables.tables(caller())
        return lobby_pb.ListTablesResponse(tables=[table_message(table, caller().subject) for table in found])

    async def RequestRematch(
        self, request: lobby_pb.RequestRematchRequest, context: Context
    ) -> lobby_pb.RequestRematchResponse:
        """Ask to play a match again."""
        self._allowance.spend(caller())
        entropy, request_id = request.client_entropy, request.request_id
        table = await self._rematches.request(caller(), request.match_id, entropy, request_id=request_id)
        return lobby_pb.RequestRematchResponse(table=table_message(table, caller().subject))

    async def DeclineRematch(
        self, request: lobby_pb.DeclineRematchRequest, context: Context
    ) -> lobby_pb.DeclineRematchResponse:
        """Decline to play a match again."""
        table = await self._rematches.decline(caller(), request.match_id, request_id=request.request_id)
        return lobby_pb.DeclineRematchResponse(table=table_message(table, caller().subject))

    async def ListMatches(self, request: lobby_pb.ListMatchesRequest, context: Context) -> lobby_pb.ListMatchesResponse:
        """List the caller's matches."""
        found, token = await self._lists.mine(caller(), filter_of(request), page_of(request))
        return lobby_pb.ListMatchesResponse(matches=entry_messages(found, caller().subject), next_page_token=token)

    async def ListLiveMatches(
        self, request: lobby_pb.ListLiveMatchesRequest, context: Context
    ) -> lobby_pb.ListLiveMatchesResponse:
        """List the matches that are being played."""
        found, token = await self._lists.live(caller(), Filter(request.game, request.pool), page_of(request))
        return lobby_pb.ListLiveMatchesResponse(matches=entry_messages(found), next_page_token=token)

    async def ListPlayerMatches(
        self, request: lobby_pb.ListPlayerMatchesRequest, context: Context
    ) -> lobby_pb.ListPlayerMatchesResponse:
        """List a player's closed matches."""
        player, wanted = request.player_id, Filter(request.game, request.pool)
        found, token = await self._lists.finished(caller(), player, wanted, page_of(request))
        return lobby_pb.ListPlayerMatchesResponse(matches=entry_messages(found, player), next_page_token=token)

    async def RecordClosedMatch(
        self, request: lobby_pb.RecordClosedMatchRequest, context: Context
    ) -> lobby_pb.RecordClosedMatchResponse:
        """Put a closed match into the lists."""
        return lobby_pb.RecordClosedMatchResponse(recorded=await self._lists.record_closed(caller(), request.match_id))
