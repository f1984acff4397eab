"""Players: their ids, what the platform holds about them, and having them forgotten."""

from __future__ import annotations

from datetime import datetime

import msgspec

from promontory.api.players.v1 import players_service_pb2 as pb
from promontory.client.connection import Connection, Remote
from promontory.codec.times import time_of

PLAYERS = pb.DESCRIPTOR.services_by_name["PlayersService"]


class Forgetting(msgspec.Struct, frozen=True):
    """How far the forgetting of a player is; what is left to do goes on by itself.

    `pools` are those whose leaderboards the player was taken from. `problem` is the reason for which the last attempt
    at the rest failed, empty if it did not.
    """

    player_id: str
    is_done: bool
    request_time: datetime
    complete_time: datetime | None
    tickets_cancelled: int
    tables_left: int
    matches_resigned: int
    pools: tuple[str, ...]
    problem: str


class Players:
    """The service of players."""

    def __init__(self, connection: Connection) -> None:
        self._remote = Remote(connection, PLAYERS)

    async def player_id(self, subject: str = "") -> str:
        """Return the caller's player id; for services: that of a subject. Raises `NotFound`."""
        answer = await self._remote.call("GetPlayer", pb.GetPlayerRequest(subject=subject))
        return str(answer.player_id)

    async def export(self, player: str = "") -> bytes:
        """Return all that the platform holds about `player`, or the caller, as a JSON document."""
        return await self._remote.whole("ExportPlayer", pb.ExportPlayerRequest(player_id=player))

    async def forget(self, player: str) -> Forgetting:
        """Have `player` forgotten, or see how far that is."""
        answer = await self._remote.call("ForgetPlayer", pb.ForgetPlayerRequest(player_id=player))
        return _forgetting_of(answer.forgetting)


def _forgetting_of(message: pb.Forgetting) -> Forgetting:
    return Forgetting(
        player_id=message.player_id,
        is_done=message.state == pb.FORGETTING_STATE_DONE,
        request_time=time_of(message.request_time),
        complete_time=time_of(message.complete_time) if message.HasField("complete_time") else None,
        tickets_cancelled=message.tickets_cancelled,
        tables_left=message.tables_left,
        matches_resigned=message.matches_resigned,
        pools=tuple(message.pools),
        problem=message.problem,
    )
