"""Matchmaking, scoring and lobby services that live in the test and say what little the SDK's tests need."""

# ruff: noqa: N802 - methods are named as in the protos

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.scoring.v1 import scoring_service_pb2 as scoring
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import caller
from tests.client.referee import NOON, SERVICE, Faults, Referee, cut_short

MATCHMAKING = pb.DESCRIPTOR.services_by_name["MatchmakingService"]
SCORING = scoring.DESCRIPTOR.services_by_name["ScoringService"]
LOBBY = lobby.DESCRIPTOR.services_by_name["LobbyService"]
POOL = "transcontinental.ranked"
LAST_PAGE = 3


class PoolKind(msgspec.Struct, frozen=True):
    """The matches that are played in a pool."""

    pool: str
    game: str
    seats: int


DUEL = PoolKind(POOL, "transcontinental", 2)


class Queue:
    """Gives every ticket the referee's match, as soon as `open` is set."""

    def __init__(self, faults: Faults, kind: PoolKind = DUEL) -> None:
        self.faults, self.kind = faults, kind
        self.open = asyncio.Event()
        self.tickets: dict[str, pb.Ticket] = {}
        self._requests: dict[str, pb.CreateTicketRequest] = {}

    async def ListPools(self, request: pb.ListPoolsRequest, context: Any) -> pb.ListPoolsResponse:
        kind = self.kind
        pool = pb.Pool(pool=kind.pool, game=kind.game, seats=kind.seats, rated=True, waiting=len(self.tickets))
        pool.house_bots_after.CopyFrom(Duration(seconds=20))
        return pb.ListPoolsResponse(pools=[pool, pb.Pool(pool="transcontinental.casual", game="transcontinental")])

    async def CreateTicket(self, request: pb.CreateTicketRequest, context: Any) -> pb.CreateTicketResponse:
        with self.faults.call("CreateTicket", request):
            assert self._requests.setdefault(request.request_id, request) == request
            if request.pool != self.kind.pool:
                raise Refusal(Kind.NOT_FOUND, "POOL_NOT_FOUND", "no such pool", metadata={"pool": request.pool})
            ticket = self.tickets.setdefault(f"t-{request.request_id}", self._waiting(f"t-{request.request_id}"))
            return pb.CreateTicketResponse(ticket=ticket)

    async def GetTicket(self, request: pb.GetTicketRequest, context: Any) -> pb.GetTicketResponse:
        return pb.GetTicketResponse(ticket=self._ticket(request.ticket_id))

    async def WatchTicket(self, request: pb.WatchTicketRequest, context: Any) -> AsyncIterator[pb.WatchTicketResponse]:
        with self.faults.call("WatchTicket", request):
            async for message in cut_short(self._watch(request.ticket_id), self.faults.next_cut()):
                yield message

    async def CancelTicket(self, request: pb.CancelTicketRequest, context: Any) -> pb.CancelTicketResponse:
        with self.faults.call("CancelTicket", request):
            ticket = self._ticket(request.ticket_id)
            ticket.state = pb.TICKET_STATE_CANCELLED
            ticket.ClearField("waiting")
            self.open.set()
            return pb.CancelTicketResponse(ticket=ticket)

    async def _watch(self, ticket_id: str) -> AsyncIterator[pb.WatchTicketResponse]:
        ticket = self._ticket(ticket_id)
        if ticket.state == pb.TICKET_STATE_WAITING:
            yield pb.WatchTicketResponse(ticket=ticket)
            yield pb.WatchTicketResponse(ticket=ticket)
            await self.open.wait()
        if ticket.state == pb.TICKET_STATE_WAITING:
            ticket.state = pb.TICKET_STATE_ASSIGNED
            ticket.ClearField("waiting")
            seat = Referee.players.index(ticket.player_id)
            ticket.assignment.CopyFrom(pb.Assignment(service=SERVICE.full_name, match_id=Referee.match_id, seat=seat))
        yield pb.WatchTicketResponse(ticket=ticket)

    def _ticket(self, ticket_id: str) -> pb.Ticket:
        if ticket_id not in self.tickets:
            raise Refusal(Kind.NOT_FOUND, "TICKET_NOT_FOUND", "no such ticket", metadata={"ticketId": ticket_id})
        return self.tickets[ticket_id]

    def _waiting(self, ticket_id: str) -> pb.Ticket:
        waiting = pb.Waiting(reason=pb.WAIT_REASON_POOL_EMPTY, lowest_rating=1400, highest_rating=1600)
        return pb.Ticket(
            ticket_id=ticket_id,
            pool=self.kind.pool,
            player_id=caller().subject,
            state=pb.TICKET_STATE_WAITING,
            rating=1500,
            create_time=NOON,
            waiting=waiting,
        )


