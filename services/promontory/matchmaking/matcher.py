"""The matcher: pairs on arrival and at intervals, claims atomically, and completes what a replica left unfinished."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress

import msgspec
import structlog

from promontory.eventlog.port import EventLogUnavailable
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.domain import Pool, Proposal, Ticket
from promontory.matchmaking.pairing import Group, RatedBot, pair
from promontory.matchmaking.pools import Pools
from promontory.matchmaking.ports import Change, Tickets
from promontory.runtime import clock, metrics

log = structlog.get_logger()

REREAD_SECONDS = 5.0
OVERDUE_PROPOSALS = 64
LAST_CREATIONS_SECONDS = 5.0

Bots = Callable[[Pool], Sequence[RatedBot]]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often pools are matched, and how long whoever claimed tickets may take to get their match made."""

    interval_seconds: float
    lease_seconds: float


class Matcher:
    """Matches the tickets of `pools`. Any number of matchers may do so side by side: a claim takes all or nothing."""

    def __init__(self, pools: Pools, tickets: Tickets, *, creation: Creation, bots: Bots, pace: Pace) -> None:
        self._pools, self._tickets, self._creation, self._bots, self._pace = pools, tickets, creation, bots, pace
        self._queues: dict[str, dict[str, Ticket]] = {}
        self._read_at: dict[str, float] = {}
        self._stale = set(pools)
        self._changed: dict[str, set[str]] = {}
        self._bell = asyncio.Event()
        self._creations: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    def ring(self, change: Change) -> None:
        """Match a pool now: its queue has changed."""
        if change.tickets:
            self._note(change.pool, change.tickets)
        else:
            self._stale.add(change.pool)
        self._bell.set()

    def _note(self, pool: str, tickets: Collection[str]) -> None:
        self._changed.setdefault(pool, set()).update(tickets)

    async def run(self) -> None:
        """Match pools that have changed at once, and all at every interval (windows widen), until cancelled."""
        round_at = clock.monotonic()
        while True:
            with suppress(TimeoutError):
                # Not wait_for, which loses a cancellation that comes as the bell rings (Python 3.11).
                async with asyncio.timeout(round_at - clock.monotonic()):
                    await self._bell.wait()
            self._bell.clear()
            is_round = clock.monotonic() >= round_at
            if is_round:
                round_at = clock.monotonic() + self._pace.interval_seconds
            for pool in self._pools.values():
                if is_round or pool.id in self._stale or pool.id in self._changed:
                    await self._survive(self._look_after(pool, is_round=is_round))

    async def run_recovery(self) -> None:
        """Complete overdue proposals until cancelled."""
        while True:
            await self._survive(self.recover())
            await asyncio.sleep(self._pace.lease_seconds / 4)

    async def _survive(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except EventLogUnavailable as error:
            log.warning("matching_delayed", cause=str(error))
            await asyncio.sleep(self._pace.interval_seconds)

    async def _look_after(self, pool: Pool, *, is_round: bool) -> None:
        """Match `pool`, between rounds only if tickets have come: from one that left no match ever follows."""
        if await self._read(pool.id) or is_round:
            await self._match(pool)

    async def match(self, pool: Pool) -> None:
        """Pair the tickets that wait in `pool`, and claim the groups."""
        await self._read(pool.id)
        await self._match(pool)

    async def _match(self, pool: Pool) -> None:
        queue = tuple(self._queues[pool.id].values())
        groups = () if self._stopping else pair(pool, queue, clock.now_ms(), self._bots(pool))
        await asyncio.gather(*(self._propose(pool, group) for group in groups))

    async def _read(self, pool: str) -> bool:
        """Read what has changed of the pool's queue, or all of it if nobody knows that, or a while ago.

        Return whether tickets may have come. A read that fails is made up for by the next, which is of all.
        """
        changed, read_at, now = self._changed.pop(pool, set()), self._read_at.pop(pool, 0.0), clock.monotonic()
        is_known = pool not in self._stale and now <= read_at + REREAD_SECONDS
        if is_known:
            found = await self._tickets.still_waiting(pool, sorted(changed)) if changed else ()
        else:
            self._stale.discard(pool)
            found, read_at = await self._tickets.waiting(pool), now
        queue = self._queues[pool] if is_known else {}
        for ticket in changed:
            queue.pop(ticket, None)
        queue.update((ticket.id, ticket) for ticket in found)
        self._queues[pool], self._read_at[pool] = queue, read_at
        if changed or not is_known:
            _show(pool, queue.values())
        return bool(found)

    async def _propose(self, pool: Pool, group: Group) -> None:
        """Claim the tickets of `group`; if all still wait, get their match made in the background."""
        proposal = Proposal(
            id=f"pr-{secrets.token_hex(16)}",
            pool=pool.id,
            game=pool.game,
            rated=pool.rated,
            draw_start=pool.draw_start,
            variant=pool.variant,
            terms=pool.terms,
            places=group,
        )
        self._note(pool.id, proposal.tickets)
        if await self._tickets.claim(proposal, lease_seconds=self._pace.lease_seconds):
            self._begin(proposal)

    async def recover(self) -> None:
        """Take up proposals that nobody has completed in time."""
        limit = 0 if self._stopping else OVERDUE_PROPOSALS
        for proposal in await self._tickets.take_overdue(limit=limit, lease_seconds=self._pace.lease_seconds):
            log.warning("proposal_overdue", proposal=proposal.id, pool=proposal.pool)
            self._begin(proposal)

    def _begin(self, proposal: Proposal) -> None:
        if proposal.id not in self._creations:
            task = asyncio.create_task(self._creation.attempt(proposal))
            self._creations[proposal.id] = task
            task.add_done_callback(lambda _: self._creations.pop(proposal.id))

    async def drain(self) -> None:
        """Claim no more, and finish what was begun; what takes too long another replica takes up."""
        self._stopping = True
        if self._creations:
            await asyncio.wait(self._creations.values(), timeout=LAST_CREATIONS_SECONDS)


def _show(pool: str, queue: Collection[Ticket]) -> None:
    first_ms = min((ticket.created_ms for ticket in queue), default=clock.now_ms())
    metrics.TICKETS_OPEN.labels(pool=pool).set(len(queue))
    metrics.OLDEST_TICKET_SECONDS.labels(pool=pool).set(max(0, clock.now_ms() - first_ms) / 1000)
