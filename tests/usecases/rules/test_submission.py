"""Submitting commands: once, whole, and on the latest version."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from promontory.codec.outcomes import CloseReason
from promontory.eventlog.port import CommandIdReused, EventLogUnavailable, VersionConflict, bucket_of
from promontory.games.kernel import Rejected
from promontory.games.transcontinental.commands import DiscardCards, DrawCard, EndWork, PlayMeld, Resign
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import HASHED_EVERY, Match
from promontory.rules.records import decode_meta
from promontory.rules.usecases import Submission
from promontory.runtime.errors import Refusal
from tests.support.refereeing import (
    ADA,
    AGAINST_THE_HOUSE,
    BEN,
    EVE,
    HOUSE_FIRST,
    SEED,
    WORKERS,
    Bench,
    ForgetfulLog,
    next_command,
    player,
    ruleset,
    whole_turn,
)

DRAW = DrawCard(0, Source.DECK)


async def test_commands_submitted_together_make_one_commit() -> None:
    """[architecture 2] One submission makes one commit."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    answer = await bench.submit(match, EndWork(0), DiscardCards(0, ()))
    names = [type(each.event).__name__ for each in answer.step.happened]
    assert (answer.step.version, names) == (3, ["WorkEnded", "CardsDiscarded"])
    assert (await bench.steps(answer.step.match))[2] == answer.step


async def test_a_submission_with_one_forbidden_command_changes_nothing() -> None:
    """[style 1.9] Appends are all or nothing."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    with pytest.raises(Rejected, match="WRONG_PHASE") as refused:
        await bench.submit(match, EndWork(0), EndWork(0))
    assert refused.value.details["command"] == 1
    assert await bench.matches.fresh(match.match_id) == match


@pytest.mark.parametrize("command", [DRAW, EndWork(0), Resign(0), DiscardCards(0, ("no card",))])
async def test_nothing_may_stand_behind_a_command_that_draws(command: object) -> None:
    """[fairness 3] Else a refusal would tell what is drawn, before it is drawn for good; legal or not, all the same."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Rejected, match="OUTCOME_UNKNOWN") as refused:
        await bench.submit(match, DRAW, command)
    assert (refused.value.details, await bench.matches.fresh(match.match_id)) == ({"command": 1}, match)


async def test_refused_submissions_do_not_tell_the_next_card_of_the_deck() -> None:
    """[fairness 3] Whatever card is guessed behind the draw, the words are the same."""
    bench = Bench()
    match = await bench.create()
    seen = ruleset().game.view(match.state, 0)
    told = set()
    for card_id in seen.unseen_card_ids:
        with pytest.raises(Rejected) as refused:
            await bench.submit(match, DRAW, PlayMeld(0, (card_id, *seen.hand_card_ids[:2])))
        told.add((str(refused.value), *refused.value.details.items()))
    assert len(told) == 1


async def test_commands_may_follow_a_draw_that_everybody_can_foresee() -> None:
    """The top of the discard pile lies open."""
    bench = Bench()
    match = await bench.play_turn(await bench.create())
    answer = await bench.submit(match, DrawCard(1, Source.DISCARD), EndWork(1))
    assert [type(each.event).__name__ for each in answer.step.happened] == ["CardDrawn", "WorkEnded"]


async def test_an_accepted_submission_on_a_cached_match_costs_one_call_of_the_log() -> None:
    """[architecture 2] Load (cache), decide, append: one round trip."""
    log = ForgetfulLog()
    bench = Bench(log)
    match = await bench.create()
    log.calls = 0
    await bench.submit(match, DRAW)
    assert log.calls == 1


async def test_repeating_a_submission_returns_the_first_answer_after_the_match_moved_on() -> None:
    """[SubmitCommand] Repeating it returns the first answer, however late: version, events and view of that commit."""
    bench = Bench()
    match = await bench.create()
    first = await bench.submit(match, DRAW, request_id="once")
    await bench.play(first.step.match, until=20)
    again = await bench.replica().submit(match, DRAW, request_id="once")
    assert (again.step, again.duplicate) == (first.step, True)


async def test_repeating_a_submission_returns_the_first_answer_after_the_match_is_over() -> None:
    """However late: also when the command would be refused now."""
    bench = Bench()
    match = await bench.create()
    first = await bench.submit(match, DRAW, request_id="once", expected=1)
    await bench.submit(first.step.match, Resign(1))
    again = await bench.submit(match, DRAW, request_id="once", expected=1)
    assert (again.step, again.duplicate) == (first.step, True)


async def test_repeating_the_last_submission_on_another_replica_with_a_stale_fold() -> None:
    """A fold from before the commit accepts the command anew; the log still knows its id."""
    bench = Bench()
    match = await bench.create()
    replica = bench.replica()
    await replica.matches.fresh(match.match_id)
    first = await bench.submit(match, DRAW, request_id="once")
    again = await replica.submit(match, DRAW, request_id="once")
    assert (again.step, again.duplicate) == (first.step, True)


