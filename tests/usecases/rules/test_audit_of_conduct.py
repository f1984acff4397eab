"""The audit of what players do beside the game: claims and offers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from promontory.codec.conduct import Ending
from promontory.eventlog.audit_file import audit_lines
from promontory.eventlog.port import GENESIS, Commit, chain
from promontory.rules import records
from promontory.rules.audit import AuditReport, audit, shipped_rulesets
from promontory.rules.conduct import Claim
from tests.support.conduct import MINUTE, PER_TURN, Arbiters, Time, table
from tests.support.refereeing import Bench


def audited(match_id: str, commits: Sequence[Commit]) -> AuditReport:
    return audit(b"".join(audit_lines(match_id, commits)), shipped_rulesets(), secrecy=False)


async def test_players_may_agree_while_the_house_stands_in_for_them(time: Time) -> None:
    """[clocks.md] Their time ran out for a turn, but they are still there."""
    seats = Arbiters(bench := Bench(game="pacific"))
    control = replace(PER_TURN, default_moves=1, default_policy="greedy")
    match = await bench.create(table(time_control=control))
    time.passes(2 * MINUTE)
    await seats.enforce(match)
    match = await seats.offer(await seats.decline(await seats.offer(match, 0, Ending.DRAW), 1), 1, Ending.DRAW)
    closed = await seats.offer(match, 0, Ending.DRAW)
    assert closed.conduct.movers == ()
    assert audited(match.match_id, await bench.log.read(match.match_id)).cause is None


@pytest.mark.parametrize("gone", [(), (9,), (-1,), (2, 0), (0, 0), (0, 1, 2)])
async def test_a_claim_of_seats_that_cannot_be_claimed_is_found(gone: tuple[int, ...], time: Time) -> None:
    """Though all hashes fit: none, some that do not exist, one twice, out of order, or the claimer's own."""
    seats = Arbiters(bench := Bench(game="pacific"))
    match = await bench.create(table(4, abandon_after_ms=MINUTE, stand_in_policy="greedy"))
    time.passes(MINUTE)
    await seats.claim(match, 1)
    created, claimed = await bench.log.read(match.match_id)
    assert audited(match.match_id, (created, claimed)).ok
    meta = replace(records.decode_meta(claimed.meta), act=Claim(gone))
    forged = replace(claimed, meta=records.encode_meta(meta))
    first = chain(match.match_id, GENESIS, 1, created)
    forged = replace(forged, head=chain(match.match_id, first, 2, forged))
    assert audited(match.match_id, (created, forged)).version == 2
