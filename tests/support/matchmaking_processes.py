"""Matchmaking inside a test, with rules and scoring services that the test holds in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import msgspec

from promontory.api.lobby.v1.lobby_service_pb2_grpc import LobbyServiceStub
from promontory.api.match.v1 import match_pb2
from promontory.api.matchmaking.v1.matchmaking_service_pb2_grpc import MatchmakingServiceStub
from promontory.api.players.v1.players_service_pb2_grpc import PlayersServiceStub
from promontory.api.scoring.v1 import ratings_pb2, scoring_service_pb2
from promontory.api.scoring.v1.scoring_service_pb2_grpc import ScoringServiceServicer
from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as game_pb
from promontory.api.transcontinental.v1.transcontinental_service_pb2_grpc import TranscontinentalServiceServicer
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.matchmaking.domain import Pool
from promontory.matchmaking.main import SCOPES, Stores, build
from promontory.matchmaking.redis_tickets import Server
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import caller
from promontory.runtime.peers import Peer
from promontory.runtime.server import cancel
from promontory.runtime.settings import MatchmakingSettings
from tests.support.serving import Keys, served

GAME_SERVICE = game_pb.DESCRIPTOR.services_by_name["TranscontinentalService"]
SCORING_SERVICE = scoring_service_pb2.DESCRIPTOR.services_by_name["ScoringService"]


class HeldRules(TranscontinentalServiceServicer):
    """A rules service that creates one match per request id, and none while there is a `fault`.

    Every creation sets `arrived`, and is held until `open` is set: before the match is created, or after it was if
    `holds_answers`. `matches` holds what was created, and is open until it is `over`.
    """

    def __init__(self) -> None:
        self.matches: dict[str, match_pb2.MatchSetup] = {}
        self.calls: list[str] = []
        self.arrived, self.open = asyncio.Event(), asyncio.Event()
        self.open.set()
        self.fault: Refusal | None = None
        self.holds_answers = False
        self.over: dict[str, match_pb2.Outcome] = {}

    async def CreateMatch(self, request: game_pb.CreateMatchRequest, context: Any) -> game_pb.CreateMatchResponse:  # type: ignore[override]  # noqa: N802
        """Create a match, once allowed."""
        caller().require("match:create")
        self.calls.append(request.request_id)
        if not self.holds_answers:
            await self._hold()
        if self.fault:
            raise self.fault
        first = self.matches.setdefault(request.request_id, request.setup)
        assert first == request.setup, "a creation was repeated with other content"
        if self.holds_answers:
            await self._hold()
        match = match_pb2.Match(match_id=f"tc-000-{request.request_id}")
        return game_pb.CreateMatchResponse(match=match)

    async def GetMatch(self, request: game_pb.GetMatchRequest, context: Any) -> game_pb.GetMatchResponse:  # type: ignore[override]  # noqa: N802
        """Return a match that was created."""
        request_id = request.match_id.removeprefix("tc-000-")
        if request_id not in self.matches:
            raise Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "no such match")
        setup = self.matches[request_id]
        seats = [match_pb2.Seat(player_id=seat.player_id, bot_policy=seat.bot_policy) for seat in setup.seats]
        match = match_pb2.Match(match_id=request.match_id, game="transcontinental", seats=seats, pool=setup.pool)
        match.outcome.CopyFrom(self.over[request_id]) if request_id in self.over else None
        match.time_control.CopyFrom(setup.time_control) if setup.HasField("time_control") else None
        return game_pb.GetMatchResponse(match=match)

    async def _hold(self) -> None:
        self.arrived.set()
        await self.open.wait()

    @property
    def players(self) -> list[str]:
        """The players of all matches."""
        return [seat.player_id for setup in self.matches.values() for seat in setup.seats]


class Scores(ScoringServiceServicer):
    """A scoring service in which everybody holds `points`."""

    def __init__(self, points: float = 1500.0) -> None:
        self.points = points

    async def GetRating(  # type: ignore[override]  # noqa: N802
        self, request: scoring_service_pb2.GetRatingRequest, context: Any
    ) -> scoring_service_pb2.GetRatingResponse:
        """Return the rating."""
        rating = ratings_pb2.Rating(player_id=request.player_id, points=self.points)
        return scoring_service_pb2.GetRatingResponse(rating=rating)


class Peers(msgspec.Struct):
    """The services that matchmaking calls, and their addresses."""

    rules: HeldRules
    scoring: Scores
    rules_address: str
    scoring_address: str


@asynccontextmanager
async def peers_served(keys: Keys) -> AsyncIterator[Peers]:
    """Serve a rules and a scoring service."""
    rules, scoring = HeldRules(), Scores()
    async with (
        served([(GAME_SERVICE, rules)], keys) as rules_address,
        served([(SCORING_SERVICE, scoring)], keys) as scoring_address,
    ):
        yield Peers(rules, scoring, rules_address, scoring_address)
        rules.open.set()


class Replica(msgspec.Struct):
    """A client's channels to one matchmaking process."""

    tickets: MatchmakingServiceStub
    tables: LobbyServiceStub
    players: PlayersServiceStub


def replica_at(channel: grpc.aio.Channel) -> Replica:
    """Return the stubs on `channel`."""
    return Replica(MatchmakingServiceStub(channel), LobbyServiceStub(channel), PlayersServiceStub(channel))


@asynccontextmanager
async def matchmaking_served(
    settings: MatchmakingSettings, pools: list[Pool], peers: Peers, keys: Keys
) -> AsyncIterator[Replica]:
    """Run a matchmaking process's inside, and give a client of it."""
    identity = keys.service("matchmaking", SCOPES)
    rules, scoring = Peer(peers.rules_address, identity), Peer(peers.scoring_address, identity)
    connections = connect(settings.redis_url)
    server = Server(connections.commands, blocking=connections.blocking)
    stores = Stores(server, RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms))
    service = build(
        settings, {pool.id: pool for pool in pools}, stores, rules={"transcontinental": rules}, scoring=scoring
    )
    async with AsyncExitStack() as stack:
        for closing in (connections.aclose, rules.aclose, scoring.aclose):
            stack.push_async_callback(closing)
        address = await stack.enter_async_context(served(service.servicers, keys))
        stack.push_async_callback(cancel, [asyncio.create_task(each) for each in service.beside])
        for draining in service.drain:
            stack.push_async_callback(draining)
        yield replica_at(await stack.enter_async_context(grpc.aio.insecure_channel(address)))
