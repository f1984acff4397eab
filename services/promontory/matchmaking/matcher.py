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
from promontory.matchmaking.filling import RatedBot
from promontory.matchmaking.pairing import Line
from promontory.matchmaking.pools import Pools
from promontory.matchmaking.ports import Change, Tickets
from promontory.matchmaking.stretch import Group
from promontory.runtime import clock, metrics

log = structlog.get_logger()

COMPARE_SECONDS = 5.0
OVERDUE_PROPOSALS = 64
CREATIONS_AT_ONCE = 64
"""How many matches of a game are being created at a time; of thousands at once most would be answered too late."""

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
        self._lines = {pool.id: Line(pool) for pool in pools.values()}
        self._compared_at: dict[str, float] = {}
        self._stale = set(pools)
        self._arrived: dict[str, list[Ticket]] = {}
        self._came: dict[str, set[str]] = {}
        self._gone: dict[str, set[str]] = {}
        self._bell = asyncio.Event()
        self._creations: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._stopping = False

    def ring(self, change: Change) -> None:
        """Match a pool now: tickets have come to its queue, or have gone that a claim has failed for."""
        if not change.tickets:
            self._stale.add(change.pool)
        elif change.no_more:
            self._gone.setdefault(change.pool, set()).update(change.tickets)
        elif change.arrived:
            self._arrived.setdefault(change.pool, []).append(change.arrived)
        else:
            self._note(change.pool, change.tickets)
        if self._has_come(change.pool):
            self._bell.set()

    def _has_come(self, pool: str) -> bool:
        """Tell whether tickets may have come to a pool."""
        return pool in self._stale or pool in self._arrived or pool in self._came

    def _note(self, pool: str, tickets: Collection[str]) -> None:
        """Have tickets read that may wait."""
        self._came.setdefault(pool, set()).update(tickets)

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
                if is_round or self._has_come(pool.id):
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
        groups = () if self._stopping else self._lines[pool.id].take(clock.now_ms(), self._bots(pool))
        await asyncio.gather(*(self._propose(pool, group) for group in groups))

    async def _read(self, pool: str) -> bool:
        """Bring the line of the pool up to date by what has changed, or read all of it if nobody knows that.

        Every few seconds it is compared with the queue, since notes may get lost. Return whether tickets may have come.
        A read that fails is made up for by the next, which is of all.
        """
        arrived, came, gone = self._arrived.pop(pool, []), self._came.pop(pool, set()), self._gone.pop(pool, set())
        compared_at, now = self._compared_at.pop(pool, None), clock.monotonic()
        if pool in self._stale or compared_at is None:
            self._stale.discard(pool)
            await self._read_all(pool)
            self._compared_at[pool] = now
            return len(self._lines[pool]) > 0
        line = self._lines[pool]
        for each in arrived:
            line.put(each)
        for ticket in gone:
            line.drop(ticket)
        is_compared = now > compared_at + COMPARE_SECONDS
        if is_compared:
            queue, compared_at = set(await self._tickets.waiting_ids(pool)), now
            came |= queue.symmetric_difference(line)
        found = await self._tickets.still_waiting(pool, sorted(came)) if came else ()
        for ticket in came:
            line.drop(ticket)
        for each in found:
            line.put(each)
        self._compared_at[pool] = compared_at
        if arrived or came or gone or is_compared:
            _show(pool, line)
        return bool(arrived or found)

    async def _read_all(self, pool: str) -> None:
        line = Line(self._pools[pool])
        for ticket in await self._tickets.waiting(pool):
            line.put(ticket)
        self._lines[pool] = line
        _show(pool, line)

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
        is_claimed = False
        try:
            is_claimed = await self._tickets.claim(proposal, lease_seconds=self._pace.lease_seconds)
        finally:
            if not is_claimed:
                self._note(pool.id, proposal.tickets)
        if is_claimed:
            self._begin(proposal)

    async def recover(self) -> None:
        """Take up proposals that nobody has completed in time, unless they wait their turn here."""
        limit = 0 if self._stopping else OVERDUE_PROPOSALS
        for proposal in await self._tickets.take_overdue(limit=limit, lease_seconds=self._pace.lease_seconds):
            if proposal.id not in self._creations:
                log.warning("proposal_overdue", proposal=proposal.id, pool=proposal.pool)
                self._begin(proposal)

    def _begin(self, proposal: Proposal) -> None:
        task = asyncio.create_task(self._create(proposal))
        self._creations[proposal.id] = task
        task.add_done_callback(lambda _: self._creations.pop(proposal.id))

    async def _create(self, proposal: Proposal) -> None:
        async with self._turns.setdefault(proposal.game, asyncio.Semaphore(CREATIONS_AT_ONCE)):
            await self._creation.attempt(proposal)

    async def drain(self) -> None:
        """Claim no more, and finish what was begun; what takes too long another replica takes up."""
        self._stopping = True
        if self._creations:
            await asyncio.wait(self._creations.values(), timeout=LAST_CREATIONS_SECONDS)


def _show(pool: str, line: Line) -> None:
    oldest_ms = line.oldest_ms
    waited_ms = 0 if oldest_ms is None else max(0, clock.now_ms() - oldest_ms)
    metrics.TICKETS_OPEN.labels(pool=pool).set(len(line))
    metrics.OLDEST_TICKET_SECONDS.labels(pool=pool).set(waited_ms / 1000)
