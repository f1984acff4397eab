"""Putting out cards, secretly and in one or two phases [Pacific 2.1, Pacific 2.2]."""

from __future__ import annotations

import pytest

from promontory.games.pacific.commands import PutOut
from promontory.games.pacific.events import (
    CardPutOut,
    CardsRevealed,
    DummiesDealt,
    PhaseStarted,
    SeatCard,
    SlotsChosen,
    TurnEnded,
)
from promontory.games.pacific.legal import SlotChoice
from promontory.games.pacific.state import Player
from promontory.games.pacific.vocabulary import Phase
from tests.support.pacific import GAME, choose, decide, given, only, player, put_out, putting_out, state_after

HANDS = ("sharks spas", "port dugongs", "spas octopus", "dugongs port")


def hands(*late: int) -> list[Player]:
    """Return four players, of whom those in `late` executed Dolphin Spy Network the turn before."""
    return [player(hand=hand, active="dolphin_spy_network" if seat in late else "") for seat, hand in enumerate(HANDS)]


def test_t_01_a_plain_turn() -> None:
    """[T-01] Everybody puts out, chooses whatever lies there, executes it on the own mat; then it is history."""
    state = putting_out(*hands(), turn=3)
    state = state_after(state, *put_out("sharks", "port", "spas", "dugongs"))
    assert state.table == ("sharks", "port", "spas", "dugongs")
    state = state_after(state, *choose(3, 3, 2, 0))
    executed = [one.execution.card_ids if one.execution else () for one in state.players]
    assert executed == [("dugongs",), ("dugongs",), ("spas",), ("sharks",)]
    assert [one.holdings.mat[0].fish for one in state.players] == [3, 3, 0, 0]
    state = state_after(state, GAME.automatic(state, 3))
    assert (state.turn, [len(one.holdings.hand) for one in state.players]) == (4, [1, 1, 1, 1])
    assert (state.history[0].turn, state.history[0].card_ids) == (3, ("sharks", "port", "spas", "dugongs"))


def test_cards_are_revealed_when_the_last_one_is_out() -> None:
    """[Pacific 2.1] All together, and they leave the hands only then."""
    state = (
        given(putting_out(*hands()))
        .when(*put_out("sharks", "port", "spas"))
        .then(CardPutOut(0, "sharks"), CardPutOut(1, "port"), CardPutOut(2, "spas"))
    )
    assert (state.table, state.players[0].holdings.hand) == (("",) * 4, ("sharks", "spas"))
    state = (
        given(state)
        .when(PutOut(3, "port"))
        .then(
            CardPutOut(3, "port"),
            CardsRevealed(
                Phase.PUT_OUT_FIRST,
                (SeatCard(0, "sharks"), SeatCard(1, "port"), SeatCard(2, "spas"), SeatCard(3, "port")),
            ),
            PhaseStarted(5, Phase.CHOOSE),
        )
    )
    assert [one.holdings.hand for one in state.players] == [("spas",), ("dugongs",), ("octopus",), ("dugongs",)]


def test_t_02_late_players_put_out_when_the_others_cards_are_known() -> None:
    """[T-02] Seats 1 and 3 are not waited for, and put out after the reveal, not seeing each other's card."""
    state = putting_out(*hands(1, 3))
    assert GAME.to_act(state) == (0, 2)
    given(state).when(PutOut(1, "port")).refused("NOT_YOUR_DECISION", rule="Pacific 2.1")
    events, state = decide(state, PutOut(2, "spas"), PutOut(0, "sharks"))
    assert events[-2:] == [
        CardsRevealed(Phase.PUT_OUT_FIRST, (SeatCard(0, "sharks"), SeatCard(2, "spas"))),
        PhaseStarted(5, Phase.PUT_OUT_LATE),
    ]
    assert (GAME.to_act(state), state.table) == ((1, 3), ("sharks", "", "spas", ""))
    state = state_after(state, PutOut(3, "port"))
    assert (GAME.view(state, 1).table, GAME.to_act(state)) == (("sharks", "", "spas", ""), (1,))
    state = state_after(state, PutOut(1, "dugongs"))
    assert (state.table, GAME.to_act(state)) == (("sharks", "dugongs", "spas", "port"), (0, 1, 2, 3))


def test_a_turn_after_a_late_one_is_normal_again() -> None:
    """[T-02] The effect lasts one turn [P-8]."""
    state = state_after(putting_out(*hands(1)), PutOut(0, "sharks"), PutOut(2, "spas"), PutOut(3, "dugongs"))
    state = state_after(state, PutOut(1, "port"), *choose(0, 0, 0, 0))
    while state.turn == 5:
        state = state_after(state, GAME.automatic(state, GAME.to_act(state)[0]))
    assert (state.phase, GAME.to_act(state)) == (Phase.PUT_OUT_FIRST, (0, 1, 2, 3))


