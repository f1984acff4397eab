"""Turn clocks: what is left, when time is up, and what follows, on logs in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from msgspec.structs import replace

from promontory.codec.conduct import LeaveCause, SeatLeft, TurnTimedOut
from promontory.codec.outcomes import CloseReason
from promontory.codec.terms import ClockKind, TimeControl
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.obligations import list_name
from promontory.eventlog.port import Appended, ClockSkew, Position, Proposed, bucket_of
from promontory.games.kernel import Rejected
from promontory.rules.domain import Match
from promontory.rules.usecases import Submission
from promontory.runtime import clock
from promontory.runtime.errors import Refusal
from tests.support.conduct import BUDGET, MINUTE, PER_TURN, SECOND, Arbiters, Time, table
from tests.support.refereeing import ADA, WORKERS, Bench, next_command, whole_turn

GAMES = ["transcontinental", "pacific", "railroad_dice_2"]
each_game = pytest.mark.parametrize("game", GAMES)


def remaining(match: Match, time: Time) -> list[int]:
    return [clock.remaining_at(time()) for clock in match.conduct.clocks]


def running(match: Match) -> list[int]:
    return [seat for seat, clock in enumerate(match.conduct.clocks) if clock.since_ms is not None]


async def test_a_budget_shrinks_while_its_seat_is_to_act_and_grows_with_every_turn(time: Time) -> None:
    """[event_log 2.10] Base and increment; a turn of several commands is one turn."""
    bench = Bench()
    match = await bench.create(table(time_control=BUDGET))
    time.passes(20 * SECOND)
    draw, *rest = whole_turn(match)
    match = (await bench.submit(match, draw)).step.match
    assert remaining(match, time) == [280 * SECOND, 300 * SECOND]
    time.passes(10 * SECOND)
    match = (await bench.submit(match, *rest)).step.match
    time.passes(3 * SECOND)
    assert remaining(match, time) == [280 * SECOND, 297 * SECOND]


async def test_a_fixed_time_is_whole_again_with_every_turn(time: Time) -> None:
    """Fixed time a turn, and correspondence likewise."""
    bench = Bench()
    match = await bench.create(table(time_control=replace(PER_TURN, kind=ClockKind.CORRESPONDENCE, base_ms=86_400_000)))
    time.passes(50_000 * SECOND)
    match = await bench.play_turn(match)
    time.passes(SECOND)
    assert remaining(match, time) == [86_400 * SECOND, 86_399 * SECOND]


@each_game
async def test_only_the_seats_that_are_to_act_have_a_running_clock(game: str, time: Time) -> None:
    """[event_log 2.10] Whoever they are, at every version of a whole game."""
    bench = Bench(game=game)
    match = await bench.play(await bench.create(table(time_control=BUDGET)), until=40)
    steps = await bench.steps(match)
    assert [running(step.match) for step in steps] == [list(step.match.to_act) for step in steps]


async def test_simultaneous_choices_run_against_one_deadline(time: Time) -> None:
    """All who still owe a choice: one who has chosen takes no time, and the others' deadline stays."""
    bench = Bench(game="pacific")
    match = await bench.create(table(3, time_control=PER_TURN))
    assert (running(match), await due_in(bench, match, time)) == ([0, 1, 2], 60_300)
    time.passes(20 * SECOND)
    match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, 1))).step.match
    assert (running(match), await due_in(bench, match, time)) == ([0, 2], 40_300)


async def due_in(bench: Bench, match: Match, time: Time) -> int | None:
    """Return in how many ms the arbiter expects the next deadline."""
    return (await Arbiters(bench).enforce(match)).due_in_ms


async def test_a_phase_that_begins_gives_new_time_to_who_ended_the_one_before(time: Time) -> None:
    """The seat that chose last is to act before and after: those are two turns."""
    bench = Bench(game="pacific")
    match = await bench.create(table(2, time_control=PER_TURN))
    match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, 0))).step.match
    time.passes(40 * SECOND)
    match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, 1))).step.match
    assert remaining(match, time) == [60 * SECOND, 60 * SECOND]


