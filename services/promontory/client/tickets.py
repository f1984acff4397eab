"""Waiting for a match: pools, and tickets in their queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.client.clocks import TimeControl, time_control_of
from promontory.client.connection import Connection, Remote
from promontory.client.errors import PromontoryError, TicketCancelled, understanding
from promontory.client.matches import known
from promontory.client.seats import GameRemote, Seat
from promontory.codec.mapping import StructMapping
from promontory.codec.times import span_of, time_of
from promontory.games.registry import GAMES, GameEntry, UnknownGameError

MATCHMAKING = pb.DESCRIPTOR.services_by_name["MatchmakingService"]
CANCEL_SECONDS = 5


class TicketState(StrEnum):
    """Where a ticket stands."""

    WAITING = "waiting"
    PROPOSED = "proposed"
    ASSIGNED = "assigned"
    CANCELLED = "cancelled"


class WaitReason(StrEnum):
    """Why a ticket still waits: nobody else is there, all others are too strong or weak, the match is being made."""

    POOL_EMPTY = "pool_empty"
    OUTSIDE_WINDOW = "outside_window"
    CREATING_MATCH = "creating_match"


class Pool(msgspec.Struct, frozen=True):
    """A queue and the kind of match it leads to: the game, how many seats, whether it counts for ratings.

    `house_bots_after` is how long a ticket waits before a house bot may take a free seat, None if none ever does;
    `waiting` is how many tickets wait now; `variant` is the way its matches are played, the usual one if empty. The
    policy `stand_in` plays on for those who leave, the game's own rule if it is empty; one who is to act may be gone
    for `abandon_after`, for ever if None; spectators are `spectator_delay` commits behind.
    """

    pool: str
    game: str
    seats: int
    rated: bool
    house_bots_after: timedelta | None
    waiting: int
    variant: str = ""
    time_control: TimeControl | None = None
    stand_in: str = ""
    abandon_after: timedelta | None = None
    spectator_delay: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """Why a ticket waits, the ratings it now accepts (in rating points), and how many others wait in the pool.

    `house_bots_time` is when a house bot may fill the seat (UTC), None if none ever does.
    """

    reason: WaitReason
    lowest_rating: float
    highest_rating: float
    others_waiting: int
    house_bots_time: datetime | None


class Assignment(msgspec.Struct, frozen=True):
    """The match a ticket got: the gRPC service that referees it, its id, and the player's seat from 0."""

    service: str
    match_id: str
    seat: int


class TicketUpdate(msgspec.Struct, frozen=True):
    """A ticket as it stands: `waiting` says what for, `assignment` which match it got; `rating` is in rating points."""

    ticket_id: str
    pool: str
    player_id: str
    state: TicketState
    rating: float
    create_time: datetime
    waiting: Waiting | None
    assignment: Assignment | None

    @property
    def is_settled(self) -> bool:
        """Whether the ticket waits for nothing any more."""
        return self.state in {TicketState.ASSIGNED, TicketState.CANCELLED}


