"""What a seat knows, made whole: states to search ahead from."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promontory.bots.registry import policy
from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.transcontinental.sampling import determinize
from promontory.games.transcontinental.state import State
from tests.support.transcontinental import DECK, GAME, seeded

RANDOM, GREEDY = policy(GAME, "random"), policy(GAME, "greedy")


def reached(seed: int, decisions: int) -> State:
    """Return the state after so many decisions, or the last one, of a random game."""
    rng, draws = Random(seed), KeyedDraws(seed.to_bytes(32, "big"), GAME.name)
    state = fold(GAME, GAME.initial(2), GAME.begin(GAME.initial(2), draws, draw_start=True))
    for _ in range(decisions):
        if seats := GAME.to_act(state):
            state = fold(GAME, state, GAME.decide(state, RANDOM(GAME.view(state, seats[0]), rng), draws))
    return state


@given(seed=st.integers(0, 2**32), decisions=st.integers(0, 400), seat=st.sampled_from([0, 1]))
@settings(max_examples=60, deadline=None)
def test_a_sampled_state_looks_to_the_seat_like_its_game(seed: int, decisions: int, seat: int) -> None:
    """[Transcontinental 10.1] A sample adds nothing to what the seat may know, and takes nothing from it."""
    view = GAME.view(reached(seed, decisions), seat)
    assert GAME.view(determinize(DECK, view, Random(seed)), seat) == view


@given(seed=st.integers(0, 2**32), decisions=st.integers(0, 200))
@settings(max_examples=20, deadline=None)
def test_a_sampled_state_can_be_played_to_the_end(seed: int, decisions: int) -> None:
    state = determinize(DECK, GAME.view(reached(seed, decisions), 0), Random(seed))
    draws, rng = KeyedDraws(bytes(32), GAME.name), Random(seed)
    while seats := GAME.to_act(state):
        state = fold(GAME, state, GAME.decide(state, GREEDY(GAME.view(state, seats[0]), rng), draws))
    assert GAME.outcome(state) is not None


def test_the_same_random_numbers_give_the_same_state() -> None:
    view = GAME.view(reached(5, 40), 0)
    assert determinize(DECK, view, seeded(1)) == determinize(DECK, view, seeded(1))
    assert determinize(DECK, view, seeded(1)) != determinize(DECK, view, seeded(2))


def test_a_spectator_cannot_search_ahead() -> None:
    with pytest.raises(ValueError, match="spectator"):
        determinize(DECK, GAME.view(reached(5, 40), None), seeded(1))


@pytest.mark.parametrize("change", [{"hand_card_ids": ("no-such-card",)}, {"deck_size": 3}])
def test_a_view_of_another_deck_is_refused(change: dict[str, object]) -> None:
    view = replace(GAME.view(reached(5, 40), 0), **change)
    with pytest.raises(ValueError, match="another deck"):
        determinize(DECK, view, seeded(1))