async def test_a_deadline_is_an_obligation_that_every_turn_moves(time: Time) -> None:
    """[event_log 2.10] Written by the append that starts the turn, gone with the one that ends the match."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    first = await bench.log.oldest_due(bucket_of(match.match_id))
    match = (await bench.submit(match, bench.ruleset.game.resign(0))).step.match
    await bench.log.settle(bucket_of(match.match_id), list_name(match.match_id))
    assert (first is not None, await bench.log.oldest_due(bucket_of(match.match_id))) == (True, None)


@pytest.mark.parametrize("late_ms", [-1, 0, 299])
async def test_time_is_not_up_before_the_grace_is_over(late_ms: int, time: Time) -> None:
    """[event_log 2.10] 300 ms for the network: a move in them counts."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(MINUTE + late_ms)
    enforced = await Arbiters(bench).enforce(match)
    assert (enforced.recorded, enforced.due_in_ms) == (False, 300 - late_ms)
    assert (await bench.submit(match, next_command(match))).step.version == 2


@each_game
async def test_who_lets_time_run_out_forfeits(game: str, time: Time) -> None:
    """Unless default moves are left: the opponent of two wins."""
    bench = Bench(game=game)
    match = await bench.create(table(time_control=PER_TURN))
    loser = match.to_act[0]
    match = await one_left(bench, match)
    time.passes(MINUTE + 300)
    assert (await Arbiters(bench).enforce(match)).recorded
    closed = await bench.matches.fresh(match.match_id)
    assert closed.result is not None
    assert (closed.result.reason, closed.result.places[loser]) == (CloseReason.TIMED_OUT, 2)
    assert (await bench.steps(match))[-1].conduct == (
        TurnTimedOut(loser, 1),
        SeatLeft(loser, LeaveCause.TIMED_OUT),
    )


async def one_left(bench: Bench, match: Match) -> Match:
    """Have all seats but the first that are to act choose, where they do so at once."""
    for seat in match.to_act[1:]:
        match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, seat))).step.match
    return match


async def test_no_time_runs_out_at_once_after_a_standstill_in_the_turn(time: Time) -> None:
    """[clocks.md] While no process served the match, nobody could move; the relay is told how long it has to wait."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(10 * MINUTE)
    back = Arbiters(replica := bench.replica())
    time.passes(4 * SECOND)
    held = await back.enforce(match)
    assert (held.recorded, held.due_in_ms) == (False, 6 * SECOND)
    time.passes(6 * SECOND)
    assert (await back.enforce(match)).recorded
    assert (await replica.matches.fresh(match.match_id)).is_closed


async def test_time_runs_out_in_turns_that_began_after_a_standstill(time: Time) -> None:
    """[clocks.md] Who was away all that time is not given any of the platform's."""
    bench = Bench()
    match = await bench.create(table(time_control=replace(PER_TURN, base_ms=SECOND)))
    time.passes(500)
    back = bench.replica()
    time.passes(500)
    match = await back.play_turn(match)
    time.passes(SECOND + 300)
    assert (await Arbiters(back).enforce(match)).recorded


async def test_time_runs_out_once_however_many_notice(time: Time) -> None:
    """[event_log 2.10] [event_log R15] Relays on several replicas at the same moment."""
    bench = Bench()
    match = await bench.create(table(time_control=replace(PER_TURN, default_moves=3)))
    time.passes(2 * MINUTE)
    benches = [bench, *(bench.replica() for _ in range(4))]
    enforced = await asyncio.gather(*(Arbiters(each).enforce(match) for each in benches * 3))
    assert sum(each.recorded for each in enforced) == 1
    assert len(await bench.steps(match)) == 2


async def test_a_move_that_got_in_first_counts(time: Time) -> None:
    """[event_log 2.10] Time is up when that is recorded; until then the relay's call is a harmless conflict."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(2 * MINUTE)
    match = await bench.play_turn(match)
    assert not (await Arbiters(bench.replica()).enforce(match)).recorded


async def test_a_late_move_is_told_what_came_of_it(time: Time) -> None:
    """[event_log R19] At once, typed, with the result; whatever version it was meant for."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(2 * MINUTE)
    await Arbiters(bench).enforce(match)
    for expected in (None, match.version):
        with pytest.raises(Refusal) as refused:
            await bench.submit(match, next_command(match), request_id=f"late {expected}", expected=expected)
        assert refused.value.reason == "TIME_UP"
        assert dict(refused.value.metadata) == {
            "seat": 0,
            "timeoutVersion": 2,
            "result": "timed_out",
            "currentVersion": 2,
        }


