"""Matches that the platform cancels, on logs in memory."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.codec.conduct import MatchCancelled
from promontory.codec.outcomes import CloseReason, Result
from promontory.eventlog.audit_file import audit_lines
from promontory.eventlog.obligations import list_name
from promontory.eventlog.port import CommandIdReused, Commit, bucket_of, chain
from promontory.games.kernel import Rejected
from promontory.rules import records
from promontory.rules.audit import AuditReport, audit, shipped_rulesets
from promontory.rules.conduct import Cancel
from promontory.rules.domain import Match
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller, Scope
from tests.support.conduct import MINUTE, PER_TURN, table
from tests.support.refereeing import POOL, RELAY, Bench

ADMIN = Caller("service:admin", frozenset({Scope.CANCEL_MATCH}), service=True)
NOTE = "the machine was on fire"


async def cancelled(bench: Bench, match: Match, note: str = NOTE, request_id: str = "admin:1") -> Match:
    return (await bench.arbitration.cancel(ADMIN, match.match_id, note, request_id=request_id)).step.match


def audited(match_id: str, *commits: Commit) -> AuditReport:
    return audit(b"".join(audit_lines(match_id, commits)), shipped_rulesets(), secrecy=False)


@pytest.mark.parametrize("game", ["pacific", "railroad_dice_2", "transcontinental"])
async def test_a_cancelled_match_is_over_without_a_result(game: str) -> None:
    """[CLOSE_REASON_CANCELLED] It counts nowhere, players are told, and nothing is owed but its place in lists."""
    bench = Bench(game=game)
    match = await bench.create(table(bots=1, pool=POOL, rated=True, time_control=PER_TURN, abandon_after_ms=MINUTE))
    closed = await cancelled(bench, match)
    assert closed.result == Result(CloseReason.CANCELLED)
    assert (await bench.steps(closed))[-1].conduct == (MatchCancelled(NOTE),)
    assert await bench.log.owed(bucket_of(match.match_id)) == [list_name(match.match_id)]
    assert audited(match.match_id, *await bench.log.read(match.match_id)).ok


async def test_cancelling_again_is_done_once() -> None:
    """[SubmitCommand] Under the same request id, and with another note it is another intent."""
    bench = Bench(game="transcontinental")
    match = await bench.create(table())
    closed = await cancelled(bench, match)
    assert (await cancelled(bench, match)).version == closed.version
    with pytest.raises(CommandIdReused):
        await cancelled(bench, match, note="for another reason")
    with pytest.raises(Rejected, match="MATCH_OVER"):
        await cancelled(bench, match, request_id="admin:2")


async def test_only_who_may_cancel_matches_can() -> None:
    """[SCOPE_MISSING] Not the relay, for one."""
    bench = Bench(game="transcontinental")
    match = await bench.create(table())
    with pytest.raises(Refusal, match="match:cancel"):
        await bench.arbitration.cancel(RELAY, match.match_id, "", request_id="x")


async def test_a_cancellation_in_the_name_of_a_seat_is_found() -> None:
    """[event_log 4.1] Though all hashes fit: only the platform cancels."""
    bench = Bench(game="transcontinental")
    match = await bench.create(table())
    await cancelled(bench, match)
    created, last = await bench.log.read(match.match_id)
    meta = replace(records.decode_meta(last.meta), actor=0, act=Cancel(NOTE))
    forged = replace(last, meta=records.encode_meta(meta))
    forged = replace(forged, head=chain(match.match_id, created.head, 2, forged))
    assert audited(match.match_id, created, forged).version == 2
