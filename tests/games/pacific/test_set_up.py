"""Deal, set-up for two, and the only random act [Pacific 1.4 to 1.6]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from promontory.games import fairness
from promontory.games.pacific.commands import PutOut
from promontory.games.pacific.events import (
    DeckShuffled,
    DummiesDealt,
    HandDealt,
    PhaseStarted,
    SetupChosen,
    SetupPlaced,
)
from promontory.games.pacific.vocabulary import Area, Phase
from tests.support.pacific import (
    DECK,
    GAME,
    begun,
    decide,
    given,
    only,
    outcome,
    put_out,
    set_up,
    state_after,
)

RNG = fairness.KeyedDraws(fairness.match_key("match-1", bytes(range(32)), [b"", b"", b""]), GAME.name)


class Recorder:
    """Draws of nothing that note what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Note the draw and return 0."""
        self.asked.append((n, purpose, number, index))
        return 0

    def shuffle(self, items: Sequence[Any], purpose: str, number: int) -> tuple[Any, ...]:
        """Note the shuffle and leave the items as they are."""
        self.asked.append((tuple(items), purpose, number))
        return tuple(items)


@pytest.mark.parametrize(("seats", "left"), [(2, 60), (3, 50), (4, 40), (5, 30)])
def test_ten_cards_are_dealt_to_every_seat(seats: int, left: int) -> None:
    """[Pacific 1.4] Seat s gets positions 10s to 10s+9; the rest is the draw deck, its first card on top."""
    state = begun(seats)
    assert [one.holdings.hand for one in state.players] == [DECK.ids[10 * s : 10 * s + 10] for s in range(seats)]
    assert (state.deck, len(state.deck)) == (DECK.ids[10 * seats :], left)


@pytest.mark.parametrize("seats", [0, 1, 6])
def test_the_game_is_for_two_to_five(seats: int) -> None:
    """[Pacific 1.4] Nobody else can begin it."""
    with pytest.raises(ValueError, match="2 to 5 seats"):
        GAME.initial(seats)


@pytest.mark.parametrize("seats", [3, 4, 5])
def test_three_or_more_begin_with_turn_1(seats: int) -> None:
    """[Pacific 1.5] Without dummies and starting tokens; everybody puts out a card."""
    state = GAME.initial(seats)
    events = GAME.begin(state, RNG, draw_start=False)
    assert (type(events[0]), events[-1]) == (DeckShuffled, PhaseStarted(1, Phase.PUT_OUT_FIRST))
    assert [type(event) for event in events[1:-1]] == [HandDealt] * seats
    assert (GAME.to_act(begun(seats)), begun(seats).table) == (tuple(range(seats)), ("",) * seats)


def test_two_begin_with_their_first_tokens() -> None:
    """[Pacific 1.5] Both are to act, having seen their hands."""
    state = begun(2)
    assert (state.phase, state.turn, GAME.to_act(state)) == (Phase.SETUP_PLACE, 0, (0, 1))


def test_first_tokens_are_placed_together() -> None:
    """[P-13] Only after the second choice do both mats show them."""
    state = given(begun(2)).when(set_up(0, "japan", "peru")).then(SetupChosen(0, Area.JAPAN, Area.PERU))
    assert [outcome(one) for one in state.players] == ["$0", "$0"]
    state = (
        given(state)
        .when(set_up(1, "japan", "coral_sea"))
        .then(
            SetupChosen(1, Area.JAPAN, Area.CORAL_SEA),
            SetupPlaced(0, Area.JAPAN, Area.PERU),
            SetupPlaced(1, Area.JAPAN, Area.CORAL_SEA),
            PhaseStarted(1, Phase.PUT_OUT_FIRST),
        )
    )
    assert [outcome(one) for one in state.players] == [
        "$0 japan 1 hotel / peru 1 factory",
        "$0 japan 1 hotel / coral_sea 1 factory",
    ]


@pytest.mark.parametrize("area", list(Area))
def test_first_tokens_go_to_two_different_areas(area: Area) -> None:
    """[P-13] Any two of the five."""
    given(begun(2)).when(set_up(0, area, area)).refused("SAME_AREA", rule="P-13", area=area.value)


def test_t_05_two_players_play_with_two_dummies() -> None:
    """[T-05] Two cards of the draw deck come last in every turn; 40 of its cards are left after ten."""
    state = state_after(begun(2), set_up(0, "japan", "peru"), set_up(1, "japan", "coral_sea"))
    first, second = (one.holdings.hand[3] for one in state.players)
    events, state = decide(state, *put_out(first, second))
    assert only(DummiesDealt, events) == [DummiesDealt(DECK.ids[20:22])]
    assert (state.table, len(state.deck)) == ((first, second, *DECK.ids[20:22]), 58)
    assert GAME.legal(state, 0).choose == GAME.legal(state, 1).choose
    while GAME.to_act(state):
        state = state_after(state, GAME.automatic(state, GAME.to_act(state)[0]))
    assert (state.turn, len(state.deck)) == (10, 40)


def test_dummies_deal_when_all_players_have_put_out() -> None:
    """[Pacific 1.5] Not before the second card lies there, and they choose nothing."""
    state = state_after(begun(2), set_up(0, "japan", "peru"), set_up(1, "japan", "coral_sea"))
    first = state_after(state, PutOut(0, state.players[0].holdings.hand[0]))
    assert (first.table, len(first.deck)) == (("", "", "", ""), 60)
    both = state_after(first, PutOut(1, state.players[1].holdings.hand[0]))
    assert (GAME.to_act(both), both.phase) == ((0, 1), Phase.CHOOSE)


def test_the_vector_shuffles_the_deck() -> None:
    """[Pacific 1.6] The hands that follow, and the first and last card of the draw deck for three."""
    order = RNG.shuffle(DECK.ids, "shuffle", 1)
    assert " ".join(order[:12]) == (
        "hatchery air_conditioning car_factory sea_otters giant_squid theme_park plastics_factories jellyfish seagulls "
        "yachts liquidate headquarters"
    )
    assert (order[30], order[79]) == ("cloning_program", "diversify")


def test_the_vector_draws_the_numbers_of_the_sheet() -> None:
    """[Pacific 1.6] For i = 79 to 75."""
    assert [RNG.integer(i + 1, "shuffle", 1, i) for i in range(79, 74, -1)] == [24, 40, 49, 40, 75]


def test_the_vector_deals_the_hands() -> None:
    """[Pacific 1.6] Seat 0 gets the first ten, seat 1's hand begins with the next."""
    state = begun(3, RNG)
    assert state.players[0].holdings.hand[::9] == ("hatchery", "yachts")
    assert (state.players[1].holdings.hand[:2], state.deck[0]) == (("liquidate", "headquarters"), "cloning_program")


@pytest.mark.parametrize("draw_start", [False, True])
def test_one_shuffle_is_all_that_is_drawn(draw_start: bool) -> None:
    """[P-2] Nobody starts, so nothing is drawn for it [Pacific 1.6]."""
    rng = Recorder()
    GAME.begin(GAME.initial(3), rng, draw_start=draw_start)
    assert rng.asked == [(DECK.ids, "shuffle", 1)]


def test_playing_draws_nothing() -> None:
    """[Pacific 1.6] Dummies' and drawn cards are read off the shuffled order."""
    rng, state = Recorder(), begun(2)
    while GAME.to_act(state) and state.turn < 3:
        for event in GAME.decide(state, GAME.automatic(state, GAME.to_act(state)[0]), rng):
            state = GAME.evolve(state, event)
    assert (rng.asked, state.turn) == ([], 3)
