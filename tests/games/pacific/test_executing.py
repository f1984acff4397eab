"""Executing cards: independence, draws, effects of the turn before, the extra card [Pacific 2.2 to 2.4]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.pacific.cards import load_deck
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.events import (
    AreaRunStarted,
    CardDrawn,
    ChoicesRevealed,
    EffectArmed,
    ExecutionDone,
    MoneyGained,
    Reservation,
    TurnEnded,
)
from promontory.games.pacific.execution import areas_of
from promontory.games.pacific.state import Player
from promontory.games.pacific.vocabulary import Arrow, GainCause, Phase
from tests.support.pacific import (
    DECK,
    GAME,
    answers,
    choose,
    choosing,
    decide,
    deck_with,
    house_card,
    only,
    open_decision,
    outcome,
    played,
    player,
    state_after,
)

CHIPS = "computer_chip_factory"


def areas(card_ids: str, paths: str = "") -> str:
    """Return the areas that cards run, with Paths on these arrows."""
    cards = [DECK.by_id[card_id] for card_id in card_ids.split()]
    return " ".join(areas_of(cards, tuple(map(Arrow, paths.split()))))


def test_executions_are_independent() -> None:
    """[P-1] Whoever goes first, each seat ends the same way [Pacific 2.3]."""
    table = "fishing liquidate hatchery"
    players = [player("peru 2 boat"), player("japan 2 hotel / peru 1 factory"), player("coral_sea 1 boat")]
    state = state_after(choosing(*players, table=table, turn=10), *choose(0, 1, 2))
    words = {0: "area japan", 1: "remove 1 hotel japan", 2: "area coral_sea"}
    ends = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        end = state
        for seat in order:
            end = answers(end, words[seat], seat=seat)[1]
        ends.append(end)
    assert ends[0] == ends[1] == ends[2]


def test_everybody_executes_at_their_own_pace() -> None:
    """[P-2] Who has nothing to decide is done at once, the others are waited for."""
    state = choosing(Player(), player("japan 1 fish"), Player(), table="dugongs fishing migration")
    events, state = decide(state, *choose(0, 1, 2))
    assert [event.seat for event in only(ExecutionDone, events)] == [0]
    assert GAME.to_act(state) == (1, 2)
    assert [one.execution.done for one in state.players if one.execution] == [True, False, False]


def test_t_07_drawn_cards_are_reserved_in_seat_order() -> None:
    """[T-07] At the reveal, whoever then gets to the drawing first [P-3]."""
    seats = [player(), player(), player()]
    state = choosing(*seats, table=f"{CHIPS} spas dugongs", deck="spas port octopus")
    events, state = decide(state, *choose(0, 1, 0))
    (revealed,) = only(ChoicesRevealed, events)
    assert revealed.reservations == (Reservation(0, CHIPS, 1, ("spas",)), Reservation(2, CHIPS, 1, ("port",)))
    assert [event.card_id for event in only(CardDrawn, events)] == ["spas", "port"]
    assert [outcome(one) for one in state.players] == ["$5 california 1 factory", "$0", "$5 california 1 factory"]
    assert [one.holdings.hand for one in state.players] == [("spas",), (), ("port",)]
    assert state.deck == ("octopus",)


def test_a_drawn_card_comes_when_its_instruction_is_reached() -> None:
    """[P-3] Not at the reveal: here an earlier line of the card is still to be decided."""
    house = [{"op": "choose_area", "bind": "x"}, {"op": "draw", "n": 2}, {"op": "gain", "amount": 1}]
    game = Pacific(load_deck(deck_with(house_card("lottery", house, ["yellow"]))))
    state = choosing(Player(), Player(), Player(), table="lottery direct_flight spas", deck="port dugongs octopus")
    state = state_after(state, *choose(0, 1, 1), game=game)
    assert (state.players[0].holdings.hand, state.deck) == ((), ("octopus",))
    _, state = answers(state, "area japan", game=game)
    assert state.players[0].holdings.hand == ("port", "dugongs")


@pytest.mark.parametrize(
    ("deck", "drawn"),
    [("spas port", [("spas",), ("port",)]), ("spas", [("spas",), ()]), ("", [(), ()])],
)
def test_draws_give_what_is_left(deck: str, drawn: list[tuple[str, ...]]) -> None:
    """[P-7] In seat order; there is no reshuffle."""
    state = choosing(Player(), Player(), Player(), table=f"{CHIPS} direct_flight spas", deck=deck)
    state = state_after(state, *choose(0, 0, 1))
    assert [one.holdings.hand for one in state.players[:2]] == drawn
    assert [outcome(one) for one in state.players[:2]] == ["$5 california 1 factory"] * 2


def test_two_cards_of_one_player_draw_by_slot_whatever_their_order() -> None:
    """[P-3] What is reserved for a card stays with it: here the second one is executed first."""
    house = [house_card(f"draw_{n}", [{"op": "draw", "n": n}]) for n in (1, 2)]
    game = Pacific(load_deck(deck_with(*house)))
    state = choosing(player(active="make_the_rounds"), Player(), Player(), table="draw_1 draw_2 direct_flight")
    state = replace(state, deck=("spas", "port", "dugongs", "octopus"))
    state = state_after(state, *choose((0, 1), 2, 2), game=game)
    _, state = answers(state, "cards draw_2 draw_1", game=game)
    assert (state.players[0].holdings.hand, state.deck) == (("port", "dugongs", "spas"), ("octopus",))


def test_an_extra_card_of_ones_own_is_an_ordinary_hand_card() -> None:
    """[P-11] It may be put out like any other."""
    state = choosing(player(hand="dugongs"), Player(), Player(), table=f"{CHIPS} spas sea_otters", deck="port")
    state = state_after(state, *choose(0, 1, 2))
    assert GAME.legal(state, 0).put_out_card_ids == ("dugongs", "port")


@pytest.mark.parametrize(
    ("card_ids", "paths", "expected"),
    [
        ("beach_hotels", "", "peru polynesia"),
        ("sharks", "", "peru coral_sea"),
        ("oversee", "", ""),
        ("spas dugongs", "", "polynesia coral_sea"),
        ("direct_flight", "japan_california", "japan california"),
        ("air_conditioning", "japan_california", "japan california"),
        ("casinos", "japan_california", "japan california polynesia"),
        ("fishing", "japan_california", "japan california"),
        ("direct_flight", "japan_california california_peru", "japan california peru"),
        ("direct_flight", "california_peru japan_california", "japan california peru"),
        ("direct_flight", "california_peru", "japan"),
        ("dugongs", "coral_sea_japan", "japan coral_sea"),
        ("spas", "polynesia_coral_sea polynesia_coral_sea", "polynesia coral_sea"),
        ("oversee", "japan_california", ""),
        ("oversee direct_flight", "japan_california", "japan california"),
    ],
)
def test_paths_add_colours(card_ids: str, paths: str, expected: str) -> None:
    """[Pacific 3.8] Chains go on, two on one arrow are as one, orange is not affected [P-22]."""
    assert areas(card_ids, paths) == expected


def test_a_path_works_until_the_end_of_the_game() -> None:
    """[P-22] For every card that its player executes, and for nobody else."""
    seats = [player("california 1 hotel", paths="japan_california"), player("california 1 hotel"), player()]
    state = choosing(*seats, table="killer_whales octopus direct_flight")
    state = state_after(state, *choose(0, 0, 2))
    assert [one.holdings.money for one in state.players[:2]] == [3, 2]


def test_colours_run_in_ring_order_after_the_text() -> None:
    """[Pacific 2.2] All of a card's text comes first."""
    events, _ = played("sharks", player(), "remove 3 fish california")
    assert [event.area for event in only(AreaRunStarted, events)] == ["peru", "coral_sea"]


