"""Victory, no progress, resignation [Transcontinental 7]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.kernel import Outcome
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.events import CardsDiscarded, GameOver, MeldPlayed, TurnEnded, TurnStarted
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Side
from tests.support.transcontinental import (
    CP,
    GAME,
    UP,
    begun,
    cards,
    discard,
    draw,
    end_work,
    given,
    in_phase,
    kinds,
    meld,
    resign,
    table,
    trim,
)

WON = GameOver(EndReason.VICTORY, CP, cp_total=101, up_total=99)


def test_a_total_of_100_ends_the_game_within_the_turn() -> None:
    """[T-25] At once, after the meld: no camp, no discards, no turn's end."""
    state = (
        given(in_phase(Phase.WORK, "W1 W2 W3 W4 J1 L1 M1", totals=(97, 99)))
        .when(meld(CP, "W1 W2 W3 W4"))
        .then(MeldPlayed(CP, cards("W1 W2 W3 W4"), kinds("rail line rail_line"), points=4, total=101), WON)
    )
    assert (state.phase, len(state.cp.hand)) == (Phase.OVER, 3)


@pytest.mark.parametrize(("total", "over"), [(98, False), (99, True)])
def test_100_is_needed_and_enough(total: int, over: bool) -> None:
    """[Transcontinental 7.1] 100 or more."""
    state = in_phase(Phase.WORK, "W3 J3 L3", totals=(total, 0))
    assert given(state).when(meld(CP, "W3 J3 L3")).then_state(lambda end: end.phase is Phase.OVER) == over


def test_there_is_no_tie_break_and_no_last_turn_for_up() -> None:
    """[T-26] Only the active player scores, so never both reach 100."""
    state = (
        given(in_phase(Phase.WORK, "W3 J3 L3", totals=(99, 99))).when(meld(CP, "W3 J3 L3")).then_state(lambda end: end)
    )
    assert (state.result and state.result.winner, GAME.to_act(state), state.up.total) == (CP, (), 99)


@pytest.mark.parametrize(
    ("totals", "winner", "places"), [((40, 41), UP, (2, 1)), ((41, 40), CP, (1, 2)), ((17, 17), None, (1, 1))]
)
def test_a_hundred_turns_without_a_meld_end_the_game(
    totals: tuple[int, int], winner: Side | None, places: tuple[int, int]
) -> None:
    """[T-27] The higher total wins; equal totals are a draw, which shares the first place."""
    state = (
        given(in_phase(Phase.SURVEYORS, "D1", totals=totals, idle=99))
        .when(discard(CP))
        .then(
            CardsDiscarded(CP, Phase.SURVEYORS, ()),
            TurnEnded(1, CP, idle=100),
            GameOver(EndReason.NO_PROGRESS, winner, *totals),
        )
    )
    assert GAME.outcome(state) == Outcome("no_progress", resigned=False, places=places, scores=totals)


def test_the_limit_also_ends_a_turn_that_ends_in_logistics() -> None:
    """[Transcontinental 7.2] Whichever command ends it."""
    state = in_phase(Phase.LOGISTICS, "W1 W2 W4 J5 J7 L8 L9 M3 D1 D2 D3", idle=99)
    given(state).when(trim(CP, "D3")).then(
        CardsDiscarded(CP, Phase.LOGISTICS, cards("D3")),
        TurnEnded(1, CP, idle=100),
        GameOver(EndReason.NO_PROGRESS, None, 0, 0),
    )


@pytest.mark.parametrize(("idle", "melds"), [(98, 0), (99, 1)])
def test_before_the_limit_the_game_goes_on(idle: int, melds: int) -> None:
    """[T-27] 99 turns, or a meld in the hundredth."""
    state = in_phase(Phase.SURVEYORS, "D1", idle=idle, melds=melds)
    given(state).when(discard(CP)).then(
        CardsDiscarded(CP, Phase.SURVEYORS, ()),
        TurnEnded(1, CP, idle=0 if melds else 99),
        TurnStarted(2, UP),
    )


@pytest.mark.parametrize(("side", "winner"), [(CP, UP), (UP, CP)])
@pytest.mark.parametrize("phase", [Phase.PLANNING, Phase.WORK, Phase.SURVEYORS, Phase.LOGISTICS])
def test_either_player_may_resign_at_any_time(side: Side, winner: Side, phase: Phase) -> None:
    """[T-28] The opponent wins, whatever the totals are, and they stay."""
    given(in_phase(phase, "W1", up="D1", totals=(10, 90))).when(resign(side)).then(
        GameOver(EndReason.RESIGNATION, winner, cp_total=10, up_total=90)
    )


def test_a_resignation_puts_the_seat_that_resigned_last() -> None:
    """[Transcontinental 7.3] Places and totals by seat, here with CP on seat 1."""
    state = given(replace(table("W1", totals=(10, 90)), cp_seat=1)).when(resign(UP)).then_state(lambda end: end)
    assert GAME.outcome(state) == Outcome("resignation", resigned=True, places=(1, 2), scores=(90, 10))


def test_an_open_game_has_no_outcome() -> None:
    """[Transcontinental 7] It ends by victory, no progress or resignation only."""
    assert GAME.outcome(begun()) is None


def test_a_victory_puts_the_winner_first() -> None:
    """[Transcontinental 7.1] The loser keeps 0 to 99."""
    state = (
        given(in_phase(Phase.WORK, "W3 J3 L3", totals=(99, 3))).when(meld(CP, "W3 J3 L3")).then_state(lambda end: end)
    )
    assert GAME.outcome(state) == Outcome("victory", resigned=False, places=(1, 2), scores=(100, 3))


@pytest.mark.parametrize(
    "command", [draw(UP), meld(CP, "J1 L1 M1"), end_work(CP), discard(CP), trim(CP, "J1"), resign(UP)]
)
def test_after_the_end_nothing_is_accepted(command: Command) -> None:
    """[T-38] One game, no series: the rules know nothing after `GameOver`."""
    given(in_phase(Phase.OVER, "J1 L1 M1")).when(command).refused("MATCH_OVER", rule="Transcontinental 7")


def test_the_most_points_of_a_turn_are_50() -> None:
    """[Transcontinental 7.4] A rail line of ten; the eleventh card makes no second meld."""
    state = in_phase(Phase.WORK, "M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 W1")
    assert max(option.points for option in GAME.legal(state, 0).melds) == 50
    after = given(state).when(meld(CP, "M1 M2 M3 M4 M5 M6 M7 M8 M9 M10")).then_state(lambda end: end)
    assert (after.cp.total, GAME.legal(after, 0).melds) == (50, ())