async def test_the_opponent_of_a_forfeit_is_told_how_the_match_ended(time: Time) -> None:
    """[match/v1 MATCH_OVER] With the close reason."""
    bench = Bench()
    match = await bench.create(table(time_control=PER_TURN))
    time.passes(2 * MINUTE)
    await Arbiters(bench).enforce(match)
    with pytest.raises(Rejected) as refused:
        await bench.submit(match, bench.ruleset.game.resign(1))
    assert (refused.value.reason, refused.value.details) == ("MATCH_OVER", {"closeReason": "timed_out"})


@each_game
async def test_default_moves_of_the_rules_end_the_turn_until_none_is_left(game: str, time: Time) -> None:
    """The sheet's pass [Transcontinental 9.5] [P-52] [R-59], up to N times, then forfeit."""
    bench, limit = Bench(game=game), 2
    match = await bench.create(table(time_control=replace(PER_TURN, default_moves=limit)))
    while not match.is_closed:
        before = match
        time.passes(MINUTE + 300)
        assert (await Arbiters(bench).enforce(match)).recorded
        match = await bench.matches.fresh(match.match_id)
        assert match.is_closed or bench.ruleset.game.period(match.state) != bench.ruleset.game.period(before.state)
    assert match.result is not None
    assert match.result.reason is CloseReason.TIMED_OUT
    assert max(clock.timeouts for clock in match.conduct.clocks) == limit + 1


async def test_a_policy_plays_the_default_move_and_then_the_player_goes_on(time: Time) -> None:
    """A bot's default move: the workers play the turn, the player is told that it is gone."""
    bench = Bench()
    control = replace(PER_TURN, default_moves=2, default_policy="greedy")
    match = await bench.create(table(time_control=control))
    time.passes(MINUTE + 300)
    await Arbiters(bench).enforce(match)
    match = await bench.matches.fresh(match.match_id)
    assert (match.to_act, match.house_policy(0), running(match)) == ((0,), "greedy", [])
    with pytest.raises(Refusal, match="default_move"):
        await bench.submit(match, next_command(match))
    while match.to_act == (0,):
        name, commands = f"at-{match.version}", (next_command(match),)
        answer = await bench.referee.submit(WORKERS, Submission(match.match_id, 0, commands, name))
        match = answer.step.match
    match = await bench.play_turn(match)
    assert (match.house_policy(0), remaining(match, time)[0]) == ("", 60 * SECOND)
    assert (await bench.submit(match, next_command(match))).step.match.conduct.clocks[0].timeout_version == 0


async def test_a_budget_that_ran_out_is_filled_a_little(time: Time) -> None:
    """[match/v1 TimeControl] To a tenth of the base, and the turn's increment is not added."""
    bench = Bench()
    match = await bench.create(table(time_control=replace(BUDGET, default_moves=1)))
    time.passes(5 * MINUTE + 300)
    await Arbiters(bench).enforce(match)
    match = await bench.matches.fresh(match.match_id)
    assert remaining(match, time) == [30 * SECOND, 300 * SECOND]


async def test_all_whose_time_is_up_are_dealt_with_together(time: Time) -> None:
    """[P-52] Simultaneous choices: one commit, and the phase is over."""
    bench = Bench(game="pacific")
    match = await bench.create(table(3, time_control=replace(PER_TURN, default_moves=1)))
    match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, 1))).step.match
    time.passes(MINUTE + 300)
    await Arbiters(bench).enforce(match)
    step = (await bench.steps(match))[-1]
    assert step.conduct == (TurnTimedOut(0, 1), TurnTimedOut(2, 1))
    assert step.match.to_act == (0, 1, 2)


