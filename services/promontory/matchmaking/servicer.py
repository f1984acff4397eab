"""The gRPC services of matchmaking and the lobby: each method decodes, calls one use case, and encodes."""

from __future__ import annotations

from collections.abc import AsyncIterator

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.matchmaking.lobby import Lobby, TableWish
from promontory.matchmaking.messages import entry_message, pool_message, table_message, ticket_message
from promontory.matchmaking.usecases import Queues, Wish
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


class LobbyServicer:
    """`promontory.api.lobby.v1.LobbyService`."""

    def __init__(self, lobby: Lobby, allowance: Allowance) -> None:
        self._lobby, self._allowance = lobby, allowance

    async def CreateTable(self, request: lobby_pb.CreateTableRequest, context: Context) -> lobby_pb.CreateTableResponse:
        """Open a table."""
        self._allowance.spend(caller())
        wish = TableWish(
            request_id=request.request_id,
            game=request.game,
            seats=request.seats,
            draw_start=request.draw_start,
            variant=request.variant,
            entropy=request.client_entropy,
        )
        return lobby_pb.CreateTableResponse(table=table_message(await self._lobby.create(caller(), wish)))

    async def JoinTable(self, request: lobby_pb.JoinTableRequest, context: Context) -> lobby_pb.JoinTableResponse:
        """Take a seat of a table."""
        self._allowance.spend(caller())
        table = await self._lobby.join(caller(), request.invite_code, request.client_entropy)
        return lobby_pb.JoinTableResponse(table=table_message(table))

    async def GetTable(self, request: lobby_pb.GetTableRequest, context: Context) -> lobby_pb.GetTableResponse:
        """Return a table."""
        return lobby_pb.GetTableResponse(table=table_message(await self._lobby.find(caller(), request.table_id)))

    async def ListMatches(self, request: lobby_pb.ListMatchesRequest, context: Context) -> lobby_pb.ListMatchesResponse:
        """List the caller's matches."""
        page, token = await self._lobby.matches(caller(), page_size=request.page_size, page_token=request.page_token)
        return lobby_pb.ListMatchesResponse(matches=map(entry_message, page), next_page_token=token)