class Ticket:
    """A place in a pool's queue.

    ticket = await client.enter("transcontinental.ranked")
    async for update in ticket:
        print(update.state, update.waiting)
    seated = await ticket.seat()
    """

    def __init__(self, connection: Connection, ticket_id: str) -> None:
        self.ticket_id = ticket_id
        self._connection = connection
        self._remote = Remote(connection, MATCHMAKING)

    async def look(self) -> TicketUpdate:
        """Return the ticket as it is now."""
        answer = await self._remote.call("GetTicket", pb.GetTicketRequest(ticket_id=self.ticket_id))
        return _ticket_of(answer.ticket)

    async def updates(self) -> AsyncGenerator[TicketUpdate]:
        """Yield the ticket as it is now, then whenever it changes, until it has got a match or is cancelled."""
        patience = self._remote.patience()
        request = pb.WatchTicketRequest(ticket_id=self.ticket_id)
        last: TicketUpdate | None = None
        async with aclosing(self._remote.resuming("WatchTicket", lambda: request, patience)) as messages:
            async for message in messages:
                update = _ticket_of(message.ticket)
                if update != last:
                    last = update
                    yield update
                if update.is_settled:
                    return
                patience.renew()

    def __aiter__(self) -> AsyncIterator[TicketUpdate]:
        return self.updates()

    async def assignment(self) -> Assignment:
        """Wait for the match and return which it is. Raises `TicketCancelled` if the ticket is cancelled."""
        async with aclosing(self.updates()) as updates:
            async for update in updates:
                if update.assignment is not None:
                    return update.assignment
        metadata = {"ticketId": self.ticket_id}
        raise TicketCancelled("the ticket was cancelled", reason="TICKET_CANCELLED", metadata=metadata)

    async def seat(self) -> Seat:
        """Wait for the match and return the seat in it. Raises `TicketCancelled` if the ticket is cancelled."""
        assigned = await self.assignment()
        game = GameRemote(self._connection, game_of_service(assigned.service))
        return Seat(game, assigned.match_id, assigned.seat)

    async def seat_or_leave(self) -> Seat:
        """Wait for the match like `seat`; if the waiting task is cancelled, cancel the ticket with it.

        Whoever stops waiting is not seated in a match that nobody plays, unless it has just been made.
        """
        try:
            return await self.seat()
        except asyncio.CancelledError:
            with suppress(PromontoryError, TimeoutError):
                await asyncio.wait_for(self.cancel(), CANCEL_SECONDS)
            raise

    async def cancel(self) -> TicketUpdate:
        """Take the ticket out of the queue; cancelling it again changes nothing.

        Raises `FailedPrecondition` when it has got a match.
        """
        answer = await self._remote.call("CancelTicket", pb.CancelTicketRequest(ticket_id=self.ticket_id))
        return _ticket_of(answer.ticket)


def game_of_service(service: str) -> GameEntry:
    """Return the game that the service with this full name referees. Raises `UnknownGameError` if none does."""
    for game in GAMES:
        if game.service == service:
            return game
    raise UnknownGameError(f"no game is refereed by {service!r}; update promontory")


def pool_of(message: Any) -> Pool:
    """Return the struct of a `Pool`. Raises `Incompatible` if it says what the SDK does not know."""
    with understanding():
        return Pool(
            pool=message.pool,
            game=message.game,
            seats=message.seats,
            rated=message.rated,
            house_bots_after=span_of(message.house_bots_after) if message.HasField("house_bots_after") else None,
            waiting=message.waiting,
            variant=message.variant,
            time_control=time_control_of(message),
            stand_in=message.stand_in_policy,
            abandon_after=span_of(message.abandon_after) if message.HasField("abandon_after") else None,
            spectator_delay=message.spectator_delay,
        )


_ASSIGNMENT = StructMapping(Assignment, pb.Assignment)
_STATES: dict[int, TicketState] = {pb.TicketState.Value(f"TICKET_STATE_{state.name}"): state for state in TicketState}
_REASONS: dict[int, WaitReason] = {pb.WaitReason.Value(f"WAIT_REASON_{reason.name}"): reason for reason in WaitReason}


def _ticket_of(message: Any) -> TicketUpdate:
    with understanding():
        return TicketUpdate(
            ticket_id=message.ticket_id,
            pool=message.pool,
            player_id=message.player_id,
            state=known(_STATES, message.state, "state"),
            rating=message.rating,
            create_time=time_of(message.create_time),
            waiting=_waiting_of(message.waiting) if message.HasField("waiting") else None,
            assignment=_ASSIGNMENT.decode(message.assignment) if message.HasField("assignment") else None,
        )


def _waiting_of(message: Any) -> Waiting:
    return Waiting(
        reason=known(_REASONS, message.reason, "waiting.reason"),
        lowest_rating=message.lowest_rating,
        highest_rating=message.highest_rating,
        others_waiting=message.others_waiting,
        house_bots_time=time_of(message.house_bots_time) if message.HasField("house_bots_time") else None,
    )
