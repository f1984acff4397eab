"""Tickets and proposals in this process's memory: for tests, and for reading what the ports promise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from promontory.matchmaking.domain import Assignment, Made, Proposal, Ticket, TicketState
from promontory.matchmaking.listing import Listed, finished_by, listed, matches_of
from promontory.matchmaking.ports import AlreadyOpen, Change, KeptOut, Queued, RequestIdReused, TooManyOpen
from promontory.matchmaking.table import Table

LONGEST_LEASE = 4
LIST_LENGTH = 1000


class Memory:
    """What `MemoryTickets`, `MemoryTables` and `MemoryLists` share; `clock` gives ms since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.tickets: dict[str, Ticket] = {}
        self.proposals: dict[str, Proposal] = {}
        self.tables: dict[str, Table] = {}
        self.due: dict[str, float] = {}
        self.tries: dict[str, int] = {}
        self.lists: dict[str, dict[str, int]] = {}
        self.matches: dict[str, Listed] = {}
        self.gone: dict[str, int] = {}
        self.out: dict[str, int] = {}
        self.feed: list[Change] = []
        self.grown = asyncio.Condition()

    def is_out(self, player: str) -> bool:
        """Tell whether `player` is kept out."""
        return self.out.get(player, 0) > self.clock()

    def require_let_in(self, *players: str) -> None:
        """Raise `KeptOut` if one of `players` is kept out."""
        for player in players:
            if self.is_out(player):
                raise KeptOut(self.out[player])

    def lease(self, name: str, seconds: float) -> None:
        """Expect the proposal `name` to be made within `seconds`."""
        self.due[name] = self.clock() + seconds * 1000

    def settle(self, name: str) -> None:
        """Forget the proposal `name`."""
        self.proposals.pop(name, None)
        self.due.pop(name, None)
        self.tries.pop(name, None)

    def list(self, match: Listed, *, overwrites: bool = False) -> bool:
        """Put a match into the lists where it belongs; see `Lists.record`."""
        known = self.matches.get(match.match_id)
        if known and known.ended and not match.ended and not overwrites:
            return False
        before = {name: dict(entries) for name, entries in self.lists.items()}
        self.matches[match.match_id] = match
        made = {} if match.ended else dict.fromkeys(match.live_lists, match.created_ms)
        keepers = [player for player in match.keepers if match.created_ms > self.gone.get(player, -1)]
        made |= {matches_of(player): match.created_ms for player in keepers}
        ended = {finished_by(player): match.ended.closed_ms for player in keepers} if match.ended else {}
        self.unlist(match.match_id)
        for name, ms in (made | ended).items():
            self.lists.setdefault(name, {})[match.match_id] = ms
        for player in keepers:
            self._trim(player)
        is_told_anew = known != match and any(match.match_id in entries for entries in self.lists.values())
        return is_told_anew or before != self.lists

    def unlist(self, match_id: str) -> None:
        """Take a match from all lists."""
        for entries in self.lists.values():
            entries.pop(match_id, None)

    def _trim(self, player: str) -> None:
        made = self.lists[matches_of(player)]
        for old in sorted(made, key=lambda match: (made[match], match))[:-LIST_LENGTH]:
            del made[old]
            self.lists.get(finished_by(player), {}).pop(old, None)

    async def note(self, pool: str, *tickets: str, no_more: bool = False) -> None:
        """Tell of a change."""
        self.feed.append(Change(pool, tickets, no_more))
        async with self.grown:
            self.grown.notify_all()


