"""Choosing what to execute [Pacific 2.2]."""

from __future__ import annotations

import pytest

from promontory.games.pacific.commands import Choose, PutOut
from promontory.games.pacific.events import Choice, ChoicesRevealed, PhaseStarted, SlotsChosen
from promontory.games.pacific.legal import SlotChoice, expand
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.vocabulary import Phase
from tests.support.pacific import (
    GAME,
    choose,
    choosing,
    decide,
    given,
    only,
    outcome,
    player,
    put_out,
    putting_out,
    state_after,
)

TABLE = "dugongs spas sea_otters"


def bound(*active: str) -> State:
    """Return a game for three that begins to choose, with these effects of the seats, from 0."""
    players = [player(active=words, hand=card) for words, card in zip(active, TABLE.split(), strict=True)]
    return state_after(putting_out(*players, turn=7), *put_out(*TABLE.split()))


@pytest.mark.parametrize("slots", [(0, 0, 0), (0, 1, 2), (1, 2, 0), (2, 2, 1)])
def test_any_card_may_be_chosen_by_anybody(slots: tuple[int, ...]) -> None:
    """[P-5] The own one, that of another, and the same by several."""
    events, _ = decide(choosing(Player(), Player(), Player(), table=TABLE), *choose(*slots))
    (revealed,) = only(ChoicesRevealed, events)
    assert [choice.slots for choice in revealed.choices] == [(slot,) for slot in slots]


def test_a_dummys_card_may_be_chosen() -> None:
    """[P-5] Slots 2 and 3 of a game for two."""
    state = choosing(Player(), Player(), table="spas port dugongs sea_otters")
    state = state_after(state, *choose(3, 2))
    assert [outcome(one) for one in state.players] == ["$0 california 3 fish", "$0 japan 3 fish"]


def test_choices_are_shown_together() -> None:
    """[Pacific 2.1] When the last one is made, with who is alone with a card."""
    events, _ = decide(choosing(Player(), Player(), Player(), table=TABLE), *choose(0, 0, 2))
    assert events[:5] == [
        SlotsChosen(0, (0,)),
        SlotsChosen(1, (0,)),
        SlotsChosen(2, (2,)),
        ChoicesRevealed((Choice(0, (0,), (False,)), Choice(1, (0,), (False,)), Choice(2, (2,), (True,)))),
        PhaseStarted(5, Phase.EXECUTE),
    ]


def test_executing_is_compulsory() -> None:
    """[P-6] No slot at all is not a choice."""
    state = choosing(Player(), Player(), Player(), table=TABLE)
    given(state).when(*choose(())).refused("WRONG_NUMBER", rule="Pacific 2.2", required=1)


@pytest.mark.parametrize("slot", [-1, 3, 99])
def test_a_slot_must_exist(slot: int) -> None:
    """[Pacific 2.2] One for each seat, and two of dummies in a game for two."""
    state = choosing(Player(), Player(), Player(), table=TABLE)
    given(state).when(*choose(slot)).refused("BAD_SLOT", rule="Pacific 2.2", slot=slot)


def test_t_04_casinos_forces_the_own_card() -> None:
    """[T-04] The engine records the choice by itself; the others may choose that card as well [P-9]."""
    players = [player(hand="dugongs"), player(hand="spas"), player(hand="blue_whales", active="casinos")]
    events, state = decide(putting_out(*players, turn=7), *put_out("dugongs", "spas", "blue_whales"))
    assert events[-1] == SlotsChosen(2, (2,), forced=True)
    assert GAME.to_act(state) == (0, 1)
    given(state).when(Choose(2, (0,))).refused("OWN_CARD_REQUIRED", rule="P-9", slot=2)
    state = state_after(state, *choose(2, 2))
    assert [one.execution.card_ids for one in state.players if one.execution] == [("blue_whales",)] * 3


def test_the_forced_choice_may_be_sent_all_the_same() -> None:
    """[P-9] It is the only legal one."""
    state = bound("", "", "casinos")
    assert GAME.legal(state, 2).choose == SlotChoice((0, 1, 2), 1, 2)
    assert list(expand(GAME.legal(state, 2), 2)) == [Choose(2, (2,))]
    given(state).when(Choose(2, (2,))).then(SlotsChosen(2, (2,), again=True))


def test_when_all_are_forced_nobody_is_waited_for() -> None:
    """[P-9] The reveal of the cards goes over into that of the choices."""
    assert bound("casinos", "casinos", "casinos").turn == 8


def test_a_turn_after_casinos_is_free_again() -> None:
    """[T-04] Only the next turn is bound."""
    state = state_after(bound("", "", "casinos"), *choose(0, 0))
    assert (state.turn, [one.active for one in state.players]) == (8, [()] * 3)


def test_an_extra_card_is_chosen_at_the_same_time() -> None:
    """[P-29] Two different slots, in any order."""
    state = bound("", "make_the_rounds", "")
    assert GAME.legal(state, 1).choose == SlotChoice((0, 1, 2), 2)
    given(state).when(Choose(1, (0,))).refused("WRONG_NUMBER", rule="Pacific 2.2", required=2)
    given(state).when(Choose(1, (0, 0))).refused("BAD_SLOT", rule="Pacific 2.2", slot=0)
    given(state).when(Choose(1, (0, 1, 2))).refused("WRONG_NUMBER", rule="Pacific 2.2", required=2)
    given(state).when(Choose(1, (2, 0))).then(SlotsChosen(1, (0, 2)))


def test_with_an_extra_card_the_own_card_is_one_of_two() -> None:
    """[P-9] Casinos and Make the Rounds together."""
    state = bound("", "make_the_rounds casinos", "")
    assert list(expand(GAME.legal(state, 1), 1)) == [Choose(1, (0, 1)), Choose(1, (1, 2))]
    given(state).when(Choose(1, (0, 2))).refused("OWN_CARD_REQUIRED", rule="P-9", slot=1)


def test_extra_cards_add_up_to_all_slots_at_most() -> None:
    """[Pacific 2.4] Effects on one player add up; nothing is left to decide, so the choice records itself."""
    state = bound("", "make_the_rounds make_the_rounds make_the_rounds", "")
    assert (state.players[1].slots, GAME.to_act(state)) == ((0, 1, 2), (0, 2))


def test_t_14_late_put_out_and_own_card_work_side_by_side() -> None:
    """[T-14] Each in its phase [P-50]."""
    players = [
        player(hand="dugongs"),
        player(hand="spas sea_otters", active="casinos dolphin_spy_network make_the_rounds documentary"),
        player(hand="port"),
    ]
    state = putting_out(*players, turn=6)
    assert GAME.to_act(state) == (0, 2)
    state = state_after(state, PutOut(0, "dugongs"), PutOut(2, "port"), PutOut(1, "spas"))
    assert GAME.legal(state, 1).choose == SlotChoice((0, 1, 2), 2, 1)
