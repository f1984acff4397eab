"""What a seat knows, made whole: states to search ahead from."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.pacific.execution import proceed
from promontory.games.pacific.sampling import determinize
from promontory.games.pacific.state import State
from tests.support.pacific import DECK, GAME, after, begun, choose, choosing, player, seeded, state_after
from tests.support.pacific_play import SEATS, TEMPERS, plain, played


@given(
    temper=st.sampled_from(sorted(TEMPERS)),
    seats=st.sampled_from(SEATS),
    seed=st.integers(0, 1),
    when=st.floats(0, 1),
    seat=st.integers(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_a_sampled_state_looks_to_the_seat_like_its_game(
    temper: str, seats: int, seed: int, when: float, seat: int
) -> None:
    """[Pacific 7] A sample adds nothing to what the seat may know, and takes nothing from it."""
    commits = played(temper, seats, seed)
    view = GAME.view(commits[int(when * (len(commits) - 1))].after, seat)
    assert GAME.view(determinize(DECK, view, Random(seed)), seat) == view


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("when", [5, 25, 45])
def test_a_sampled_state_can_be_played_to_the_end(seats: int, when: int) -> None:
    """[Pacific 2.1] By the referee's own rules."""
    rng = seeded(when)
    state = determinize(DECK, GAME.view(played("plain", seats, 0)[when].after, 0), rng)
    while to_act := GAME.to_act(state):
        command = plain(state, to_act[0], GAME.legal(state, to_act[0]), rng)
        state = after(state, *GAME.decide(state, command, BlindDraws()))
    assert GAME.outcome(state) is not None


def test_every_card_is_in_one_place() -> None:
    """[Pacific 1.4] Other hands and the draw deck share what the seat has not seen."""
    state = determinize(DECK, GAME.view(begun(4), 2), seeded(1))
    cards = [*state.deck, *(card for one in state.players for card in one.holdings.hand)]
    assert sorted(cards) == sorted(DECK.ids)
    assert state.players[2].holdings.hand == begun(4).players[2].holdings.hand


def drew(extra: str) -> State:
    """Return a game in which seat 0 has drawn a card and seat 1 will draw one, both in the middle of executing."""
    seats = [player(hand=DECK.ids[0], active="make_the_rounds"), player(active="make_the_rounds"), player()]
    dealt = {DECK.ids[0], "computer_chip_factory", extra, "spas"}
    deck = " ".join(card for card in DECK.ids if card not in dealt)
    state = choosing(*seats, table=f"computer_chip_factory {extra} spas", deck=deck)
    return state_after(state, *choose((0, 1), (0, 1), 2))


def test_cards_drawn_so_far_are_those_of_the_hand() -> None:
    """[P-3] What is reserved but not drawn is among the unseen."""
    state = drew("fishing")
    own = GAME.view(state, 0)
    sampled = determinize(DECK, own, seeded(3))
    assert GAME.view(sampled, 0) == own
    assert len([card for one in sampled.players for card in one.execution.reservations]) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("seat", [0, 1])
def test_an_execution_leads_to_what_its_player_has(seat: int) -> None:
    """[P-3] From its start, the cards drawn since among the hand."""
    sampled = determinize(DECK, GAME.view(drew("fishing"), seat), seeded(3))
    for number, one in enumerate(sampled.players[:2]):
        assert one.execution is not None
        assert proceed(DECK, number, one, one.execution).holdings == one.holdings


def test_the_same_random_numbers_give_the_same_state() -> None:
    view = GAME.view(played("plain", 3, 0)[20].after, 0)
    assert determinize(DECK, view, seeded(1)) == determinize(DECK, view, seeded(1))
    assert determinize(DECK, view, seeded(1)) != determinize(DECK, view, seeded(2))


def test_a_spectator_cannot_search_ahead() -> None:
    with pytest.raises(ValueError, match="spectator"):
        determinize(DECK, GAME.view(begun(3), None), seeded(1))


@pytest.mark.parametrize("change", [{"hand_card_ids": ("no_such_card",)}, {"deck_size": 3}])
def test_a_view_of_another_deck_is_refused(change: dict[str, object]) -> None:
    view = replace(GAME.view(begun(3), 0), **change)
    with pytest.raises(ValueError, match="another deck"):
        determinize(DECK, view, seeded(1))
