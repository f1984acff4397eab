"""Leaving a match: resigning, being gone, calling it off, and ending it by agreement, on logs in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.codec.conduct import Ending, EndingDeclined, LeaveCause, SeatLeft
from promontory.codec.outcomes import CloseReason
from promontory.eventlog.obligations import bot_turn_name, list_name
from promontory.eventlog.port import bucket_of
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Rejected, fold
from promontory.games.pacific.commands import SetExplicitRuns
from promontory.rules.conduct import Leaver
from promontory.rules.domain import MOST_REPEATED, Match, Setup, placed
from promontory.rules.usecases import Listing, Submission
from promontory.runtime.errors import Refusal
from tests.support.conduct import MINUTE, PER_TURN, SECOND, Arbiters, Time, table
from tests.support.refereeing import ADA, POOL, WORKERS, Bench, next_command, player

MANY_SEATS = ["pacific", "railroad_dice_2"]
each_game_of_many = pytest.mark.parametrize("game", MANY_SEATS)
RATED: dict[str, Any] = {"pool": POOL, "rated": True}


async def resigned(bench: Bench, match: Match, seat: int) -> Match:
    return (await bench.submit(match, bench.ruleset.game.resign(seat), request_id=f"leave-{seat}")).step.match


def result(match: Match) -> tuple[CloseReason, tuple[int, ...]]:
    assert match.result is not None
    return match.result.reason, match.result.places


@each_game_of_many
async def test_a_house_bot_takes_over_the_seat_of_who_leaves(game: str) -> None:
    """With three seats and more: the others' game goes on, and the workers are asked to play."""
    bench = Bench(game=game)
    match = await bench.create(table(3, stand_in_policy="greedy"))
    seat = match.to_act[0]
    match = await resigned(bench, match, seat)
    assert (await bench.steps(match))[-1].conduct == (SeatLeft(seat, LeaveCause.RESIGNED, "greedy"),)
    assert (match.is_closed, match.house_policy(seat), seat in match.to_act) == (False, "greedy", True)
    assert await bench.log.oldest_due(bucket_of(match.match_id)) is not None
    played = await bench.referee.submit(
        WORKERS, Submission(match.match_id, seat, (bench.ruleset.game.automatic(match.state, seat),), "house")
    )
    assert played.step.version == match.version + 1


@each_game_of_many
async def test_who_left_may_look_but_not_act(game: str) -> None:
    """The house plays for the seat now."""
    bench = Bench(game=game)
    match = await bench.create(table(3, stand_in_policy="greedy"))
    seat = match.to_act[0]
    match = await resigned(bench, match, seat)
    with pytest.raises(Refusal) as refused:
        await bench.submit(match, bench.ruleset.game.automatic(match.state, seat), request_id="again")
    assert (refused.value.reason, refused.value.metadata["cause"]) == ("SEAT_LEFT", "resigned")
    who = player(match.setup.seats[seat].player_id)
    assert (await bench.referee.look(who, match.match_id, seat, version=None)).version == match.version


@each_game_of_many
async def test_the_last_who_stays_has_won_and_the_first_who_left_is_last(game: str) -> None:
    """Rated behind all who stayed."""
    bench = Bench(game=game)
    match = await bench.create(table(4, stand_in_policy="greedy"))
    for seat in (2, 0, 3):
        assert not match.is_closed
        match = await resigned(bench, match, seat)
    assert result(match) == (CloseReason.RESIGNED, (3, 1, 4, 2))


async def test_who_left_is_placed_behind_the_stayers_whatever_the_bot_achieves() -> None:
    """Played to the end by the house: the seat may even have the best score."""
    assert placed((1, 2, 2, 4), (Leaver(0, LeaveCause.RESIGNED), Leaver(3, LeaveCause.TIMED_OUT))) == (4, 1, 1, 3)


async def test_the_house_cannot_leave_a_seat_that_was_left() -> None:
    """[match/v1 SEAT_LEFT] A stand-in that resigned would place its player twice."""
    bench = Bench(game="pacific")
    match = await resigned(bench, await bench.create(table(4, stand_in_policy="greedy")), 0)
    again = Submission(match.match_id, 0, (bench.ruleset.game.resign(0),), "again")
    with pytest.raises(Rejected) as refused:
        await bench.referee.submit(WORKERS, again)
    assert (refused.value.reason, refused.value.details) == ("SEAT_LEFT", {"seat": 0, "cause": "resigned"})


