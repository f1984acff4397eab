"""The matcher: pairs on arrival and at intervals, claims atomically, and completes what a replica left unfinished."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress

import msgspec
import structlog

from promontory.eventlog.port import EventLogUnavailable
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.domain import Pool, Proposal
from promontory.matchmaking.filling import RatedBot
from promontory.matchmaking.kept_line import KeptLine
from promontory.matchmaking.pools import Pools
from promontory.matchmaking.ports import Change, Tickets
from promontory.matchmaking.stretch import Group
from promontory.runtime import clock

log = structlog.get_logger()

OVERDUE_PROPOSALS = 64
"""How many overdue proposals are taken up at a time."""
CREATIONS_AT_ONCE = 64
"""How many matches of a game are being created at a time; of thousands at once most would be answered too late."""
LAST_CREATIONS_SECONDS = 5.0
"""How long those are waited for that are under way when the matcher is to end."""

Bots = Callable[[Pool], Sequence[RatedBot]]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often pools are matched, and how long whoever claimed tickets may take to get their match made."""

    interval_seconds: float
    lease_seconds: float


class Matcher:
    """Matches the tickets of `pools`. Any number of matchers may do so side by side: a claim takes all or nothing."""

    def __init__(self, pools: Pools, tickets: Tickets, *, creation: Creation, bots: Bots, pace: Pace) -> None:
        self._pools, self._tickets, self._creation, self._bots, self._pace = pools, tickets, creation, bots, pace
        self._lines = {pool.id: KeptLine(pool, tickets) for pool in pools.values()}
        self._bell = asyncio.Event()
        self._creations: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._stopping = False

    def ring(self, change: Change) -> None:
        """Match a pool now: tickets have come to its queue, or have gone that a claim has failed for."""
        kept = self._lines.get(change.pool)
        if kept is None:  # another configuration's
            return
        kept.note(change)
        if kept.has_grown:
            self._bell.set()

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
                if is_round or self._lines[pool.id].has_grown:
                    await self._survive(self.match(pool, is_round=is_round))

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

    async def match(self, pool: Pool, *, is_round: bool = True) -> None:
        """Pair the tickets that wait in `pool`, and claim the groups.

        Between rounds that is done only if tickets have come: from one that left no match ever follows.
        """
        kept = self._lines[pool.id]
        if await kept.read() or is_round:
            groups = () if self._stopping else kept.line.take(clock.now_ms(), self._bots(pool))
            await asyncio.gather(*(self._propose(pool, group) for group in groups))

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
                self._lines[pool.id].doubt(proposal.tickets)
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
