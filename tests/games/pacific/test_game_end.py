"""The tenth turn, winners, and resigning [Pacific 2.2]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.kernel import Outcome
from promontory.games.pacific.commands import Choose, PutOut
from promontory.games.pacific.events import (
    CardPutOut,
    DecisionAnswered,
    EffectArmed,
    ExecutionDone,
    GameOver,
    SeatResigned,
    SlotsChosen,
    TurnEnded,
)
from promontory.games.pacific.state import Result, State
from promontory.games.pacific.vocabulary import EndReason, Phase
from tests.support.pacific import (
    GAME,
    answers,
    begun,
    choose,
    choosing,
    decide,
    given,
    only,
    player,
    put_out,
    putting_out,
    resign,
    set_up,
    state_after,
)


def last_turn(*money: int) -> State:
    """Return a game in its tenth turn, in which everybody chooses from cards that make nothing."""
    seats = [player(money=one) for one in money]
    return choosing(*seats, table="spas diversify whale_watching tour_guides", turn=10)


def finished(*money: int) -> State:
    """Return that game at its end."""
    return state_after(last_turn(*money), *choose(*[1] * len(money)))


def test_t_09_effects_armed_on_turn_10_never_work() -> None:
    """[T-09] The texts are executed and the colours run, then the game is over; the last hand card is never used."""
    seats = [player("japan 1 hotel"), player("japan 2 hotel"), player("peru 2 hotel", hand="spas")]
    state = choosing(*seats, table="documentary casinos make_the_rounds", turn=10)
    state = state_after(state, *choose(0, 1, 2))
    events, state = answers(state, "area japan", seat=1)
    assert only(TurnEnded, events) == [TurnEnded(10, ())]
    assert events[-1] == GameOver(EndReason.TENTH_TURN, (1, 4, 2), (1,))
    assert [one.active for one in state.players] == [()] * 3
    assert (state.players[2].holdings.hand, state.players[2].holdings.pending) == (("spas",), ())
    assert [GAME.to_act(state), GAME.legal(state, 2).put_out_card_ids] == [(), ()]


def test_effects_are_armed_on_turn_10_like_on_any_other() -> None:
    """[P-8] They are only lost."""
    state = choosing(player(), player(), player(), table="documentary upgrade spas", turn=10)
    events, _ = decide(state, *choose(0, 1, 2))
    assert [event.effect.card_id for event in only(EffectArmed, events)] == ["documentary", "upgrade"]


def test_t_10_the_richest_share_the_victory() -> None:
    """[T-10] There is no tie-break of any sort."""
    end = finished(84, 91, 91, 40)
    assert end.result == Result(EndReason.TENTH_TURN, (1, 2))
    assert GAME.outcome(end) == Outcome("tenth_turn", resigned=False, places=(3, 1, 1, 4), scores=(84, 91, 91, 40))


@pytest.mark.parametrize(
    ("money", "places"),
    [((5, 5), (1, 1)), ((5, 6), (2, 1)), ((0, 0, 0), (1, 1, 1)), ((3, 9, 3, 1, 9), (3, 1, 3, 5, 1))],
)
def test_equal_money_shares_a_place(money: tuple[int, ...], places: tuple[int, ...]) -> None:
    """[P-12] The better one."""
    outcome = GAME.outcome(finished(*money))
    assert outcome is not None
    assert (outcome.places, outcome.scores) == (places, money)


def test_there_is_no_outcome_before_the_end() -> None:
    """[Pacific 2.2] The game lasts ten turns."""
    assert GAME.outcome(last_turn(1, 2, 3)) is None


@pytest.mark.parametrize("command", [PutOut(0, "spas"), Choose(0, (0,)), resign(0)])
def test_nothing_can_be_done_after_the_end(command: PutOut) -> None:
    """[Pacific 2.1] Not even resigning."""
    given(finished(1, 2, 3)).when(command).refused("MATCH_OVER", rule="Pacific 2.2")


@pytest.mark.parametrize("seat", [0, 1])
def test_of_two_players_the_one_who_stays_wins(seat: int) -> None:
    """[P-52] At once, whatever the money; the sheet leaves resigning to the platform."""
    state = begun(2)
    state = replace(state, players=tuple(replace(one, holdings=player(money=9).holdings) for one in state.players))
    end = given(state).when(resign(seat)).then(SeatResigned(seat), GameOver(EndReason.RESIGNATION, (9, 9), (1 - seat,)))
    places = (2, 1) if seat == 0 else (1, 2)
    assert GAME.outcome(end) == Outcome("resignation", resigned=True, places=places, scores=(9, 9))


def test_the_others_play_on_with_default_answers_for_who_left() -> None:
    """[P-52] First card of the hand, own slot, default answers; those who stay are waited for as before."""
    hands = ["migration spas", "port octopus", "dugongs sharks"]
    state = putting_out(*[player("california 1 fish / peru 1 hotel", hand=hand) for hand in hands])
    events, state = decide(state, resign(0))
    assert events == [SeatResigned(0), CardPutOut(0, "migration")]
    assert GAME.to_act(state) == (1, 2)
    events, state = decide(state, PutOut(1, "port"), PutOut(2, "dugongs"))
    assert events[-1] == SlotsChosen(0, (0,))
    events, state = decide(state, Choose(1, (2,)), Choose(2, (2,)))
    assert [event.seat for event in only(DecisionAnswered, events)] == [0, 0]
    assert [event.seat for event in only(ExecutionDone, events)] == [1, 2, 0]
    assert (state.turn, GAME.to_act(state), state.players[0].put_out_card_id) == (6, (1, 2), "spas")


def test_the_last_answer_of_who_left_ends_the_phase() -> None:
    """[P-52] If all others have answered."""
    state = putting_out(*[player(hand=hand) for hand in ("spas", "port", "dugongs")])
    state = state_after(state, PutOut(1, "port"), PutOut(2, "dugongs"), resign(0))
    assert (state.table, state.phase, GAME.to_act(state)) == (("spas", "port", "dugongs"), Phase.CHOOSE, (1, 2))


def test_an_answer_given_before_resigning_stands() -> None:
    """[P-52] It is not replaced by the default."""
    state = putting_out(*[player(hand=hand) for hand in ("spas sharks", "port", "dugongs")])
    state = state_after(state, PutOut(0, "sharks"), resign(0), PutOut(1, "port"), PutOut(2, "dugongs"))
    assert state.table == ("sharks", "port", "dugongs")


def test_who_left_is_bound_by_effects_too() -> None:
    """[P-52] Put out late, with an extra card the own slot and the lowest other one."""
    seats = [player(hand="spas"), player(hand="port"), player(hand="dugongs", active="make_the_rounds")]
    state = state_after(putting_out(*seats), *put_out("spas", "port", "dugongs"))
    events, _ = decide(state, resign(2))
    assert events == [SeatResigned(2), SlotsChosen(2, (0, 2))]


def test_a_seat_that_resigned_has_nothing_left_to_do() -> None:
    """[P-52] No command of it is accepted, not even to resign again."""
    state = state_after(begun(3), resign(1))
    given(state).when(PutOut(1, "spas")).refused("SEAT_RESIGNED", rule="P-52")
    given(state).when(resign(1)).refused("SEAT_RESIGNED", rule="P-52")
    assert (GAME.legal(state, 1).resign, GAME.legal(state, 1).put_out_card_ids) == (False, ())


def test_when_all_but_one_have_resigned_the_game_is_over() -> None:
    """[P-52] The first to leave comes last."""
    events, end = decide(begun(4), resign(2), resign(0), resign(3))
    assert events[-1] == GameOver(EndReason.RESIGNATION, (0, 0, 0, 0), (1,))
    outcome = GAME.outcome(end)
    assert outcome is not None
    assert (outcome.places, outcome.resigned) == ((3, 1, 4, 2), True)


def test_who_left_comes_last_however_rich() -> None:
    """[P-52] The others are ranked by their money."""
    state = state_after(last_turn(50, 3, 7), resign(0), *[Choose(1, (1,)), Choose(2, (1,))])
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert (outcome.places, outcome.resigned, outcome.reason) == ((3, 2, 1), False, "tenth_turn")
    assert state.result == Result(EndReason.TENTH_TURN, (2,))


def test_a_set_up_is_answered_for_who_left() -> None:
    """[P-52] In a game for two there is nobody left to play on; the default is that of an absent player."""
    assert GAME.automatic(begun(2), 1) == set_up(1, "japan", "california")


def test_answers_that_were_never_revealed_are_dropped_at_the_end() -> None:
    """[Pacific 7] Nothing of them is left in the state."""
    state = state_after(begun(2), set_up(0, "japan", "peru"), resign(0))
    assert [one.setup for one in state.players] == [None, None]