async def test_the_house_has_no_clock(time: Time) -> None:
    """Nobody's bot loses because the platform is slow."""
    bench = Bench()
    match = await bench.create(table(bots=1, time_control=PER_TURN))
    match = await bench.play_turn(match)
    assert (match.to_act, running(match)) == ((1,), [])


async def test_a_player_may_resign_while_the_house_plays_the_turn(time: Time) -> None:
    """To resign is never too late but once the match is over."""
    bench = Bench()
    match = await bench.create(table(time_control=replace(PER_TURN, default_moves=2, default_policy="greedy")))
    time.passes(MINUTE + 300)
    await Arbiters(bench).enforce(match)
    answer = await bench.referee.resign(ADA, match.match_id, 0, request_id="enough")
    assert answer.step.match.is_closed


async def test_a_clock_that_went_back_takes_no_time(time: Time) -> None:
    """[event_log R17] A commit is never recorded before the one it follows."""
    bench = Bench()
    match = await bench.create(table(time_control=BUDGET))
    time.passes(-10 * SECOND)
    match = await bench.play_turn(match)
    assert match.updated_at_ms == match.created_at_ms
    assert match.conduct.clocks[0].remaining_ms == 310 * SECOND


@pytest.mark.parametrize(
    ("control", "field"),
    [
        (TimeControl(ClockKind.PER_TURN, 999), "base"),
        (TimeControl(ClockKind.PER_TURN, 86_400_001), "base"),
        (TimeControl(ClockKind.CORRESPONDENCE, 86_400_001), "base"),
        (TimeControl(ClockKind.CORRESPONDENCE, 15 * 86_400_000), "base"),
        (TimeControl(ClockKind.PER_TURN, 60_000, increment_ms=1), "increment"),
        (TimeControl(ClockKind.INCREMENT, 60_000, increment_ms=600_001), "increment"),
        (TimeControl(ClockKind.INCREMENT, 60_000, increment_ms=-1), "increment"),
        (TimeControl(ClockKind.INCREMENT, 60_000, grace_ms=10_001), "grace"),
        (TimeControl(ClockKind.INCREMENT, 60_000, default_moves=-1), "default_moves"),
        (TimeControl(ClockKind.INCREMENT, 60_000, default_policy="nobody"), "default_policy"),
    ],
)
async def test_a_time_control_that_makes_no_sense_is_refused(control: TimeControl, field: str) -> None:
    """[match/v1 TimeControl] With the field's path."""
    with pytest.raises(Refusal) as refused:
        await Bench().create(table(time_control=control))
    assert (refused.value.reason, list(refused.value.fields)) == ("BAD_REQUEST", [f"setup.time_control.{field}"])


class _Skewed(MemoryEventLog):
    """A log whose clock differs `times` times, and which takes as long as the test says to tell so."""

    def __init__(self, times: int, elapse: Callable[[], None]) -> None:
        super().__init__(clock=clock.now_ms)
        self.times, self._elapse = times, elapse

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append, unless the clock differs."""
        if proposed.recorded_at_ms is not None and expected.version and self.times:
            self.times -= 1
            self._elapse()
            raise ClockSkew("the clocks differ")
        return await super().append(stream, proposed, expected=expected)


@pytest.mark.parametrize(("slow_seconds", "ends_as"), [(0.0, ClockSkew), (2.0, None)])
async def test_a_decision_that_waited_for_a_slow_log_is_taken_anew(
    slow_seconds: float, ends_as: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[event_log R6] Its time is out of date; but where clocks differ, another replica must record it."""
    passed = 0.0

    def elapse() -> None:
        nonlocal passed
        passed += slow_seconds

    monkeypatch.setattr(clock, "monotonic", lambda: passed)
    bench = Bench(_Skewed(1, elapse))
    match = await bench.create(table(time_control=PER_TURN))
    with pytest.raises(ends_as) if ends_as else nullcontext():
        assert (await bench.submit(match, next_command(match))).step.version == 2


async def test_a_match_without_a_clock_goes_on_whatever_the_clocks_say() -> None:
    """Nobody's time depends on it."""
    bench = Bench(_Skewed(9, lambda: None))
    match = await bench.create(table())
    assert (await bench.submit(match, next_command(match))).step.version == 2
