"""Melding [Transcontinental 3.3] and refilling the hand in the camp [Transcontinental 3.4]."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.events import HandRefilled, MeldPlayed, WorkEnded
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.transcontinental import CP, GAME, card, cards, codes, end_work, given, held, in_phase, kinds, meld

WORK = Phase.WORK


def test_a_meld_scores_at_once_and_work_goes_on() -> None:
    """[Transcontinental 3.3] Zero or more melds a turn."""
    state = (
        given(in_phase(WORK, "W1 W2 W3 W4 D1", totals=(7, 0)))
        .when(meld(CP, "W1 W2 W3 W4"))
        .then(MeldPlayed(CP, cards("W1 W2 W3 W4"), kinds("rail line rail_line"), points=4, total=11))
    )
    assert (state.phase, state.cp.total, state.cp.hand, state.melds) == (WORK, 11, held("D1"), 1)


def test_a_card_belongs_to_one_meld() -> None:
    """[T-11] A card of an earlier meld is gone."""
    given(in_phase(WORK, "W1 W2 W3 W4 J1 L1")).when(meld(CP, "W1 W2 W3 W4"), meld(CP, "W1 J1 L1")).refused(
        "CARD_NOT_IN_HAND", rule="Transcontinental 9.2", cardId=card("W1").id
    )


def test_a_meld_cannot_be_extended() -> None:
    """[T-11] A single card is no meld, whatever was played before."""
    given(in_phase(WORK, "W1 W2 W3 W4 W5")).when(meld(CP, "W1 W2 W3 W4"), meld(CP, "W5")).refused(
        "NOT_A_MELD", rule="Transcontinental 4.1", size=1
    )


def test_a_player_who_could_meld_need_not() -> None:
    """[Transcontinental 3.3] Melding is a choice."""
    given(in_phase(WORK, "W1 W2 W3 W4")).when(end_work(CP)).then(WorkEnded(CP, melds=0))


@pytest.mark.parametrize("hand", ["", "W1 W2", "W1 W2 W4 J5 J7 L8 L9 M3 D1 D2 D3"])
def test_without_a_meld_nothing_is_drawn_in_the_camp(hand: str) -> None:
    """[Transcontinental 3.4] However small the hand."""
    state = given(in_phase(WORK, hand)).when(end_work(CP)).then(WorkEnded(CP, melds=0))
    assert (state.phase, state.cp.hand) == (Phase.SURVEYORS, held(hand))


def test_after_a_meld_the_hand_is_filled_to_exactly_ten() -> None:
    """[T-12] The refill is mandatory and complete, from the top of the deck."""
    state = in_phase(WORK, "W3 J3 L3 D1", deck="M1 M2 M4 M5 M6 M7 M8 M9 M10 L1")
    reached = (
        given(state)
        .when(meld(CP, "W3 J3 L3"), end_work(CP))
        .then_last(WorkEnded(CP, melds=1), HandRefilled(CP, 9, cards("M1 M2 M4 M5 M6 M7 M8 M9 M10")))
    )
    assert (len(reached.cp.hand), codes(reached.deck[:1])) == (10, "L1")


def test_the_smallest_refill_is_two_cards() -> None:
    """[Transcontinental 3.4] After a meld the hand has at most 8 cards."""
    state = in_phase(WORK, "W3 J3 L3 D1 D2 D3 D4 D5 D6 D7 M9", deck="M1 M2")
    given(state).when(meld(CP, "W3 J3 L3"), end_work(CP)).then_last(
        WorkEnded(CP, melds=1), HandRefilled(CP, 2, cards("M1 M2"))
    )


@pytest.mark.parametrize("drew", [True, False])
def test_the_camp_leaves_discard_pile_and_its_bar_alone(drew: bool) -> None:
    """[T-13] Refilling is no planning draw: it takes from the deck only and does not touch `drew_discard`."""
    state = in_phase(WORK, "W3 J3 L3", discard="J1 J2", drew_discard=(drew, False))
    reached = given(state).when(meld(CP, "W3 J3 L3"), end_work(CP)).then_state(lambda end: end)
    assert (codes(reached.discard), reached.cp.drew_discard) == ("J1 J2 W3 J3 L3", drew)


def test_an_action_cannot_be_taken_back() -> None:
    """[T-36] Every accepted command moves the game on: after the draw there is nothing that leads back."""
    legal = GAME.legal(in_phase(WORK, "W1 J5"), 0)
    assert (legal.draw_sources, legal.melds, legal.end_work, legal.discard, legal.trim) == ((), (), True, None, None)