@pytest.mark.parametrize("other", [EndWork(0), DrawCard(0, Source.DISCARD), Resign(0)])
async def test_a_request_id_with_other_commands_is_refused(other: EndWork | DrawCard | Resign) -> None:
    """[REQUEST_ID_REUSED] Whether the rules would accept the other commands now or not."""
    bench = Bench()
    match = await bench.create()
    await bench.submit(match, DRAW, request_id="once")
    with pytest.raises(CommandIdReused):
        await bench.submit(match, other, request_id="once")


async def test_two_seats_may_use_the_same_request_id() -> None:
    """Command ids are scoped by seat."""
    bench = Bench()
    match = await bench.create()
    match = (await bench.submit(match, DRAW, request_id="same")).step.match
    match = (await bench.submit(match, *whole_turn(match))).step.match
    answer = await bench.submit(match, DrawCard(1, Source.DECK), request_id="same")
    assert not answer.duplicate


async def test_commands_meant_for_an_earlier_version_are_refused_with_the_present_one() -> None:
    """[VERSION_CONFLICT] The commands apply to the expected version or not at all."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    with pytest.raises(VersionConflict) as conflict:
        await bench.submit(match, EndWork(0), expected=1)
    assert conflict.value.version == 2


async def test_commands_meant_for_a_version_still_to_come_are_refused() -> None:
    """[VERSION_OUT_OF_RANGE] The version lies in the future of the match."""
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refusal:
        await bench.submit(match, DRAW, expected=2)
    assert (refusal.value.reason, refusal.value.metadata["currentVersion"]) == ("VERSION_OUT_OF_RANGE", 1)


async def test_a_version_that_only_another_replica_knows_is_no_version_still_to_come() -> None:
    """A stale fold never decides what is refused."""
    bench = Bench()
    match = await bench.create()
    replica = bench.replica()
    await replica.matches.fresh(match.match_id)
    drawn = await bench.submit(match, DRAW)
    answer = await replica.submit(drawn.step.match, EndWork(0), expected=2)
    assert answer.step.version == 3


async def test_replicas_with_stale_folds_play_on_as_if_there_was_one() -> None:
    """[event_log 2.5] A stale cache costs one conflict, never a wrong write."""
    bench = Bench()
    benches = [bench, bench.replica(), bench.replica()]
    match = await bench.create()
    while match.version < 30:
        match = (await benches[match.version % 3].submit(match, next_command(match))).step.match
    assert (await bench.steps(match))[-1].match == match


async def test_what_two_replicas_race_for_happens_once() -> None:
    """Both offer the same intent at the same time; one commit comes of it, and both get it as answer."""
    bench = Bench()
    match = await bench.create()
    answers = await asyncio.gather(
        *(each.submit(match, DRAW, request_id="once") for each in (bench, bench.replica(), bench.replica()))
    )
    assert [answer.step for answer in answers] == [answers[0].step] * 3
    assert sorted(answer.duplicate for answer in answers) == [False, True, True]


async def test_of_two_different_intents_for_one_decision_the_later_is_judged_anew() -> None:
    """[architecture 4] Without an expected version the server decides again on the newer version."""
    bench = Bench()
    match = await bench.create()
    results = await asyncio.gather(
        bench.submit(match, DRAW, request_id="a"),
        bench.replica().submit(match, DRAW, request_id="b"),
        return_exceptions=True,
    )
    assert [getattr(result, "reason", "accepted") for result in results] == ["accepted", "WRONG_PHASE"]


async def test_a_submission_whose_answer_was_lost_is_found_by_repeating_it() -> None:
    """[EVENT_LOG_UNAVAILABLE] Repeat with the same request id."""
    log = ForgetfulLog()
    bench = Bench(log)
    match = await bench.create()
    log.lost = 1
    with pytest.raises(EventLogUnavailable):
        await bench.submit(match, DRAW, request_id="once")
    again = await bench.submit(match, DRAW, request_id="once")
    assert (again.step.version, again.duplicate) == (2, True)


async def test_the_closing_commit_publishes_the_seed_and_closes_the_stream() -> None:
    """[fairness 2.7] When the match ends, in whatever way, MatchClosed publishes the seed."""
    bench = Bench()
    answer = await bench.submit(await bench.create(), Resign(1))
    match = answer.step.match
    assert (match.server_seed, match.awaiting) == (SEED, (None, None))
    assert match.result is not None
    assert (match.result.reason, match.result.places) == (CloseReason.RESIGNED, (1, 2))
    with pytest.raises(Rejected, match="MATCH_OVER"):
        await bench.submit(match, DRAW)


async def test_a_resignation_is_the_same_as_submitting_its_command() -> None:
    """Resign is idempotent, also together with SubmitCommand."""
    bench = Bench()
    match = await bench.create()
    first = await bench.referee.resign(BEN, match.match_id, 1, request_id="enough")
    again = await bench.referee.resign(BEN, match.match_id, 1, request_id="enough")
    same = await bench.submit(match, Resign(1), request_id="enough")
    assert (again.step, same.step) == (first.step, first.step)


async def test_a_match_played_out_is_closed_with_its_places() -> None:
    """[T-26] The rules end the game; the outcome is recorded in the same commit."""
    bench = Bench()
    match = await bench.play(await bench.create())
    assert match.result is not None
    assert (match.result.reason, sorted(match.result.places)) == (CloseReason.PLAYED_OUT, [1, 2])
    assert (await bench.steps(match))[-1].match == match


@pytest.mark.parametrize(
    ("caller", "seat", "reason"),
    [
        (BEN, 0, "SEAT_NOT_YOURS"),
        (EVE, 0, "SEAT_NOT_YOURS"),
        (WORKERS, 0, "SEAT_NOT_YOURS"),
        (ADA, 1, "SEAT_NOT_YOURS"),
        (player("bot:greedy-1"), 1, "SEAT_NOT_YOURS"),
        (ADA, 2, "SEAT_OUT_OF_RANGE"),
        (ADA, -1, "SEAT_OUT_OF_RANGE"),
        (player("ada", "history:read"), 0, "SCOPE_MISSING"),
    ],
)
async def test_a_seat_is_played_by_nobody_but_its_holder(caller: object, seat: int, reason: str) -> None:
    """[event_log 5.1] The binding of seats comes from the log, never from the request."""
    bench = Bench()
    match = await bench.create(AGAINST_THE_HOUSE)
    with pytest.raises(Refusal) as refusal:
        await bench.referee.submit(caller, Submission(match.match_id, seat, (DRAW,), "x"))  # type: ignore[arg-type]
    assert (refusal.value.reason, await bench.matches.fresh(match.match_id)) == (reason, match)


async def obligations(bench: Bench, match: Match) -> dict[str, int]:
    """Return what is due in the match's bucket, with the delays in s."""
    bucket = bench.log._buckets[bucket_of(match.match_id)]  # type: ignore[attr-defined]
    now = bench.log._clock()  # type: ignore[attr-defined]
    return {name: round((due - now) / 1000) for name, due in bucket.due.items()}