async def test_who_resigns_when_that_ends_the_game_has_still_left() -> None:
    """[P-52] The house was the last to choose in the last turn: without its answer all are through."""
    bench = Bench(game="pacific")
    match = await resigned(bench, await bench.create(table(3, stand_in_policy="greedy")), 0)
    match = await until_last_answer(bench, match)
    match = await resigned(bench, match, 2)
    assert result(match) == (CloseReason.PLAYED_OUT, (3, 1, 2))


async def until_last_answer(bench: Bench, match: Match) -> Match:
    """Have all play automatically until the house has the last answer of the game."""
    while not is_last_answer(bench, match):
        seat = match.to_act[-1]
        caller = WORKERS if match.house_policy(seat) else player(match.setup.seats[seat].player_id)
        command = bench.ruleset.game.automatic(match.state, seat)
        submission = Submission(match.match_id, seat, (command,), f"at-{match.version}")
        match = (await bench.referee.submit(caller, submission)).step.match
    return match


def is_last_answer(bench: Bench, match: Match) -> bool:
    """Tell whether the house has the last answer of the game, in the seat that was left."""
    game, state = bench.ruleset.game, match.state
    if match.to_act != (0,):
        return False
    return game.outcome(fold(game, state, game.decide(state, game.automatic(state, 0), BlindDraws()))) is not None


@each_game_of_many
async def test_without_a_policy_the_rules_of_the_game_stand_in(game: str) -> None:
    """[P-52] [R-59] The seat is nobody's any more."""
    bench = Bench(game=game)
    match = await resigned(bench, await bench.create(table(3)), 0)
    assert (match.is_closed, match.house_policy(0), 0 in match.to_act) == (False, "", False)


async def test_resigning_gives_the_match_to_the_other_of_two() -> None:
    """[T-28] And it says who left."""
    bench = Bench()
    match = await resigned(bench, await bench.create(table(stand_in_policy="greedy")), 1)
    assert result(match) == (CloseReason.RESIGNED, (1, 2))
    assert match.conduct.leavers == (Leaver(1, LeaveCause.RESIGNED),)


async def test_who_is_gone_while_to_act_can_be_claimed(time: Time) -> None:
    """No connection and no move for the set time; the claim is an event."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(MINUTE)
    match = await seats.claim(match, 1)
    assert result(match) == (CloseReason.ABANDONED, (2, 1))
    assert (await bench.steps(match))[-1].conduct == (SeatLeft(0, LeaveCause.ABANDONED),)


async def test_who_is_there_cannot_be_claimed(time: Time) -> None:
    """A stream or a call counts, of the API as of the apps; the answer tells how long it takes if nobody comes."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(50 * SECOND)
    await bench.referee.look(player("ada"), match.match_id, 0, version=None)
    time.passes(20 * SECOND)
    with pytest.raises(Rejected) as refused:
        await seats.claim(match, 1)
    assert (refused.value.reason, refused.value.details) == ("NOTHING_TO_CLAIM", {"claimableSeconds": 40})


@pytest.mark.parametrize(("seconds", "left"), [(0, 10), (9, 1)])
async def test_after_a_standstill_players_may_come_back_before_they_are_claimed(
    seconds: int, left: int, time: Time
) -> None:
    """[clocks.md] Nobody could be there while the platform was not: the first who is back does not win by that."""
    bench = Bench()
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(10 * MINUTE)
    seats = Arbiters(back := bench.replica())
    time.passes(seconds * SECOND)
    with pytest.raises(Rejected) as refused:
        await seats.claim(match, 1)
    assert (refused.value.reason, refused.value.details) == ("NOTHING_TO_CLAIM", {"claimableSeconds": left})
    absent_ms = (await back.arbitration.absences(match, silent_ms=SECOND))[0]
    assert absent_ms == time.ms + left * SECOND
    time.passes(left * SECOND)
    assert result(await seats.claim(match, 1)) == (CloseReason.ABANDONED, (2, 1))


