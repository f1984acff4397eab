"""Drawing the turn's card [Transcontinental 3.2]."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.events import CardDrawn, MeldPlayed
from promontory.games.transcontinental.vocabulary import Phase, Source
from tests.support.transcontinental import (
    CP,
    UP,
    card,
    cards,
    codes,
    discard,
    draw,
    end_work,
    given,
    held,
    kinds,
    meld,
    table,
)


def test_the_top_card_of_the_deck_joins_the_hand() -> None:
    """[Transcontinental 3.2] The deck is always available; after the draw it is the work phase."""
    state = given(table("D1", deck="L1 L2")).when(draw(CP)).then(CardDrawn(CP, Source.DECK, card("L1").id))
    assert (state.phase, state.cp.hand, state.deck[0]) == (Phase.WORK, held("D1 L1"), card("L2").id)


def test_only_the_top_card_of_the_discard_pile_can_be_drawn() -> None:
    """[T-8] The top one, never a deeper one."""
    state = (
        given(table("D1", discard="J1 J2"))
        .when(draw(CP, Source.DISCARD))
        .then(CardDrawn(CP, Source.DISCARD, card("J2").id))
    )
    assert codes(state.discard) == "J1"


def test_an_empty_discard_pile_cannot_be_drawn_from() -> None:
    """[Transcontinental 3.2] The pile must hold a card."""
    given(table("D1")).when(draw(CP, Source.DISCARD)).refused("DISCARD_EMPTY", rule="Transcontinental 3.2")


def test_the_discard_pile_is_barred_after_a_draw_from_it_in_the_own_turn_before() -> None:
    """[T-9] Not two own turns in a row, whatever the opponent drew in between."""
    state = table("D1", "D2", discard="J1 J2 J3", drew_discard=(True, True))
    given(state).when(draw(CP, Source.DISCARD)).refused("DISCARD_TWICE", rule="T-9")


def test_the_opponents_draw_from_the_discard_pile_does_not_bar_it() -> None:
    """[T-9] The rule belongs to one player."""
    state = table("D1", "D2", discard="J1 J2 J3", drew_discard=(False, True))
    given(state).when(draw(CP, Source.DISCARD)).then(CardDrawn(CP, Source.DISCARD, card("J3").id))


@pytest.mark.parametrize(("source", "barred"), [(Source.DECK, False), (Source.DISCARD, True)])
def test_the_last_draw_of_the_side_decides_whether_the_pile_is_barred(source: Source, barred: bool) -> None:
    """[T-9] A draw from the deck opens the discard pile again for the next own turn."""
    state = table("D1", discard="J1 J2", drew_discard=(False, True))
    after_draw = given(state).when(draw(CP, source)).then_state(lambda reached: reached)
    assert (after_draw.cp.drew_discard, after_draw.up.drew_discard) == (barred, True)


def test_the_draw_cannot_be_skipped() -> None:
    """[T-7] Nothing else is possible in the planning phase."""
    given(table("W1 W2 W3 W4")).when(end_work(CP)).refused("WRONG_PHASE", rule="Transcontinental 3.1", phase="planning")


def test_only_one_card_is_drawn_a_turn() -> None:
    """[T-7] Exactly one card."""
    given(table("D1")).when(draw(CP), draw(CP)).refused("WRONG_PHASE", rule="Transcontinental 3.1", phase="work")


@pytest.mark.parametrize("source", [Source.DECK, Source.DISCARD])
def test_the_drawn_card_can_be_melded_at_once(source: Source) -> None:
    """[T-10] From whichever pile it came."""
    state = table("W3 J3", deck="L3", discard="L3" if source is Source.DISCARD else "")
    given(state).when(draw(CP, source), meld(CP, "L3 W3 J3")).then_last(
        MeldPlayed(CP, cards("L3 W3 J3"), kinds("surplus"), points=1, total=1)
    )


def test_the_drawn_card_can_be_discarded_in_the_same_turn() -> None:
    """[T-10] No restriction."""
    state = given(table("D1", deck="L3")).when(draw(CP), end_work(CP), discard(CP, "L3")).then_state(lambda end: end)
    assert codes(state.discard) == "L3"


def test_a_player_may_draw_back_a_card_of_their_own_meld() -> None:
    """[T-31] Whatever lies on top may be taken, also by whoever put it there."""
    state = table("W3 J3 L3", "D1", deck="W9 L9 M1 M2 M4 M5 M6 M7 M8 M9 D2")
    turn = (draw(CP), meld(CP, "W3 J3 L3"), end_work(CP), discard(CP), draw(UP), end_work(UP), discard(UP))
    given(state).when(*turn, draw(CP, Source.DISCARD)).then_last(CardDrawn(CP, Source.DISCARD, card("L3").id))


@pytest.mark.parametrize("source", ["", "hand", None])
def test_an_unknown_pile_is_a_bad_request(source: Source) -> None:
    """[Transcontinental 9.2] The source is `deck` or `discard`."""
    given(table("D1")).when(DrawCard(0, source)).refused("BAD_REQUEST", rule="Transcontinental 9.2", field="source")
