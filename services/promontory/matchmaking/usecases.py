"""What players and services can do with tickets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec

from promontory.matchmaking.changes import Changes
from promontory.matchmaking.domain import (
    NEW_PLAYER_POINTS,
    Entrant,
    Pool,
    Ticket,
    TicketState,
    derived_id,
    fingerprint_of,
)
from promontory.matchmaking.pools import Pools
from promontory.matchmaking.ports import AlreadyOpen, KeptOut, Queued, Ratings, RequestIdReused, Tickets, TooManyOpen
from promontory.matchmaking.room import RETRY_SECONDS, Room
from promontory.matchmaking.validation import checked_player, request_id_reused
from promontory.runtime import clock, metrics
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.forms import REQUEST_ID
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.limits import Limit, limit_reached
from promontory.runtime.players import player_suspended

RESEND_SECONDS = 5.0


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a ticket is created from; `house_bot` names the house bot to enter instead of the caller."""

    request_id: str
    pool: str
    entropy: bytes = b""
    house_bot: str = ""


class Standing(msgspec.Struct, frozen=True):
    """A ticket, its pool (None if it is served no longer), and how many others wait in it at `now_ms`."""

    ticket: Ticket
    pool: Pool | None
    others_waiting: int
    now_ms: int


class Queues:
    """The use cases of tickets, as far as players have `room`; a house bot may have a ticket in every pool."""

    def __init__(self, pools: Pools, tickets: Tickets, *, ratings: Ratings, changes: Changes, room: Room) -> None:
        self._pools, self._tickets, self._ratings = pools, tickets, ratings
        self._changes, self._room = changes, room

    async def pools(self) -> Sequence[tuple[Pool, int]]:
        """Return the pools in the order of the configuration, each with the number of tickets that wait."""
        return list(zip(self._pools.values(), await self._tickets.count_waiting(tuple(self._pools)), strict=True))

    async def create(self, caller: Caller, wish: Wish) -> Standing:
        """Enter the caller, or a house bot, into a pool's queue; the same wish again finds the same ticket."""
        pool = self._pool(wish.pool)
        entrant = _entrant(caller, pool, wish)
        ticket = derived_id("tk", caller.subject, REQUEST_ID.checked(wish.request_id, "request_id"))
        fingerprint = fingerprint_of(pool.id, entrant)
        known, open_matches = await self._tickets.before_creating(ticket, entrant.player)
        if known is not None and known.fingerprint != fingerprint:
            raise request_id_reused()
        if known is not None:
            return await self._standing(known)
        if not entrant.policy:
            self._room.require_few(open_matches)
        return self._shown(await self._enter(pool, entrant, ticket, fingerprint=fingerprint))

    async def _enter(self, pool: Pool, entrant: Entrant, ticket: str, *, fingerprint: str) -> Queued:
        rating = await self._ratings.points(pool.id, entrant.player) if pool.rated else NEW_PLAYER_POINTS
        wanted = Ticket(
            id=ticket,
            pool=pool.id,
            entrant=entrant,
            rating=rating,
            created_ms=clock.now_ms(),
            fingerprint=fingerprint,
        )
        try:
            created = await self._tickets.create(wanted, most_open=self._most_of(entrant))
        except RequestIdReused as error:
            raise request_id_reused() from error
        except KeptOut as error:
            raise player_suspended(error.until_ms) from error
        except AlreadyOpen as error:
            text = f"the player waits in {pool.id} already"
            metadata = {"ticketId": error.ticket, "pool": pool.id}
            raise Refusal(Kind.EXISTS, "TICKET_OPEN", text, metadata=metadata) from error
        except TooManyOpen as error:
            raise self._too_many() from error
        if created.ticket is wanted:
            metrics.TICKETS.labels(pool=pool.id, event="created").inc()
        return created

    def _most_of(self, entrant: Entrant) -> int:
        """Return how many open tickets `entrant` may have: a house bot one in every pool."""
        return len(self._pools) if entrant.policy else self._room.most_tickets

    async def find(self, caller: Caller, ticket: str) -> Standing:
        """Return a ticket of the caller's."""
        return await self._standing(await self._own(caller, ticket))

    async def watch(self, caller: Caller, ticket: str) -> AsyncIterator[Standing]:
        """Yield a ticket of the caller's as it is, when it changes, and every few seconds, until it is over."""
        with self._changes.watching(ticket) as bell:
            standing = await self.find(caller, ticket)
            yield standing
            while not standing.ticket.is_over:
                await bell.wait(RESEND_SECONDS)
                seen = await self._tickets.look(ticket, standing.ticket.pool)
                if seen is None:
                    raise _not_found(ticket)
                standing = self._shown(seen)
                yield standing

    async def cancel(self, caller: Caller, ticket: str) -> Standing:
        """Take a waiting ticket of the caller's out of the queue."""
        before = await self._own(caller, ticket)
        after = await self._tickets.cancel(ticket) or before
        if after.state is not TicketState.CANCELLED:
            text = f"the ticket is {after.state.value}"
            metadata = {"state": after.state.value, "ticketId": ticket}
            raise Refusal(Kind.FORBIDDEN_NOW, "TICKET_NOT_WAITING", text, metadata=metadata)
        if before.state is not after.state:
            metrics.TICKETS.labels(pool=after.pool, event="cancelled").inc()
        return await self._standing(after)

    async def _own(self, caller: Caller, ticket: str) -> Ticket:
        found = await self._tickets.find(ticket)
        if found is None:
            raise _not_found(ticket)
        if caller.subject != found.entrant.player and Scope.ENTER_HOUSE_BOT not in caller.scopes:
            text = "the ticket belongs to another player"
            raise Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", text, metadata={"ticketId": ticket})
        return found

    async def _standing(self, ticket: Ticket) -> Standing:
        (waiting,) = (0,) if ticket.is_over else await self._tickets.count_waiting((ticket.pool,))
        return self._shown(Queued(ticket, waiting))

    def _shown(self, queued: Queued) -> Standing:
        ticket = queued.ticket
        others = 0 if ticket.is_over else queued.waiting - (ticket.state is TicketState.WAITING)
        return Standing(ticket, self._pools.get(ticket.pool), max(0, others), clock.now_ms())

    def _pool(self, pool: str) -> Pool:
        if pool not in self._pools:
            text = f"no pool {pool!r}; there are {', '.join(self._pools)}"
            raise Refusal(Kind.NOT_FOUND, "POOL_NOT_FOUND", text, metadata={"pool": pool})
        return self._pools[pool]

    def _too_many(self) -> Refusal:
        text = f"the player has {self._room.most_tickets} open tickets, the most allowed"
        return limit_reached(Limit.TICKETS, self._room.most_tickets, text, retry_seconds=RETRY_SECONDS)


def _not_found(ticket: str) -> Refusal:
    return Refusal(Kind.NOT_FOUND, "TICKET_NOT_FOUND", "no such ticket", metadata={"ticketId": ticket})


def _entrant(caller: Caller, pool: Pool, wish: Wish) -> Entrant:
    if not wish.house_bot:
        caller.require(Scope.JOIN_POOL)
        if pool.bot(caller.subject):
            raise Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", "the player id belongs to a house bot")
        return checked_player(caller, wish.entropy)
    caller.require(Scope.ENTER_HOUSE_BOT)
    bot = pool.bot(wish.house_bot)
    if bot is None:
        raise malformed("house_bot", f"{pool.id} has no such house bot")
    if wish.entropy:
        raise malformed("client_entropy", "house bots bring none")
    return Entrant(bot.player, bot.policy)
