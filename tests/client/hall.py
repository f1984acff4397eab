"""The real rules service of a game on a log in memory, and a queue that seats whoever waits together."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from promontory import AsyncClient, Update, VersionConflict
from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.match.v1 import match_pb2
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.scoring.v1 import scoring_service_pb2 as scoring_pb
from promontory.bots.registry import policy
from promontory.client.seats import Seat
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import EventLog
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.main import compose
from promontory.rules.records import setup_message
from promontory.rules.ruleset import load_ruleset
from promontory.rules.seal import create_seal_key
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import PLAYER_SCOPES, caller
from promontory.runtime.server import Service
from promontory.runtime.settings import RulesSettings
from tests.client.conftest import HASTY
from tests.client.referee import Faults
from tests.client.services import DUEL, LOBBY, MATCHMAKING, SCORING, Lounge, PoolKind, Queue, Scorer
from tests.support.serving import Keys, served

Servicer = tuple[ServiceDescriptor, object]


class PairingQueue(Queue):
    """Seats as many tickets as a match takes in one of their own; a player waits with one ticket at a time."""

    def __init__(self, keys: Keys, kind: PoolKind) -> None:
        super().__init__(Faults(), kind)
        self.address: str
        self._keys = keys
        self._changed = asyncio.Condition()

    async def CreateTicket(  # noqa: N802
        self, request: pb.CreateTicketRequest, context: Any
    ) -> pb.CreateTicketResponse:
        """Enter the caller; the last one to come makes the match."""
        for ticket in self.waiting():
            if ticket.player_id == caller().subject:
                metadata = {"ticketId": ticket.ticket_id}
                raise Refusal(Kind.EXISTS, "TICKET_OPEN", "you wait already", metadata=metadata)
        response = await super().CreateTicket(request, context)
        if len(self.waiting()) == self.kind.seats:
            await self._seat(self.waiting())
        return response

    def waiting(self) -> list[pb.Ticket]:
        """Return the tickets that wait, the oldest first."""
        return [ticket for ticket in self.tickets.values() if ticket.state == pb.TICKET_STATE_WAITING]

    async def _seat(self, tickets: list[pb.Ticket]) -> None:
        seats = tuple(SeatSetup(ticket.player_id) for ticket in tickets)
        setup, service = Setup(seats, pool=self.kind.pool, rated=True), codec(self.kind.game).service.full_name
        match_id = await create(self.address, self._keys, setup, game=self.kind.game)
        for seat, ticket in enumerate(tickets):
            ticket.state = pb.TICKET_STATE_ASSIGNED
            ticket.ClearField("waiting")
            ticket.assignment.CopyFrom(pb.Assignment(service=service, match_id=match_id, seat=seat))
        async with self._changed:
            self._changed.notify_all()

    async def _watch(self, ticket_id: str) -> AsyncIterator[pb.WatchTicketResponse]:
        ticket = self._ticket(ticket_id)
        yield pb.WatchTicketResponse(ticket=ticket)
        async with self._changed:
            await self._changed.wait_for(lambda: ticket.state != pb.TICKET_STATE_WAITING)
        yield pb.WatchTicketResponse(ticket=ticket)


class MatchList(Lounge):
    """Lists the matches that the queue has made."""

    def __init__(self, queue: PairingQueue) -> None:
        super().__init__()
        self._queue, self._kind = queue, queue.kind

    async def ListMatches(  # noqa: N802
        self, request: lobby_pb.ListMatchesRequest, context: Any
    ) -> lobby_pb.ListMatchesResponse:
        """List the caller's matches."""
        entries = [
            lobby_pb.MatchEntry(
                match_id=ticket.assignment.match_id,
                game=self._kind.game,
                pool=self._kind.pool,
                seat=ticket.assignment.seat,
                state=match_pb2.MATCH_STATE_OPEN,
            )
            for ticket in self._queue.tickets.values()
            if ticket.player_id == caller().subject and ticket.HasField("assignment")
        ]
        return lobby_pb.ListMatchesResponse(matches=entries)