async def test_who_is_not_to_act_cannot_be_claimed(time: Time) -> None:
    """Nobody has to be there while others think."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(10 * MINUTE)
    with pytest.raises(Rejected, match="NOTHING_TO_CLAIM"):
        await seats.claim(match, 0)


async def test_without_the_option_nobody_can_be_claimed(time: Time) -> None:
    """[match/v1 MatchSetup] `abandon_after` is unset: for ever."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table())
    time.passes(100 * MINUTE)
    with pytest.raises(Rejected, match="NOTHING_TO_CLAIM"):
        await seats.claim(match, 1)


async def test_all_who_are_gone_are_claimed_together(time: Time) -> None:
    """Simultaneous choices: the claimer alone stays."""
    bench = Bench(game="pacific")
    match, seats = await bench.create(table(3, abandon_after_ms=MINUTE, stand_in_policy="greedy")), Arbiters(bench)
    time.passes(MINUTE)
    assert result(await seats.claim(match, 1)) == (CloseReason.ABANDONED, (3, 1, 2))


async def test_a_claim_made_again_has_the_first_answer(time: Time) -> None:
    """Once for a request id, however often it comes."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(MINUTE)
    first = await seats.claim(match, 1, "mine")
    assert (await seats.claim(match, 1, "mine")).version == first.version == 2


async def test_a_match_can_be_called_off_before_any_player_has_moved() -> None:
    """Without a result: it does not count, and no tally is owed."""
    seats = Arbiters(bench := Bench())
    match = await seats.abort(await bench.create(table(**RATED)), 1)
    assert result(match) == (CloseReason.ABORTED, ())
    await bench.log.settle(bucket_of(match.match_id), list_name(match.match_id))
    assert await bench.log.oldest_due(bucket_of(match.match_id)) is None


async def test_a_match_cannot_be_called_off_once_a_player_has_moved() -> None:
    """Moves of the house do not count."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(Setup(tuple(reversed(table(bots=1).seats))))
    match = (await bench.submit(match, next_command(match))).step.match
    assert result(await seats.abort(match, 1)) == (CloseReason.ABORTED, ())
    match = await bench.create(table(), request_id="another")
    match = (await bench.submit(match, next_command(match))).step.match
    with pytest.raises(Rejected, match="ABORT_TOO_LATE"):
        await seats.abort(match, 1)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [(Ending.DRAW, (CloseReason.DRAWN, (1, 1, 1))), (Ending.CANCEL, (CloseReason.CANCELLED, ()))],
)
async def test_a_match_ends_once_all_players_agree(ending: Ending, expected: tuple[object, object]) -> None:
    """As a draw, with the scores of the moment, or without a result."""
    bench = Bench(game="pacific")
    match, seats = await bench.create(table(3)), Arbiters(bench)
    for seat in (1, 0, 2):
        assert not match.is_closed
        match = await seats.offer(match, seat, ending)
    assert result(match) == expected
    assert (match.to_act, bool(match.server_seed)) == ((), True)


async def test_players_who_left_need_not_agree_and_stay_behind() -> None:
    """The stayers share the first place."""
    bench = Bench(game="pacific")
    match, seats = await bench.create(table(3, stand_in_policy="greedy")), Arbiters(bench)
    match = await resigned(bench, match, 1)
    match = await seats.offer(await seats.offer(match, 0, Ending.DRAW), 2, Ending.DRAW)
    assert result(match) == (CloseReason.DRAWN, (1, 3, 1))


async def test_an_offer_lapses_when_who_has_not_agreed_moves() -> None:
    """That is how people decline; the own move leaves it standing."""
    seats = Arbiters(bench := Bench())
    match = await seats.offer(await bench.create(table()), 0, Ending.DRAW)
    match = await bench.play_turn(match)
    assert len(match.conduct.offers) == 1
    match = (await bench.submit(match, next_command(match))).step.match
    assert match.conduct.offers == ()


