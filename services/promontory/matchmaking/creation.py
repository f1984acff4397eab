"""Getting the match of a proposal made and recorded, as often as it takes."""

from __future__ import annotations

import structlog
from msgspec.structs import replace

from promontory.eventlog.port import EventLogUnavailable
from promontory.games.registry import GAMES
from promontory.matchmaking.domain import Made, Proposal
from promontory.matchmaking.ports import CreationRefused, Rules, Tables, Tickets
from promontory.matchmaking.table import CloseReason, TableState, closed
from promontory.runtime import clock, metrics
from promontory.runtime.errors import Refusal

log = structlog.get_logger()

LONGEST_BACK_OFF_SECONDS = 60


class Creation:
    """Gets matches made. The proposal's id names the creation: however often it is tried, there is one match."""

    def __init__(self, rules: Rules, *, tickets: Tickets, tables: Tables) -> None:
        self._rules, self._tickets, self._tables = rules, tickets, tables
        metrics.begin(metrics.PROPOSALS, game=[game.name for game in GAMES], outcome=("made", "delayed", "refused"))

    async def complete(self, proposal: Proposal) -> Made:
        """Return the proposal's match, recorded with its tickets or its table, and listed.

        Raises:
            CreationRefused: the rules service refuses it for good.
            Refusal: `PEER_UNAVAILABLE`; repeat it.
        """
        made = await self._rules.create_match(proposal)
        record = self._tables.start if proposal.from_table else self._tickets.assign
        if await record(proposal, made):
            metrics.PROPOSALS.labels(game=proposal.game, outcome="made").inc()
            _tell(proposal, made)
        return made

    async def attempt(self, proposal: Proposal) -> None:
        """Complete the proposal if it can be done now; if it never can, give its tickets back or close its table."""
        try:
            await self.complete(proposal)
        except CreationRefused as error:
            await self.give_up(proposal, error)
        except (Refusal, EventLogUnavailable) as error:
            metrics.PROPOSALS.labels(game=proposal.game, outcome="delayed").inc()
            log.warning("creation_delayed", proposal=proposal.id, game=proposal.game, cause=str(error))

    async def give_up(self, proposal: Proposal, error: CreationRefused) -> None:
        """Give the tickets of a proposal that is refused for good back, or close its table."""
        metrics.PROPOSALS.labels(game=proposal.game, outcome="refused").inc()
        log.error("creation_refused", proposal=proposal.id, game=proposal.game, code=error.code, reason=error.reason)
        try:
            await (self._close(proposal) if proposal.from_table else self._release(proposal))
        except EventLogUnavailable as outage:
            log.warning("release_delayed", proposal=proposal.id, cause=str(outage))

    async def _release(self, proposal: Proposal) -> None:
        back_off_seconds = min(2**proposal.refusals, LONGEST_BACK_OFF_SECONDS)
        await self._tickets.release(proposal, retry_at_ms=clock.now_ms() + 1000 * back_off_seconds)
        metrics.TICKETS.labels(pool=proposal.pool, event="released").inc(len(proposal.tickets))

    async def _close(self, proposal: Proposal) -> None:
        table = await self._tables.find(proposal.id)
        if table and table.state is TableState.STARTING:
            refused = closed(table, CloseReason.MATCH_REFUSED)
            await self._tables.replace(replace(refused, revision=table.revision + 1), most_open=0)


def _tell(proposal: Proposal, made: Made) -> None:
    waits = [(made.created_ms - place.since_ms) / 1000 for place in proposal.places if place.ticket]
    for wait in waits:
        metrics.TICKET_WAIT_SECONDS.labels(pool=proposal.pool).observe(max(0.0, wait))
    if waits:
        metrics.TICKETS.labels(pool=proposal.pool, event="assigned").inc(len(waits))
    log.info(
        "match_made",
        match_id=made.match_id,
        game=proposal.game,
        pool=proposal.pool,
        proposal=proposal.id,
        longest_wait_seconds=round(max(waits, default=0.0), 3),
        rating_gap=round(proposal.rating_gap, 1),
        house_bots=sum(bool(place.entrant.policy) for place in proposal.places),
    )