class HastyScorer(Scorer):
    """Counts a match, worth a point, each time it is asked for a player's rating, while it is `counting`."""

    def __init__(self) -> None:
        self.counting = True
        self._matches: Counter[str] = Counter()

    async def GetRating(  # noqa: N802
        self, request: scoring_pb.GetRatingRequest, context: Any
    ) -> scoring_pb.GetRatingResponse:
        """Return the rating of a player."""
        player_id = request.player_id or caller().subject
        self._matches[player_id] += self.counting
        matches = self._matches[player_id]
        rating = ratings_pb2.Rating(player_id=player_id, mu=25, sigma=8, points=1500 + matches, matches=matches)
        return scoring_pb.GetRatingResponse(rating=rating)


class Hall:
    """Where bots meet."""

    def __init__(self, address: str, keys: Keys, queue: PairingQueue, *, scorer: HastyScorer) -> None:
        self.address, self.keys, self.queue, self.scorer = address, keys, queue, scorer

    def client(self, player: str) -> AsyncClient:
        """Return a client of `player`."""
        return client_of(self.address, self.keys, player)


def client_of(address: str, keys: Keys, player: str) -> AsyncClient:
    """Return a client of `player` for all that is served at `address`."""
    token = keys.players.mint(player, PLAYER_SCOPES, life=timedelta(minutes=5))
    return AsyncClient(address, token=token, timing=HASTY, retry_seconds=5)


async def create(address: str, keys: Keys, setup: Setup, *, game: str) -> str:
    """Return the id of a new match."""
    found = codec(game)
    request = found.messages.CreateMatchRequest(request_id=uuid.uuid4().hex, setup=setup_message(setup))
    async with grpc.aio.insecure_channel(address) as channel:
        answer = await Stub(channel, found.service).CreateMatch(request, metadata=keys.as_service("match:create"))
    match_id: str = answer.match.match_id
    return match_id


async def play(seated: Seat, noted: list[Update], *, policy_name: str = "random") -> int:
    """Play a seat to the end of its match, noting all updates, and return how often others were quicker."""
    choose, rng, conflicts = policy(await seated.rules(), policy_name), Random(seated.seat), 0
    async for update in seated:
        noted.append(update)
        if update.your_turn:
            try:
                await seated.submit(choose(update.view, rng), expected_version=update.version)
            except VersionConflict:
                conflicts += 1
    return conflicts


def replica(keys: Keys, log: EventLog, *, game: str = DUEL.game, data: Sequence[bytes] = ()) -> Service:
    """Return the rules service on `log`, as one of its processes serves it with the operator's files `data`."""
    seal_key_file = keys.directory / "seal.key"
    if not seal_key_file.exists():
        create_seal_key(seal_key_file)
    settings = RulesSettings(buckets=1, seal_key_file=seal_key_file)
    return compose(load_ruleset(game, data), log, settings)


@asynccontextmanager
async def running(service: Service, keys: Keys, *others: Servicer, listen: str = "127.0.0.1:0") -> AsyncIterator[str]:
    """Serve `service`, and `others` with it; at the end drain it as a process does that is told to stop."""
    tasks = [asyncio.create_task(each) for each in service.beside]
    async with served([*service.servicers, *others], keys, listen=listen) as address:
        yield address
        for drain in service.drain:
            await drain()
    [task.cancel() for task in tasks]
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def open_hall(
    keys: Keys, *, kind: PoolKind = DUEL, log: EventLog | None = None, wrap_rules: Callable[[Any], Any] | None = None
) -> AsyncIterator[Hall]:
    """Serve a hall where matches of one kind are played; `wrap_rules` may put something around the rules."""
    service = replica(keys, log or MemoryEventLog(), game=kind.game)
    if wrap_rules:
        service = replace(service, servicers=[(each, wrap_rules(rules)) for each, rules in service.servicers])
    queue, scorer = PairingQueue(keys, kind), HastyScorer()
    others = ((MATCHMAKING, queue), (LOBBY, MatchList(queue)), (SCORING, scorer))
    async with running(service, keys, *others) as address:
        queue.address = address
        yield Hall(address, keys, queue, scorer=scorer)