def test_t_03_when_everybody_is_late_the_first_phase_is_skipped() -> None:
    """[T-03] All put out together, seeing nothing [P-10]."""
    late = [player(hand=hand, active="dolphin_spy_network") for hand in HANDS]
    state = putting_out(*late, late=True)
    assert GAME.to_act(state) == (0, 1, 2, 3)
    events, state = decide(state, *put_out("sharks", "port", "spas", "dugongs"))
    assert [event.phase for event in only(CardsRevealed, events)] == [Phase.PUT_OUT_LATE]


def test_a_turn_begins_late_when_everybody_has_executed_the_spy_network() -> None:
    """[P-10] The turn's first phase is the late one."""
    state = putting_out(*[player(hand=f"dolphin_spy_network {card} dugongs") for card in ("spas", "port", "octopus")])
    events, state = decide(state, *put_out(*["dolphin_spy_network"] * 3), *choose(0, 1, 2))
    assert [type(event) for event in events[-2:]] == [TurnEnded, PhaseStarted]
    assert (events[-1], GAME.to_act(state)) == (PhaseStarted(6, Phase.PUT_OUT_LATE), (0, 1, 2))


def test_t_06_dummies_come_after_late_players() -> None:
    """[T-06] Seat 0, who is late, knows seat 1's card but not the dummies'."""
    players = [player(hand="sharks", active="dolphin_spy_network"), player(hand="port")]
    events, state = decide(putting_out(*players, deck="spas octopus dugongs"), PutOut(1, "port"))
    assert (only(DummiesDealt, events), state.table) == ([], ("", "port", "", ""))
    events, state = decide(state, PutOut(0, "sharks"))
    assert [type(event) for event in events] == [CardPutOut, CardsRevealed, DummiesDealt, PhaseStarted]
    assert (state.table, state.deck) == (("sharks", "port", "spas", "octopus"), ("dugongs",))


@pytest.mark.parametrize(
    ("deck", "table"), [("spas", ("sharks", "port", "spas", "")), ("", ("sharks", "port", "", ""))]
)
def test_dummies_get_what_is_left(deck: str, table: tuple[str, ...]) -> None:
    """[P-7] Slots may stay empty, and then cannot be chosen."""
    state = putting_out(player(hand="sharks"), player(hand="port"), deck=deck)
    state = state_after(state, *put_out("sharks", "port"))
    assert (state.table, state.deck) == (table, ())
    assert GAME.legal(state, 0).choose == SlotChoice(tuple(n for n in range(4) if table[n]), 1)
    given(state).when(*choose(3)).refused("BAD_SLOT", rule="Pacific 2.2", slot=3)


def test_t_13_a_card_put_out_may_be_exchanged() -> None:
    """[T-13] Until the last one is out; what is revealed is the last word of everybody."""
    state = putting_out(player(hand="spas port"), player(hand="dugongs"), player(hand="sharks"))
    state = (
        given(state)
        .when(PutOut(0, "spas"), PutOut(0, "port"), PutOut(1, "dugongs"))
        .then(CardPutOut(0, "spas"), CardPutOut(0, "port", again=True), CardPutOut(1, "dugongs"))
    )
    view = GAME.view(state, 2)
    assert ([one.ready for one in view.players], view.table, GAME.to_act(state)) == (
        [True, True, False],
        ("", "", ""),
        (2,),
    )
    state = state_after(state, PutOut(2, "sharks"))
    assert (state.table, state.players[0].holdings.hand) == (("port", "dugongs", "sharks"), ("spas",))


def test_a_choice_may_be_changed_too() -> None:
    """[P-4] Until the last player needed has answered."""
    state = state_after(putting_out(*hands()), *put_out("sharks", "port", "spas", "dugongs"), *choose(0, 1, 2))
    state = given(state).when(*choose(3)).then(SlotsChosen(0, (3,), again=True))
    assert (GAME.to_act(state), state.players[0].slots) == ((3,), (3,))


def test_putting_out_is_compulsory() -> None:
    """[P-6] There is no other way on: only cards of the hand are legal."""
    state = putting_out(*hands())
    assert GAME.legal(state, 0).put_out_card_ids == ("sharks", "spas")
    given(state).when(PutOut(0, "port")).refused("NOT_IN_HAND", rule="Pacific 2.2", cardId="port")


def test_a_last_card_is_not_put_out_by_itself() -> None:
    """[P-6] On turn 10, too, everybody puts out in their own time."""
    state = putting_out(*[player(hand=hand.split()[0]) for hand in HANDS], turn=10)
    assert GAME.to_act(state) == (0, 1, 2, 3)
