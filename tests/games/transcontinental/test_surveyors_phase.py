"""Discarding and the end of a turn [Transcontinental 3.5 to 3.7]."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.events import CardsDiscarded, TurnEnded, TurnStarted
from promontory.games.transcontinental.legal import CardChoice
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.transcontinental import (
    CP,
    DECK,
    GAME,
    UP,
    card,
    cards,
    codes,
    discard,
    draw,
    given,
    held,
    in_phase,
    table,
    trim,
)

SURVEYORS, LOGISTICS = Phase.SURVEYORS, Phase.LOGISTICS
ELEVEN = "W1 W2 W4 J5 J7 L8 L9 M3 D1 D2 D3"


@pytest.mark.parametrize("thrown", ["", "W1", "D3 W1 J5 L9 D1"])
def test_up_to_five_cards_may_be_discarded_without_a_meld(thrown: str) -> None:
    """[T-14] No condition: any cards, or none."""
    state = in_phase(SURVEYORS, "W1 W2 W4 J5 J7 L8 L9 M3 D1 D3")
    given(state).when(discard(CP, thrown)).then(
        CardsDiscarded(CP, SURVEYORS, cards(thrown)), TurnEnded(1, CP, idle=1), TurnStarted(2, UP)
    )


def test_the_whole_hand_may_be_discarded() -> None:
    """[T-14] An empty hand is legal."""
    state = given(in_phase(SURVEYORS, "W1 J5 D1")).when(discard(CP, "D1 W1 J5")).then_state(lambda end: end)
    assert state.cp.hand == frozenset()


def test_six_cards_are_too_many() -> None:
    """[Transcontinental 3.5] At most five."""
    given(in_phase(SURVEYORS, ELEVEN)).when(discard(CP, "W1 W2 W4 J5 J7 L8")).refused(
        "TOO_MANY_DISCARDS", rule="Transcontinental 3.5", count=6
    )


def test_discards_lie_in_the_order_of_the_command() -> None:
    """[T-15] The last one listed is the new top card, in surveyors and logistics alike."""
    surveyors = given(in_phase(SURVEYORS, "W1 W2 D1", discard="J1")).when(discard(CP, "W2 D1 W1"))
    logistics = given(in_phase(LOGISTICS, ELEVEN, discard="J1")).when(trim(CP, "L8"))
    assert surveyors.then_state(lambda end: codes(end.discard)) == "J1 W2 D1 W1"
    assert logistics.then_state(lambda end: codes(end.discard)) == "J1 L8"


def test_difficulty_cards_can_be_discarded_in_both_phases() -> None:
    """[T-21] By choice and by force."""
    surveyors = given(in_phase(SURVEYORS, "W1 D1 D2")).when(discard(CP, "D1 D2"))
    logistics = given(in_phase(LOGISTICS, ELEVEN)).when(trim(CP, "D1"))
    assert surveyors.then_state(lambda end: codes(end.discard)) == "D1 D2"
    assert logistics.then_state(lambda end: codes(end.discard)) == "D1"


def test_eleven_cards_after_surveyors_lead_to_logistics() -> None:
    """[T-32] Eleven cards are allowed until then."""
    state = given(in_phase(SURVEYORS, ELEVEN)).when(discard(CP)).then(CardsDiscarded(CP, SURVEYORS, ()))
    assert (state.phase, len(state.cp.hand), GAME.to_act(state)) == (LOGISTICS, 11, (0,))


def test_a_hand_of_eleven_is_kept_through_the_work_phase() -> None:
    """[T-32] The limit is only checked in logistics."""
    state = table("W1 W2 W4 J5 J7 L8 L9 M3 D1 D2", deck="D3")
    assert given(state).when(draw(CP)).then_state(lambda end: len(end.cp.hand)) == 11


def test_logistics_takes_exactly_the_excess_and_ends_the_turn() -> None:
    """[Transcontinental 3.6] With 11 cards exactly one."""
    given(in_phase(LOGISTICS, ELEVEN)).when(trim(CP, "W4")).then(
        CardsDiscarded(CP, LOGISTICS, cards("W4")), TurnEnded(1, CP, idle=1), TurnStarted(2, UP)
    )


@pytest.mark.parametrize(("thrown", "count"), [("", 0), ("D1 D2", 2)])
def test_another_number_of_cards_is_refused_in_logistics(thrown: str, count: int) -> None:
    """[Transcontinental 3.6] Neither fewer nor more."""
    given(in_phase(LOGISTICS, ELEVEN)).when(trim(CP, thrown)).refused(
        "WRONG_DISCARD_COUNT", rule="Transcontinental 3.6", count=count, required=1
    )


def test_the_forced_discard_does_not_count_toward_the_five() -> None:
    """[T-16] A hand of 16, which a turn cannot reach, may lose five cards and must then lose one more."""
    hand = f"{ELEVEN} E3 E4 E5 E6 E7"
    state = given(in_phase(SURVEYORS, hand)).when(discard(CP, "E3 E4 E5 E6 E7")).then_state(lambda end: end)
    kept = held(ELEVEN)
    assert (state.phase, GAME.legal(state, 0).trim) == (LOGISTICS, CardChoice(DECK.in_order(kept), 1, 1))


def test_with_ten_cards_logistics_is_skipped() -> None:
    """[Transcontinental 3.6] One voluntary discard is enough."""
    state = given(in_phase(SURVEYORS, ELEVEN)).when(discard(CP, "D2")).then_state(lambda end: end)
    assert (state.phase, state.active) == (Phase.PLANNING, UP)


@pytest.mark.parametrize(("melds", "idle"), [(0, 8), (1, 0), (2, 0)])
def test_a_turn_with_a_meld_sets_idle_back(melds: int, idle: int) -> None:
    """[Transcontinental 3.7] A turn without one counts on."""
    given(in_phase(SURVEYORS, "W1", melds=melds, idle=7)).when(discard(CP)).then(
        CardsDiscarded(CP, SURVEYORS, ()), TurnEnded(1, CP, idle=idle), TurnStarted(2, UP)
    )


def test_turns_alternate_and_a_new_turn_has_no_melds_yet() -> None:
    """[Transcontinental 3.7] The other side starts in the planning phase."""
    state = given(in_phase(SURVEYORS, "W1", melds=2)).when(discard(CP)).then_state(lambda end: end)
    assert (state.turn, state.active, state.phase, state.melds) == (2, UP, Phase.PLANNING, 0)


def test_the_active_player_makes_every_decision_of_a_turn() -> None:
    """[Transcontinental 3.1] The opponent never decides anything but to resign."""
    given(in_phase(SURVEYORS, "W1", up="D1")).when(discard(UP, "D1")).refused(
        "NOT_YOUR_TURN", rule="Transcontinental 3.1", toAct=0
    )


def test_a_card_not_held_cannot_be_discarded() -> None:
    """[Transcontinental 9.2] Wherever it is: the refusal is the same for a card of the other hand and of the deck."""
    for_hand = given(in_phase(SURVEYORS, "W1", up="D1")).when(discard(CP, "D1"))
    for_deck = given(in_phase(SURVEYORS, "W1", deck="D1")).when(discard(CP, "D1"))
    for_hand.refused("CARD_NOT_IN_HAND", rule="Transcontinental 9.2", cardId=card("D1").id)
    for_deck.refused("CARD_NOT_IN_HAND", rule="Transcontinental 9.2", cardId=card("D1").id)