async def test_an_offer_can_be_declined_by_another_seat_only() -> None:
    """And nothing can where nothing is offered."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table())
    with pytest.raises(Rejected, match="NO_OFFER"):
        await seats.decline(match, 1)
    match = await seats.offer(match, 0, Ending.CANCEL)
    with pytest.raises(Rejected, match="NO_OFFER"):
        await seats.decline(match, 0)
    match = await seats.decline(match, 1)
    assert (match.conduct.offers, (await bench.steps(match))[-1].conduct) == ((), (EndingDeclined(1),))


async def test_the_house_agrees_to_nothing_in_a_rated_match() -> None:
    """And to everything in others: who plays alone with bots may go."""
    seats = Arbiters(bench := Bench())
    rated = await bench.create(table(bots=1, **RATED))
    with pytest.raises(Rejected) as refused:
        await seats.offer(rated, 0, Ending.DRAW)
    assert (refused.value.reason, refused.value.details) == ("ENDING_IMPOSSIBLE", {"cause": "house_bots"})
    alone = await bench.create(table(bots=1), request_id="alone")
    assert result(await seats.offer(alone, 0, Ending.CANCEL)) == (CloseReason.CANCELLED, ())


async def test_nobody_can_be_pestered_with_offers_without_end() -> None:
    """[match/v1 TOO_MANY_CHANGES] They bring the game no further."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table())
    for _ in range(MOST_REPEATED):
        match = await seats.decline(await seats.offer(match, 0, Ending.DRAW), 1)
    with pytest.raises(Refusal, match="brought the game no further"):
        await seats.offer(match, 0, Ending.DRAW)


async def changed_too_often(bench: Bench, match: Match) -> Match:
    """Have seat 0 do what brings the game no further, as often as it may."""
    for number in range(MOST_REPEATED):
        match = (await bench.submit(match, SetExplicitRuns(0, number % 2 == 0))).step.match
    return match


async def test_who_has_changed_too_often_can_still_leave() -> None:
    """[match/v1 TOO_MANY_CHANGES] Also where the house takes over, so that the game itself is no further."""
    bench = Bench(game="pacific")
    match = await changed_too_often(bench, await bench.create(table(3, stand_in_policy="greedy")))
    assert (await resigned(bench, match, 0)).house_policy(0) == "greedy"


async def test_who_has_changed_too_often_can_still_claim(time: Time) -> None:
    """[match/v1 TOO_MANY_CHANGES] Departures bring the match on."""
    bench = Bench(game="pacific")
    match = await bench.create(table(3, stand_in_policy="greedy", abandon_after_ms=MINUTE))
    match = await changed_too_often(bench, match)
    time.passes(MINUTE)
    bench.presence.seen(match.match_id, 2)
    assert (await Arbiters(bench).claim(match, 0)).house_policy(1) == "greedy"


async def offered_too_often(seats: Arbiters, match: Match) -> Match:
    """Have seat 0 offer, and seat 1 decline, as often as they may."""
    for _ in range(MOST_REPEATED):
        match = await seats.decline(await seats.offer(match, 0, Ending.DRAW), 1)
    return match


async def test_who_has_offered_too_often_can_still_call_the_match_off() -> None:
    """[match/v1 TOO_MANY_CHANGES] It is no change that others have to hear of again and again."""
    seats = Arbiters(bench := Bench())
    match = await seats.abort(await offered_too_often(seats, await bench.create(table())), 0)
    assert result(match) == (CloseReason.ABORTED, ())


async def test_who_has_declined_too_often_can_still_agree() -> None:
    """[match/v1 TOO_MANY_CHANGES] Where that ends the match."""
    seats = Arbiters(bench := Bench())
    match = await offered_too_often(seats, await bench.create(table()))
    match = (await bench.submit(match, next_command(match))).step.match
    match = await seats.offer(await seats.offer(match, 0, Ending.CANCEL), 1, Ending.CANCEL)
    assert result(match) == (CloseReason.CANCELLED, ())