class MemoryDoors:
    """The port `Doors` in memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def keep_out(self, player: str, until_ms: int) -> None:
        """Keep `player` out; see `Doors.keep_out`."""
        self._memory.out[player] = until_ms

    async def let_in(self, player: str) -> None:
        """Let `player` in again."""
        self._memory.out.pop(player, None)


class MemoryTickets:
    """The port `Tickets` in memory. Tickets that are over are kept."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def before_creating(self, ticket: str, player: str) -> tuple[Ticket | None, int]:
        """Return the ticket, and how many of the player's matches are open; see `Tickets.before_creating`."""
        made, closed = (self._memory.lists.get(name, {}) for name in (matches_of(player), finished_by(player)))
        return self._memory.tickets.get(ticket), len(made) - len(closed)

    async def create(self, ticket: Ticket, *, most_open: int) -> Queued:
        """Return `ticket`, put into its pool's queue; see `Tickets.create`."""
        known = self._memory.tickets.get(ticket.id)
        if known is not None:
            if known.fingerprint != ticket.fingerprint:
                raise RequestIdReused(ticket.id)
            return await self._queued(known)
        player = ticket.entrant.player
        self._memory.require_let_in(player)
        held = [each for each in self._memory.tickets.values() if each.entrant.player == player and not each.is_over]
        for each in held:
            if each.pool == ticket.pool:
                raise AlreadyOpen(each.id)
        if len(held) >= most_open:
            raise TooManyOpen(player)
        await self._keep(ticket)
        return await self._queued(ticket)

    async def _queued(self, ticket: Ticket) -> Queued:
        return Queued(ticket, len(await self.waiting(ticket.pool)))

    async def look(self, ticket: str, pool: str) -> Queued | None:
        """Return a ticket of `pool` with how many wait there; see `Tickets.look`."""
        found = self._memory.tickets.get(ticket)
        return await self._queued(found) if found else None

    async def _keep(self, *tickets: Ticket) -> None:
        self._memory.tickets |= {ticket.id: ticket for ticket in tickets}
        no_more = all(ticket.state is not TicketState.WAITING for ticket in tickets)
        await self._memory.note(tickets[0].pool, *(ticket.id for ticket in tickets), no_more=no_more)

    async def find(self, ticket: str) -> Ticket | None:
        """Return a ticket, or None."""
        return self._memory.tickets.get(ticket)

    async def of_player(self, player: str) -> Sequence[str]:
        """Return the tickets of the player that are not over."""
        found = self._memory.tickets.values()
        return [each.id for each in found if each.entrant.player == player and not each.is_over]

    async def cancel(self, ticket: str) -> Ticket | None:
        """Cancel a ticket if it waits; see `Tickets.cancel`."""
        found = self._memory.tickets.get(ticket)
        if found and found.state is TicketState.WAITING:
            await self._keep(msgspec.structs.replace(found, state=TicketState.CANCELLED))
        return self._memory.tickets.get(ticket)

    async def waiting(self, pool: str) -> Sequence[Ticket]:
        """Return the tickets that wait in `pool`."""
        found = self._memory.tickets.values()
        return [each for each in found if each.pool == pool and each.state is TicketState.WAITING]

    async def waiting_ids(self, pool: str) -> Collection[str]:
        """Return the ids of the tickets that wait in `pool`."""
        return [each.id for each in await self.waiting(pool)]

    async def still_waiting(self, pool: str, tickets: Sequence[str]) -> Sequence[Ticket]:
        """Return those of `tickets` that wait in `pool`."""
        return [each for each in await self.waiting(pool) if each.id in tickets]

    async def count_waiting(self, pools: Sequence[str]) -> Sequence[int]:
        """Return how many tickets wait in each of `pools`."""
        return [len(await self.waiting(pool)) for pool in pools]

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        """Move all of the proposal's tickets out of the queue, or none; see `Tickets.claim`."""
        if proposal.id in self._memory.proposals:
            return True
        tickets = [self._memory.tickets.get(ticket) for ticket in proposal.tickets]
        found = [each for each in tickets if each and each.state is TicketState.WAITING]
        if len(found) < len(tickets):
            return False
        self._memory.proposals[proposal.id] = proposal
        self._memory.lease(proposal.id, lease_seconds)
        await self._keep(*(msgspec.structs.replace(each, state=TicketState.PROPOSED) for each in found))
        return True

    async def assign(self, proposal: Proposal, made: Made) -> bool:
        """Give the proposal's tickets the match; see `Tickets.assign`."""
        if proposal.id not in self._memory.proposals:
            return False
        self._memory.settle(proposal.id)
        self._memory.list(listed(proposal, made))
        seats = [(seat, place.ticket) for seat, place in enumerate(proposal.places) if place.ticket]
        await self._keep(*(self._assigned(ticket, made, seat) for seat, ticket in seats))
        return True

    def _assigned(self, ticket: str, made: Made, seat: int) -> Ticket:
        found, assignment = self._memory.tickets[ticket], Assignment(made.service, made.match_id, seat)
        return msgspec.structs.replace(found, state=TicketState.ASSIGNED, assignment=assignment)

    async def release(self, proposal: Proposal, *, retry_at_ms: int) -> bool:
        """Put the proposal's tickets back into the queue; see `Tickets.release`."""
        if proposal.id not in self._memory.proposals:
            return False
        self._memory.settle(proposal.id)
        again = {"state": TicketState.WAITING, "refusals": proposal.refusals + 1, "retry_at_ms": retry_at_ms}
        await self._keep(*(self._given_back(self._memory.tickets[each], again) for each in proposal.tickets))
        return True

    def _given_back(self, ticket: Ticket, again: dict[str, Any]) -> Ticket:
        is_out = self._memory.is_out(ticket.entrant.player)
        return msgspec.structs.replace(ticket, **({"state": TicketState.CANCELLED} if is_out else again))

    async def take_overdue(self, *, limit: int, lease_seconds: float) -> Sequence[Proposal]:
        """Return proposals whose lease ended without a match; see `Tickets.take_overdue`."""
        now = self._memory.clock()
        names = sorted((name for name, end in self._memory.due.items() if end <= now), key=self._memory.due.__getitem__)
        for name in names[:limit]:
            self._memory.tries[name] = self._memory.tries.get(name, 0) + 1
            self._memory.lease(name, lease_seconds * min(self._memory.tries[name], LONGEST_LEASE))
        return [self._proposal(name) for name in names[:limit]]

    def _proposal(self, name: str) -> Proposal:
        found = self._memory.proposals.get(name)
        return found or self._memory.tables[name].proposal()

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Leave it to the feed; see `Tickets.listen`."""

    async def feed_end(self) -> str:
        """Return the cursor after which all changes from now on come."""
        return str(len(self._memory.feed))

    async def feed(self, cursor: str) -> tuple[str, Sequence[Change]]:
        """Return the changes after `cursor`; see `Tickets.feed`."""
        async with self._memory.grown:
            await self._memory.grown.wait_for(lambda: len(self._memory.feed) > int(cursor))
        return await self.feed_end(), self._memory.feed[int(cursor) :]
