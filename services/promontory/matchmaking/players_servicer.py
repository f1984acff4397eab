"""The gRPC service of players: each method decodes, calls one use case, and encodes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from promontory.api.players.v1 import players_service_pb2 as pb
from promontory.codec.times import timestamp
from promontory.matchmaking.exporting import ExportPlayer
from promontory.matchmaking.forgetting import ForgetPlayers, Forgetting
from promontory.matchmaking.suspending import SuspendPlayers
from promontory.runtime.allowance import Allowance
from promontory.runtime.chunks import chunks
from promontory.runtime.identity import caller
from promontory.runtime.rpc import Context


class PlayersCases(msgspec.Struct, frozen=True):
    """The use cases that the methods call."""

    export: ExportPlayer
    forgetting: ForgetPlayers
    suspending: SuspendPlayers


class PlayersServicer:
    """`promontory.api.players.v1.PlayersService`."""

    def __init__(self, cases: PlayersCases, allowance: Allowance) -> None:
        self._export, self._forgetting, self._suspending = cases.export, cases.forgetting, cases.suspending
        self._allowance = allowance

    async def GetPlayer(self, request: pb.GetPlayerRequest, context: Context) -> pb.GetPlayerResponse:
        """Return the caller's player id, or that of a subject."""
        return pb.GetPlayerResponse(player_id=await self._export.find(caller(), request.subject))

    async def ExportPlayer(
        self, request: pb.ExportPlayerRequest, context: Context
    ) -> AsyncIterator[pb.ExportPlayerResponse]:
        """Stream all that is held about a player."""
        self._allowance.spend(caller())
        document = await self._export(caller(), request.player_id)
        for chunk in chunks([document]):
            yield pb.ExportPlayerResponse(chunk=chunk)

    async def ForgetPlayer(self, request: pb.ForgetPlayerRequest, context: Context) -> pb.ForgetPlayerResponse:
        """Forget a player, or tell how far it is."""
        self._allowance.spend(caller())
        forgetting = await self._forgetting.forget(caller(), request.player_id)
        return pb.ForgetPlayerResponse(forgetting=_message(forgetting))

    async def SuspendPlayer(self, request: pb.SuspendPlayerRequest, context: Context) -> pb.SuspendPlayerResponse:
        """Keep a player out for a while."""
        until_ms = request.until_time.ToMilliseconds()
        suspended = await self._suspending.suspend(caller(), request.player_id, until_ms)
        return pb.SuspendPlayerResponse(
            tickets_cancelled=suspended.tickets, tables_left=suspended.tables, known=suspended.known
        )

    async def RestorePlayer(self, request: pb.RestorePlayerRequest, context: Context) -> pb.RestorePlayerResponse:
        """Let a suspended player in again."""
        return pb.RestorePlayerResponse(restored=await self._suspending.restore(caller(), request.player_id))


def _message(forgetting: Forgetting) -> pb.Forgetting:
    return pb.Forgetting(
        player_id=forgetting.player,
        state=pb.FORGETTING_STATE_DONE if forgetting.is_done else pb.FORGETTING_STATE_IN_PROGRESS,
        request_time=timestamp(forgetting.requested_ms),
        complete_time=timestamp(forgetting.completed_ms) if forgetting.is_done else None,
        tickets_cancelled=forgetting.tickets,
        tables_left=forgetting.tables,
        matches_resigned=len(forgetting.resigned),
        pools=forgetting.pools,
        problem=forgetting.problem,
    )
