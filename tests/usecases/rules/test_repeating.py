"""Changing one's mind again and again: allowed, but not without end, since every change is a commit that others see."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.games.pacific.commands import PutOut, Resign, SetExplicitRuns
from promontory.games.pacific.vocabulary import Phase
from promontory.rules.domain import MOST_REPEATED, Match, SeatSetup, Setup
from promontory.runtime.errors import Refusal
from tests.support.refereeing import Bench, holder

THREE_PLAYERS = Setup(tuple(SeatSetup(name) for name in ("ada", "ben", "cleo")))


def hand(match: Match, seat: int = 0) -> tuple[str, ...]:
    cards: tuple[str, ...] = match.state.players[seat].holdings.hand
    return cards


async def put_out(bench: Bench, *, changes: int) -> Match:
    """Return a match of three in which seat 0 has put a card out and then taken another one, so many times."""
    match = await bench.create(THREE_PLAYERS)
    for number in range(1 + changes):
        match = (await bench.submit(match, PutOut(0, hand(match)[number % 2]))).step.match
    return match


async def test_a_seat_changes_its_mind_so_often_and_no_more() -> None:
    """[TOO_MANY_CHANGES] [P-4] Else one seat could keep all others from being heard, and fill the log without end."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    with pytest.raises(Refusal) as refused:
        await bench.submit(match, PutOut(0, hand(match)[0]))
    assert (refused.value.reason, refused.value.metadata) == ("TOO_MANY_CHANGES", {"limit": MOST_REPEATED})
    assert await bench.matches.fresh(match.match_id) == match


async def test_settings_count_as_changes() -> None:
    """[Pacific 4.3] They may be set at any time, also before the seat has answered."""
    bench = Bench(game="pacific")
    match = await bench.create(THREE_PLAYERS)
    for number in range(MOST_REPEATED):
        match = (await bench.submit(match, SetExplicitRuns(0, number % 2 == 0))).step.match
    with pytest.raises(Refusal, match="resign"):
        await bench.submit(match, SetExplicitRuns(0, True))
    answered = await bench.submit(match, SetExplicitRuns(0, True), PutOut(0, hand(match)[0]))
    assert answered.step.match.to_act == (1, 2)


async def test_others_may_still_change_their_minds() -> None:
    """The limit is each seat's own."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    assert (await bench.submit(match, SetExplicitRuns(1, True))).step.version == match.version + 1


async def test_who_has_changed_too_often_may_resign() -> None:
    """[P-52] Nobody is held in a match."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    assert (await bench.submit(match, Resign(0))).step.match.state.resigned == (0,)


async def test_an_answer_in_the_next_phase_makes_changes_free_again() -> None:
    """The limit is for changes in a row."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    match = (await bench.submit(match, PutOut(1, hand(match, 1)[0]))).step.match
    match = (await bench.submit(match, PutOut(2, hand(match, 2)[0]))).step.match
    assert match.state.phase is Phase.CHOOSE
    match = (await bench.submit(match, bench.ruleset.game.automatic(match.state, 0))).step.match
    assert (await bench.submit(match, SetExplicitRuns(0, True))).step.match.repeated == (1, 0, 0)


async def test_a_repeated_request_returns_the_first_answer_beyond_the_limit() -> None:
    """[SubmitCommand] However late; also to a replica, which counts from the log."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    again = await bench.replica().submit(match, PutOut(0, hand(match)[1]), request_id="at-2")
    assert (again.step.version, again.duplicate) == (3, True)


@pytest.mark.parametrize(
    "commands", [(SetExplicitRuns(0, True),), (SetExplicitRuns(0, True), SetExplicitRuns(0, False))]
)
async def test_previews_tell_it(commands: tuple[Any, ...]) -> None:
    """[PreviewCommand] It fails as submitting would."""
    bench = Bench(game="pacific")
    match = await put_out(bench, changes=MOST_REPEATED)
    with pytest.raises(Refusal) as refused:
        await bench.referee.preview(holder(match, 0), match.match_id, 0, commands)
    assert refused.value.reason == "TOO_MANY_CHANGES"
