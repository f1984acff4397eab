"""Sides, deal and first turn [Transcontinental 2]."""

from __future__ import annotations

import pytest

from promontory.games.fairness import KeyedDraws
from promontory.games.transcontinental.events import DeckShuffled, HandsDealt, SidesAssigned, TurnStarted
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.transcontinental import CP, DECK, GAME, UP, FileOrder, after, begun, cards, codes


def test_the_set_up_assigns_sides_shuffles_deals_and_starts_the_first_turn() -> None:
    """[Transcontinental 2] Four events bring a game to its first decision."""
    assert GAME.begin(GAME.initial(2), FileOrder(), draw_start=False) == (
        SidesAssigned(0),
        DeckShuffled(1, 77, DECK.ids),
        HandsDealt(cards("W1 W3 W5 W7 W9 E1 E3 E5 E7 E9"), cards("W2 W4 W6 W8 W10 E2 E4 E6 E8 E10")),
        TurnStarted(1, CP),
    )


def test_cards_are_dealt_one_at_a_time_to_cp_first() -> None:
    """[T-5] CP gets the cards 1, 3 ... 19 of the pile, UP the cards 2, 4 ... 20; 57 remain."""
    state = begun()
    assert codes(DECK.in_order(state.cp.hand)) == "W1 W3 W5 W7 W9 E1 E3 E5 E7 E9"
    assert codes(DECK.in_order(state.up.hand)) == "W2 W4 W6 W8 W10 E2 E4 E6 E8 E10"
    assert state.deck == DECK.ids[20:]


def test_no_card_is_turned_up() -> None:
    """[T-6] The discard pile starts empty."""
    assert begun().discard == ()


def test_seat_0_is_cp_unless_the_sides_are_drawn() -> None:
    """[T-4] By default seat 0 plays CP and begins."""
    assert GAME.to_act(begun()) == (0,)


def test_the_sides_can_be_drawn() -> None:
    """[T-4] With `draw_start` the draw `start`, number 0, index 0 of 2 names the seat that plays CP and begins."""
    rng = KeyedDraws(bytes(32), "transcontinental")
    drawn = rng.integer(2, "start", 0, 0)
    state = begun(rng, draw_start=True)
    assert (state.cp_seat, GAME.to_act(state)) == (drawn, (drawn,))


def test_the_seat_that_does_not_play_cp_plays_up() -> None:
    """[T-4] Where seat 1 plays CP, seat 0 plays UP."""
    state = after(GAME.initial(2), SidesAssigned(1))
    assert [state.side_of(0), state.side_of(1), state.seat_of(CP), state.seat_of(UP)] == [UP, CP, 1, 0]


def test_cp_takes_the_first_turn() -> None:
    """[Transcontinental 2] CP starts in the planning phase of turn 1."""
    state = begun()
    assert (state.active, state.phase, state.turn) == (CP, Phase.PLANNING, 1)


def test_the_game_is_for_exactly_two() -> None:
    """[Transcontinental 2] One player is CP, the other UP."""
    assert list(GAME.seats) == [2]


@pytest.mark.parametrize("seats", [0, 1, 3])
def test_another_number_of_seats_is_an_error(seats: int) -> None:
    """[Transcontinental 2] There is no state for it."""
    with pytest.raises(ValueError, match="a game for 2 seats"):
        GAME.initial(seats)