@pytest.mark.parametrize("act", ["abort", "claim", "decline"])
@each_game_of_many
async def test_who_left_a_seat_to_the_game_s_rules_can_do_nothing_more(game: str, act: str, time: Time) -> None:
    """[match/v1 SEAT_LEFT] Neither call the match off, nor claim it, nor decline what others agree to."""
    seats = Arbiters(bench := Bench(game=game))
    match = await resigned(bench, await bench.create(table(3, abandon_after_ms=MINUTE)), 0)
    match = await seats.offer(match, 1, Ending.DRAW)
    time.passes(2 * MINUTE)
    with pytest.raises(Refusal) as refused:
        await getattr(seats, act)(match, 0)
    assert (refused.value.reason, refused.value.metadata) == ("SEAT_LEFT", {"seat": 0, "cause": "resigned"})


@each_game_of_many
async def test_who_left_a_seat_to_the_game_s_rules_cannot_even_try_commands(game: str) -> None:
    """[match/v1 SEAT_LEFT] Submitted or previewed, to resign among them."""
    bench = Bench(game=game)
    match = await resigned(bench, await bench.create(table(3)), 0)
    command = bench.ruleset.game.resign(0)
    with pytest.raises(Refusal, match="has left the match"):
        await bench.submit(match, command)
    with pytest.raises(Refusal, match="has left the match"):
        await bench.referee.preview(ADA, match.match_id, 0, (command,))


@pytest.mark.parametrize("who", [0, 1])
async def test_a_match_cannot_be_called_off_once_time_ran_out_for_a_turn(who: int, time: Time) -> None:
    """[match/v1 ABORT_TOO_LATE] Else one could let default moves play, and go when they have lost."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(time_control=replace(PER_TURN, default_moves=3)))
    time.passes(2 * MINUTE)
    await seats.enforce(match)
    with pytest.raises(Rejected, match="ABORT_TOO_LATE"):
        await seats.abort(match, who)


CALLS: dict[str, Callable[[Bench, Match], Awaitable[object]]] = {
    "preview": lambda bench, match: bench.referee.preview(ADA, match.match_id, 0, (next_command(match),)),
    "list": lambda bench, match: bench.referee.page(ADA, Listing(match.match_id, 0, size=1)),
    "offer": lambda bench, match: Arbiters(bench).offer(match, 0, Ending.DRAW),
}


@pytest.mark.parametrize("call", CALLS)
async def test_every_call_for_a_seat_tells_that_its_player_is_there(call: str, time: Time) -> None:
    """[clocks.md] A bot that only thinks and previews is not gone."""
    seats = Arbiters(bench := Bench())
    match = await bench.create(table(abandon_after_ms=MINUTE))
    time.passes(59 * SECOND)
    await CALLS[call](bench, match)
    time.passes(SECOND)
    with pytest.raises(Rejected) as refused:
        await seats.claim(match, 1)
    assert refused.value.details == {"claimableSeconds": 59}


@pytest.mark.parametrize("act", ["abort", "claim", "decline"])
async def test_only_a_seats_player_acts_for_it(act: str) -> None:
    """Nobody else's token, and no service's."""
    bench = Bench()
    match = await bench.create(table(bots=1))
    _, wish = Arbiters(bench).wish(match, 0)
    for caller in (player("eve"), WORKERS):
        with pytest.raises(Refusal, match="belongs to another player"):
            await getattr(bench.arbitration, act)(caller, wish)
    with pytest.raises(Refusal, match="belongs to another player"):
        await getattr(bench.arbitration, act)(WORKERS, replace(wish, seat=1))


async def test_a_match_that_is_over_takes_no_act() -> None:
    """[match/v1 MATCH_OVER] With the close reason."""
    seats = Arbiters(bench := Bench())
    match = await seats.abort(await bench.create(table()), 0)
    with pytest.raises(Rejected) as refused:
        await seats.offer(match, 1, Ending.DRAW)
    assert (refused.value.reason, refused.value.details["closeReason"]) == ("MATCH_OVER", "aborted")


async def test_what_a_leaver_owed_the_house_owes_now() -> None:
    """[event_log 2.9] The obligation names the version since which the seat is to act."""
    bench = Bench(game="pacific")
    match = await bench.create(table(3, stand_in_policy="greedy", time_control=PER_TURN))
    match = await resigned(bench, match, 1)
    claimed = await bench.log.claim(bucket_of(match.match_id), limit=9, lease_ms=1, max_attempts=9)
    assert [each.name for each in claimed] == [bot_turn_name(match.match_id, 1, 1)]