class Scorer:
    """Knows a leaderboard of three pages, and everybody's first rating."""

    async def TallyMatch(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    async def GetRating(self, request: scoring.GetRatingRequest, context: Any) -> scoring.GetRatingResponse:
        return scoring.GetRatingResponse(rating=_rating(request.player_id))

    async def ListLeaderboard(
        self, request: scoring.ListLeaderboardRequest, context: Any
    ) -> scoring.ListLeaderboardResponse:
        page = int(request.page_token or 1)
        entry = scoring.LeaderboardEntry(rank=page, rating=_rating(f"player-{page}"), assured_points=1500 - page)
        return scoring.ListLeaderboardResponse(entries=[entry], next_page_token=_next(page))

    async def ListRatingHistory(
        self, request: scoring.ListRatingHistoryRequest, context: Any
    ) -> scoring.ListRatingHistoryResponse:
        page = int(request.page_token or 1)
        rating = _rating(request.player_id)
        change = ratings_pb2.RatingChange(player_id=request.player_id, place=1, score=100, before=rating, after=rating)
        entry = scoring.RatingHistoryEntry(match_id=f"tc-{page}", change=change, close_time=NOON)
        return scoring.ListRatingHistoryResponse(entries=[entry], next_page_token=_next(page))


class Lounge:
    """A lobby with one table."""

    async def CreateTable(self, request: lobby.CreateTableRequest, context: Any) -> lobby.CreateTableResponse:
        table = _table(request.game, request.seats, "ada")
        table.variant = request.variant
        return lobby.CreateTableResponse(table=table)

    async def JoinTable(self, request: lobby.JoinTableRequest, context: Any) -> lobby.JoinTableResponse:
        if request.invite_code != "OPENSEAT":
            raise Refusal(Kind.NOT_FOUND, "TABLE_NOT_FOUND", "no such table")
        return lobby.JoinTableResponse(table=_table("transcontinental", 2, "ada", caller().subject))

    async def GetTable(self, request: lobby.GetTableRequest, context: Any) -> lobby.GetTableResponse:
        return lobby.GetTableResponse(table=_table("transcontinental", 2, "ada"))

    async def ListMatches(self, request: lobby.ListMatchesRequest, context: Any) -> lobby.ListMatchesResponse:
        page = int(request.page_token or 1)
        entry = lobby.MatchEntry(match_id=f"tc-{page}", game="transcontinental", player_ids=["ada"], create_time=NOON)
        return lobby.ListMatchesResponse(matches=[entry], next_page_token=_next(page))


def _next(page: int) -> str:
    return str(page + 1) if page < LAST_PAGE else ""


def _rating(player: str) -> ratings_pb2.Rating:
    return ratings_pb2.Rating(player_id=player, mu=25, sigma=25 / 3, points=1500)


def _table(game: str, seats: int, *players: str) -> lobby.Table:
    match_id = Referee.match_id if len(players) == seats else ""
    return lobby.Table(
        table_id="table-1",
        invite_code="OPENSEAT",
        game=game,
        seats=seats,
        player_ids=players,
        match_id=match_id,
        create_time=NOON,
    )
