"""Matchmaking, scoring and lobby services that live in the test and say what little the SDK's tests need."""

# ruff: noqa: N802 - methods are named as in the protos

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby
from promontory.api.match.v1 import match_pb2 as match
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
OUTCOME = match.Outcome(reason=match.CLOSE_REASON_RESIGNED, placements=[match.Placement(seat=0, place=1, score=100)])


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

    async def ForgetPlayer(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    async def GetRating(self, request: scoring.GetRatingRequest, context: Any) -> scoring.GetRatingResponse:
        return scoring.GetRatingResponse(rating=_rating(request.player_id or caller().subject))

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
        player_id = request.player_id or caller().subject
        rating = _rating(player_id)
        change = ratings_pb2.RatingChange(player_id=player_id, place=1, score=100, before=rating, after=rating)
        entry = scoring.RatingHistoryEntry(match_id=f"tc-{page}", change=change, close_time=NOON)
        return scoring.ListRatingHistoryResponse(entries=[entry], next_page_token=_next(page))


class Lounge:
    """A lobby with one table, which everybody may change, and lists of three pages."""

    def __init__(self) -> None:
        self.table = table("transcontinental", 2, "ada")
        self.requests: list[Any] = []
        self.ends_without_match = False

    async def CreateTable(self, request: lobby.CreateTableRequest, context: Any) -> lobby.CreateTableResponse:
        return lobby.CreateTableResponse(table=self._note(request, table(request.game, request.seats, "ada")))

    async def JoinTable(self, request: lobby.JoinTableRequest, context: Any) -> lobby.JoinTableResponse:
        if request.invite_code != "OPENSEAT":
            raise Refusal(Kind.NOT_FOUND, "TABLE_NOT_FOUND", "no such table")
        joined = table("transcontinental", 2, "ada", caller().subject)
        return lobby.JoinTableResponse(table=self._note(request, joined))

    async def LeaveTable(self, request: lobby.LeaveTableRequest, context: Any) -> lobby.LeaveTableResponse:
        return lobby.LeaveTableResponse(table=self._close(request, lobby.TABLE_CLOSE_REASON_EMPTY))

    async def SetReady(self, request: lobby.SetReadyRequest, context: Any) -> lobby.SetReadyResponse:
        self.table.places[0].readiness = request.readiness
        return lobby.SetReadyResponse(table=self._note(request, self.table))

    async def StartTable(self, request: lobby.StartTableRequest, context: Any) -> lobby.StartTableResponse:
        return lobby.StartTableResponse(table=self._note(request, table("transcontinental", 2, "ada", "bob")))

    async def KickGuest(self, request: lobby.KickGuestRequest, context: Any) -> lobby.KickGuestResponse:
        return lobby.KickGuestResponse(table=self._note(request, self.table))

    async def CloseTable(self, request: lobby.CloseTableRequest, context: Any) -> lobby.CloseTableResponse:
        return lobby.CloseTableResponse(table=self._close(request, lobby.TABLE_CLOSE_REASON_HOST_CLOSED))

    async def GetTable(self, request: lobby.GetTableRequest, context: Any) -> lobby.GetTableResponse:
        return lobby.GetTableResponse(table=self._note(request, self.table))

    async def WatchTable(
        self, request: lobby.WatchTableRequest, context: Any
    ) -> AsyncIterator[lobby.WatchTableResponse]:
        self.requests.append(request)
        yield lobby.WatchTableResponse(table=self.table)
        if self.ends_without_match:
            yield lobby.WatchTableResponse(end=lobby.TableStreamEnd(reason=lobby.TABLE_STREAM_END_REASON_LEFT))
            return
        yield lobby.WatchTableResponse(heartbeat=lobby.TableHeartbeat(revision=self.table.revision))
        if len(self.requests) == 1:
            end = lobby.TableStreamEnd(reason=lobby.TABLE_STREAM_END_REASON_SERVER_DRAINING, resumable=True)
            yield lobby.WatchTableResponse(end=end)
            return
        yield lobby.WatchTableResponse(table=self._note(request, table("transcontinental", 2, "ada", "bob")))
        yield lobby.WatchTableResponse(end=lobby.TableStreamEnd(reason=lobby.TABLE_STREAM_END_REASON_STARTED))

    async def ListTables(self, request: lobby.ListTablesRequest, context: Any) -> lobby.ListTablesResponse:
        return lobby.ListTablesResponse(tables=[self.table])

    async def RequestRematch(self, request: lobby.RequestRematchRequest, context: Any) -> lobby.RequestRematchResponse:
        self.table.rematch_of = request.match_id
        return lobby.RequestRematchResponse(table=self._note(request, self.table))

    async def DeclineRematch(self, request: lobby.DeclineRematchRequest, context: Any) -> lobby.DeclineRematchResponse:
        return lobby.DeclineRematchResponse(table=self._close(request, lobby.TABLE_CLOSE_REASON_DECLINED))

    async def ListMatches(self, request: lobby.ListMatchesRequest, context: Any) -> lobby.ListMatchesResponse:
        entries, token = self._page(request)
        return lobby.ListMatchesResponse(matches=entries, next_page_token=token)

    async def ListLiveMatches(
        self, request: lobby.ListLiveMatchesRequest, context: Any
    ) -> lobby.ListLiveMatchesResponse:
        entries, token = self._page(request)
        return lobby.ListLiveMatchesResponse(matches=entries, next_page_token=token)

    async def ListPlayerMatches(
        self, request: lobby.ListPlayerMatchesRequest, context: Any
    ) -> lobby.ListPlayerMatchesResponse:
        entries, token = self._page(request)
        entries[0].seat, entries[0].state = 0, match.MATCH_STATE_CLOSED
        entries[0].outcome.CopyFrom(OUTCOME)
        entries[0].close_time.CopyFrom(NOON)
        return lobby.ListPlayerMatchesResponse(matches=entries, next_page_token=token)

    async def RecordClosedMatch(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    def _note(self, request: Any, changed: lobby.Table) -> lobby.Table:
        self.requests.append(request)
        changed.revision = self.table.revision + 1
        self.table = changed
        return changed

    def _close(self, request: Any, reason: Any) -> lobby.Table:
        self.table.state, self.table.close_reason = lobby.TABLE_STATE_CLOSED, reason
        return self._note(request, self.table)

    def _page(self, request: Any) -> tuple[list[lobby.MatchEntry], str]:
        self.requests.append(request)
        page = int(request.page_token or 1)
        entry = lobby.MatchEntry(
            match_id=f"tc-{page}",
            game="transcontinental",
            player_ids=["ada"],
            create_time=NOON,
            state=match.MATCH_STATE_OPEN,
        )
        return [entry], _next(page)


def _next(page: int) -> str:
    return str(page + 1) if page < LAST_PAGE else ""


def _rating(player: str) -> ratings_pb2.Rating:
    return ratings_pb2.Rating(player_id=player, mu=25, sigma=25 / 3, points=1500)


def table(game: str, seats: int, *players: str) -> lobby.Table:
    """Return a table of `players`, whose match has begun if all seats are taken."""
    is_full = len(players) == seats
    places = [lobby.TableSeat(seat=seat, player_id=player, kind=1, readiness=3) for seat, player in enumerate(players)]
    return lobby.Table(
        table_id="table-1",
        revision=1,
        state=lobby.TABLE_STATE_STARTED if is_full else lobby.TABLE_STATE_OPEN,
        invite_code="OPENSEAT",
        host_id="ada",
        game=game,
        seats=seats,
        player_ids=players,
        places=places,
        your_seat=0,
        match_id=Referee.match_id if is_full else "",
        create_time=NOON,
    )
