"""What the admin service needs from the platform's other services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.match.v1 import match_pb2


class Rules(Protocol):
    """The rules services of all games. All methods may raise the refusal `PEER_UNAVAILABLE`."""

    async def look(self, match_id: str) -> match_pb2.Match:
        """Return how a match stands, as spectators may see it, or raise what its service refuses that with."""

    async def cancel(self, match_id: str, note: str, *, request_id: str) -> None:
        """Cancel a match, once for each request id, or raise what its service refuses that with."""


class Players(Protocol):
    """The service of players. All methods may raise the refusal `PEER_UNAVAILABLE`."""

    async def suspend(self, player_id: str, until_ms: int) -> bool:
        """Keep a player out until a time, in ms since the epoch; return whether anything is known of the player."""

    async def restore(self, player_id: str) -> bool:
        """Let a player in again; return whether the player was kept out."""


class Replicas(Protocol):
    """The processes that serve rules, matchmaking and scoring."""

    async def found(self) -> Sequence[pb.ReplicaPlace]:
        """Return those behind the names of the services, and what does not answer there, by service and address."""

    async def drain(self, place: pb.ReplicaPlace) -> None:
        """Have one of those that were found, and answered, stop.

        Raises the refusals `PEER_UNAVAILABLE`, and `REPLICA_UNKNOWN` if another process is there by now.
        """
