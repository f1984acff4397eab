"""The platform's other services, called under the admin service's own identity."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.match.v1 import match_pb2
from promontory.api.players.v1 import players_service_pb2 as players_pb
from promontory.api.replica.v1 import replica_service_pb2 as replica_pb
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.codec.times import timestamp
from promontory.games.registry import UnknownGameError, entry_of_match
from promontory.runtime.errors import Kind, Refusal, match_not_found
from promontory.runtime.identity import ServiceIdentity
from promontory.runtime.peers import Peer, addresses_of, peer_errors
from promontory.runtime.replica_servicer import REPLICA

_ANSWERS = {kind.value.name: kind for kind in (Kind.MALFORMED, Kind.NOT_FOUND, Kind.FORBIDDEN_NOW)}
"""The codes of what another service refuses for good; whatever else it says, it may do it another time."""
Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the addresses behind a name, or raises `OSError`."""
ANSWER_SECONDS = 3
"""How long a process has to tell what it is."""


class RulesServices:
    """The port `Rules`, over the channel to each game's service."""

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self._peers = peers
        self._stubs = {game: Stub(peer.channel, codec(game).service) for game, peer in peers.items()}

    async def look(self, match_id: str) -> match_pb2.Match:
        """Return how a match stands; see `Rules.look`."""
        response = await self._call(match_id, "GetMatch")
        match: match_pb2.Match = response.match
        return match

    async def cancel(self, match_id: str, note: str, *, request_id: str) -> None:
        """Cancel a match; see `Rules.cancel`."""
        await self._call(match_id, "CancelMatch", note=note, request_id=request_id)

    async def _call(self, match_id: str, method: str, **fields: Any) -> Any:
        game = game_of(match_id)
        if game not in self._peers:
            text = f"this server knows no address of the rules service of {game}: see PROMONTORY_RULES_TARGETS"
            raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", text, metadata={"peer": f"rules.{game}"})
        request = getattr(codec(game).messages, f"{method}Request")(match_id=match_id, **fields)
        with _answers(f"rules.{game}"):
            return await getattr(self._stubs[game], method)(request, **self._peers[game].call())


class PlayersService:
    """The port `Players`, over the channel to matchmaking."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._stub = peer, Stub(peer.channel, players_pb.DESCRIPTOR.services_by_name["PlayersService"])

    async def suspend(self, player_id: str, until_ms: int) -> bool:
        """Keep a player out; see `Players.suspend`."""
        request = players_pb.SuspendPlayerRequest(player_id=player_id, until_time=timestamp(until_ms))
        with _answers("players"):
            answer = await self._stub.SuspendPlayer(request, **self._peer.call())
        return bool(answer.known)

    async def restore(self, player_id: str) -> bool:
        """Let a player in again; see `Players.restore`."""
        request = players_pb.RestorePlayerRequest(player_id=player_id)
        with _answers("players"):
            answer = await self._stub.RestorePlayer(request, **self._peer.call())
        return bool(answer.restored)


class ReplicaServices:
    """The port `Replicas`: `targets` are the names of the services; nothing is called but what they `resolve` to."""

    def __init__(
        self, targets: Mapping[str, str], identity: ServiceIdentity, *, resolve: Resolve = addresses_of
    ) -> None:
        self._targets, self._identity, self._resolve = targets, identity, resolve

    async def found(self) -> Sequence[pb.ReplicaPlace]:
        """Return the processes behind the names; see `Replicas.found`."""
        behind = await asyncio.gather(*(self._behind(*each) for each in sorted(self._targets.items())))
        return [place for places in behind for place in places]

    async def drain(self, place: pb.ReplicaPlace) -> None:
        """Have a process stop; see `Replicas.drain`."""
        with _answers(f"{place.service} at {place.address}"):
            async with self._at(place.address) as (stub, call):
                await stub.Drain(replica_pb.DrainRequest(replica_id=place.replica.replica_id), **call)

    async def _behind(self, service: str, target: str) -> Sequence[pb.ReplicaPlace]:
        try:
            addresses = await self._resolve(target)
        except OSError as error:
            return [pb.ReplicaPlace(service=service, address=target, problem=f"nothing is found there: {error}")]
        return await asyncio.gather(*(self._asked(service, address) for address in addresses))

    async def _asked(self, service: str, address: str) -> pb.ReplicaPlace:
        try:
            with peer_errors(service):
                async with self._at(address) as (stub, call):
                    answer = await stub.GetReplica(replica_pb.GetReplicaRequest(), **call)
        except Refusal as refusal:
            problem = f"it does not tell: {refusal.metadata['reason'] or refusal.metadata['code']}"
            return pb.ReplicaPlace(service=service, address=address, problem=problem)
        return pb.ReplicaPlace(service=service, address=address, replica=answer.replica)

    @asynccontextmanager
    async def _at(self, address: str) -> AsyncIterator[tuple[Stub, dict[str, Any]]]:
        """Give what calls the process at `address` itself, and the keyword arguments of a call."""
        peer = Peer(address, self._identity)
        try:
            yield Stub(peer.channel, REPLICA), {**peer.call(), "timeout": ANSWER_SECONDS}
        finally:
            await peer.aclose()


def game_of(match_id: str) -> str:
    """Return the game of a match, or raise the refusal `MATCH_NOT_FOUND` if no game has such ids."""
    try:
        return entry_of_match(match_id).name
    except UnknownGameError as error:
        raise match_not_found(match_id) from error


@contextmanager
def _answers(peer: str) -> Iterator[None]:
    """Let what `peer` refuses for good be its own refusal."""
    try:
        with peer_errors(peer):
            yield
    except Refusal as refusal:
        kind, reason = _ANSWERS.get(str(refusal.metadata["code"])), str(refusal.metadata["reason"])
        if kind is None or not reason:
            raise
        raise Refusal(kind, reason, f"{peer} refuses it: {reason}", metadata={"peer": peer}) from refusal