async def test_a_house_bots_turn_is_due_from_the_commit_that_makes_it_to_act() -> None:
    """The obligation names the version since which the seat is to act, and is due at once."""
    bench = Bench()
    match = await bench.create(AGAINST_THE_HOUSE)
    match = await bench.play_turn(match)
    assert await obligations(bench, match) == {f"bot|{match.match_id}|1|3": 0}


async def test_a_house_bots_next_command_is_due_later_because_its_task_goes_on() -> None:
    """Its own follow-up is due 3 s later; what it was obliged to do before is done."""
    bench = Bench()
    match = (await bench.submit(await bench.create(HOUSE_FIRST), DRAW)).step.match
    assert await obligations(bench, match) == {f"bot|{match.match_id}|0|2": 3}


async def test_a_house_bot_that_ended_its_turn_is_obliged_to_nothing() -> None:
    """The bot's own commit removes the obligation."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    match = await bench.play_turn(match)
    assert await obligations(bench, match) == {}


async def test_the_end_of_a_rated_match_obliges_to_tally_and_list_it_and_to_nothing_else() -> None:
    """The closing commit of a rated match sets its tally and clears the turns."""
    bench = Bench()
    match = await bench.create(AGAINST_THE_HOUSE)
    match = await bench.play_turn(match)
    match = (await bench.submit(match, Resign(0))).step.match
    assert await obligations(bench, match) == {f"tally|{match.match_id}": 0, f"list|{match.match_id}": 0}


async def test_the_end_of_a_casual_match_obliges_to_list_it() -> None:
    """Only rated matches are tallied."""
    bench = Bench()
    match = (await bench.submit(await bench.create(HOUSE_FIRST), Resign(1))).step.match
    assert await obligations(bench, match) == {f"list|{match.match_id}": 0}


async def test_a_commit_notes_its_actor_its_commands_and_now_and_then_the_states_hash() -> None:
    """[event_log 2.5] Every 20th commit carries the state's hash; the commands let an audit judge again."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=HASHED_EVERY + 1)
    metas = [decode_meta(commit.meta) for commit in await bench.log.read(match.match_id)]
    assert [index + 1 for index, meta in enumerate(metas) if meta.state_hash] == [HASHED_EVERY]
    assert {(meta.actor is None, not meta.commands) for meta in metas[1:]} == {(False, False)}
    assert msgspec.json.decode(msgspec.json.encode(metas[1]))["actor"] == 0