def test_next_turn_effects_never_work_in_the_turn_that_armed_them() -> None:
    """[Pacific 2.4] They wait among the pending ones."""
    events, end = played("documentary", player("japan 2 fish"))
    assert outcome(end) == "$0 peru 2 fish"
    assert [event.effect.card_id for event in only(EffectArmed, events)] == ["documentary"]
    assert (end.active, len(end.holdings.pending)) == ((), 1)


def test_an_effect_works_for_one_whole_turn() -> None:
    """[P-8] From the put-out of the following turn to its end."""
    state = choosing(player(hand="spas port"), player(hand="dugongs octopus"), table="documentary spas dugongs octopus")
    events, state = decide(state, *choose(0, 1))
    assert [event.effects[0].effect.card_id for event in only(TurnEnded, events)] == ["documentary"]
    assert [[effect.card_id for effect in one.active] for one in state.players] == [["documentary"], []]
    while state.turn == 6:
        state = state_after(state, GAME.automatic(state, GAME.to_act(state)[0]))
    assert [one.active for one in state.players] == [(), ()]


def test_t_11_one_card_arms_its_effect_for_everybody_who_executes_it() -> None:
    """[T-11] Independently of one another."""
    seats = [player(active="grand_opening"), player(active="grand_opening"), player()]
    state = choosing(*seats, table="sea_turtles killer_whales direct_flight", turn=3)
    state = state_after(state, *choose(0, 1, 2))
    assert [outcome(one) for one in state.players[:2]] == ["$6 peru 3 fish", "$8 japan 1 boat / california 2 fish"]


