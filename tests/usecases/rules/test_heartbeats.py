"""What the heartbeats of a stream tell: what the clocks show, and who is gone."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from promontory.rules.domain import Match
from promontory.rules.servicer import RulesServicer
from promontory.rules.watch import Pace
from promontory.runtime.identity import serve_as
from tests.support.conduct import MINUTE, PER_TURN, SECOND, Time, table
from tests.support.refereeing import Bench, next_command, player
from tests.support.watching import hub_of

BEATING = Pace(heartbeat_seconds=0.02, max_stream_seconds=60)


async def heartbeat(bench: Bench, match: Match, seat: int | None, *, who: str = "eve") -> Any:
    """Return the first heartbeat of a stream, which begins now."""
    serve_as(player(who))
    async with hub_of(bench, BEATING) as hub:
        servicer = RulesServicer(bench.ruleset, bench.cases, hub)
        pb = bench.ruleset.codec.messages
        request = pb.WatchMatchRequest(match_id=match.match_id, seat=seat)
        async with aclosing(servicer.WatchMatch(request, None)) as messages:  # type: ignore[arg-type, type-var]
            _, second = [pb.WatchMatchResponse.FromString(message) async for message in _two(messages)]
            return second.heartbeat


async def _two(messages: Any) -> Any:
    for _ in range(2):
        yield await anext(messages)


def shown(told: Any) -> list[tuple[int, float, bool]]:
    """Return seat, seconds left, and whether the clock runs, of each clock that is told."""
    return [(clock.seat, clock.remaining.ToSeconds(), clock.HasField("deadline")) for clock in told.clocks]


async def test_the_clocks_are_those_of_the_server_s_time(time: Time) -> None:
    """[Heartbeat.clocks] The clock of the seat that is to act runs, the others stand still."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(20 * SECOND)
    told = await heartbeat(bench, match, 1, who="ben")
    assert shown(told) == [(0, 40, True), (1, 60, False)]
    assert told.server_time.ToMilliseconds() == time.ms


async def test_a_match_without_clocks_tells_none(time: Time) -> None:
    bench = Bench()
    told = await heartbeat(bench, await bench.create(), None)
    assert (list(told.clocks), list(told.absences)) == ([], [])


async def test_spectators_who_see_the_match_late_see_its_clocks_of_then(time: Time) -> None:
    """[MatchSetup.spectator_delay] They stand where they stood, since whose clock runs now would tell who is to act."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN, abandon_after_ms=MINUTE, spectator_delay=2))
    time.passes(20 * SECOND)
    match = (await bench.submit(match, next_command(match))).step.match
    time.passes(30 * SECOND)
    told = await heartbeat(bench, match, None)
    assert (told.version, shown(told), list(told.absences)) == (1, [(0, 60, True), (1, 60, False)], [])


async def test_who_is_to_act_and_gone_is_told(time: Time) -> None:
    """[Heartbeat.absences] With when an opponent may claim it, if the player does not come back."""
    bench = Bench()
    match = await bench.create(table(abandon_after_ms=MINUTE))
    begun_ms = time.ms
    time.passes(20 * SECOND)
    told = await heartbeat(bench, match, 1, who="ben")
    assert [(each.seat, each.claimable_time.ToMilliseconds()) for each in told.absences] == [(0, begun_ms + MINUTE)]


async def test_who_is_there_is_not_absent(time: Time) -> None:
    """A call is as good as a stream."""
    bench = Bench()
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(20 * SECOND)
    await bench.referee.look(player("ada"), match.match_id, 0, version=None)
    told = await heartbeat(bench, match, 1, who="ben")
    assert list(told.absences) == []


async def test_nobody_is_absent_where_nobody_can_be_claimed(time: Time) -> None:
    bench = Bench()
    match = await bench.create()
    time.passes(20 * SECOND)
    assert list((await heartbeat(bench, match, 1, who="ben")).absences) == []