def test_effects_on_one_player_add_up() -> None:
    """[Pacific 2.4] Two of a kind pay twice."""
    events, end = played("sea_turtles", player(active="grand_opening grand_opening"))
    assert (outcome(end), len(only(MoneyGained, events))) == ("$12 peru 3 fish", 2)


@pytest.mark.parametrize(("slots", "gains"), [((0, 0, 1), [0, 0]), ((0, 1, 1), [5, 0]), ((0, (0, 1), 1), [0, 0])])
def test_t_12_floating_hotel_pays_who_is_alone_with_it(slots: tuple[int, ...], gains: list[int]) -> None:
    """[T-12] Choices of this turn count, extra cards included [P-37]."""
    second = player(active="make_the_rounds") if isinstance(slots[1], tuple) else player()
    state = choosing(player(), second, player(), table="floating_hotel direct_flight dugongs")
    state = state_after(state, *choose(*slots))
    if open_decision(state, 1) and isinstance(slots[1], tuple):
        _, state = answers(state, "cards floating_hotel direct_flight", seat=1)
    assert [one.holdings.money for one in state.players[:2]] == gains


def test_dummies_do_not_choose() -> None:
    """[P-37] Floating Hotel as a dummy's card pays the one player who executes it."""
    state = choosing(player(), player(), table="spas dugongs floating_hotel direct_flight")
    state = state_after(state, *choose(2, 3))
    assert state.players[0].holdings.money == 5


def test_t_08_an_extra_card_shares_one_colour_run() -> None:
    """[T-08] Both texts in the order chosen, then the areas of both, none that ran before [P-29]."""
    seat = player("coral_sea 1 hotel", active="make_the_rounds")
    _, end = played("oversee dugongs", seat, "run coral_sea japan")
    assert outcome(end) == "$1 coral_sea 3 fish 1 hotel"
    _, end = played("dugongs oversee", seat, "run coral_sea japan")
    assert outcome(end) == "$1 california 3 fish / coral_sea 1 hotel"


def test_both_texts_are_finished_before_the_colours_run() -> None:
    """[P-29] Areas of both cards go in ring order, each once."""
    seat = player("polynesia 1 hotel", active="make_the_rounds")
    events, end = played("dugongs octopus", seat)
    assert [event.area for event in only(AreaRunStarted, events)] == ["peru", "coral_sea"]
    assert outcome(end) == "$0 japan 5 fish 1 factory / polynesia 1 hotel"


def test_an_area_that_one_card_skips_is_not_run_for_the_other() -> None:
    """[P-32] Nor by a `run` instruction of it."""
    seat = player("peru 1 hotel", active="make_the_rounds")
    _, end = played("bottling_factory textile_factories", seat)
    assert outcome(end) == "$0 peru 1 hotel 3 factory / polynesia 1 factory"
    _, end = played("bottling_factory overtime", seat)
    assert outcome(end) == "$0 peru 1 hotel 2 factory"


@pytest.mark.parametrize(("active", "gained"), [("", []), ("documentary", [GainCause.DEPARTURE] * 3)])
def test_effects_pay_at_once(active: str, gained: list[GainCause]) -> None:
    """[P-34] Each move by itself: to California, to Peru, and out of nothing else."""
    events, _ = played("killer_whales", player(active=active, paths="japan_california california_peru"))
    assert [event.cause for event in only(MoneyGained, events) if event.cause is not GainCause.BOAT] == gained


def test_the_turn_ends_when_everybody_has_executed() -> None:
    """[Pacific 2.1] The cards become history, and the next turn begins."""
    state = choosing(player(hand="spas"), player(hand="port"), player(hand="octopus"), table="dugongs spas sea_otters")
    state = state_after(state, *choose(0, 1, 2))
    assert (state.turn, state.phase, state.table) == (6, Phase.PUT_OUT_FIRST, ("", "", ""))
    assert [past.card_ids for past in state.history] == [("dugongs", "spas", "sea_otters")]
