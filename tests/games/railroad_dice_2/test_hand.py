"""Dice in the hand: as locomotives, as `?`, and back to the bank [Railroad Dice 2 4.3]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.commands import EndTurn, ReturnDice, RollDice, UseLocomotive
from promontory.games.railroad_dice_2.events import (
    DiceReturned,
    DiePlaced,
    LocomotiveFaceUsed,
    Restocked,
    TurnEnded,
    TurnStarted,
)
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, RestockCause
from tests.support.railroad_dice_2 import (
    FILLING,
    at,
    beside,
    dice_in_bank,
    game_with,
    given,
    hand,
    passengers,
    place,
    position,
    state_after,
)
from tests.support.railroad_maps import A, B

MAP = """
    ............
    .A..........
    ..g...B.....
    ............
    """


RULES = {1: "Railroad Dice 2 6.2", 4: "Railroad Dice 2 4.3"}


def holding(dice: str, **fields: object) -> State:
    """Return a turn with dice in the hand; T1 has two stations, T2 one, T3 none."""
    return position(MAP, dice=dice, **fields)


def test_a_locomotive_face_restocks_a_tile() -> None:
    """[S-41, R-18] 5 for each of its two stations, though they are linked to nobody."""
    after = (
        given(holding("curve locomotive", passengers="T1 3, T2 1", bank=200))
        .when(UseLocomotive(A, 2, "T1"))
        .then(LocomotiveFaceUsed(A, 2, "T1"), Restocked(A, RestockCause.LOCOMOTIVE_FACE, beside("T1 10")))
    )
    assert (passengers(after)["T1"], after.bank, dice_in_bank(after)) == (13, 190, (21, 15))
    assert after.turn.hand == hand("curve")


def test_a_question_mark_on_a_complex_die_may_be_a_locomotive() -> None:
    """[S-42, R-16] Though that die has no such face."""
    after = (
        given(holding("orange?", passengers="T1 3"))
        .when(UseLocomotive(A, 1, "T2"))
        .then(LocomotiveFaceUsed(A, 1, "T2"), Restocked(A, RestockCause.LOCOMOTIVE_FACE, beside("T2 5")))
    )
    assert (passengers(after)["T2"], dice_in_bank(after)) == (5, (20, 16))


def test_a_tile_without_stations_cannot_be_restocked() -> None:
    """[S-43, R-18]."""
    given(holding("locomotive")).when(UseLocomotive(A, 1, "T3")).refused("NO_STATION_ON_TILE", rule="R-18", tileId="T3")


def test_a_tile_that_does_not_lie_cannot_be_restocked() -> None:
    """[Railroad Dice 2 6.1]."""
    given(holding("locomotive")).when(UseLocomotive(A, 1, "T9")).refused(
        "NO_SUCH_TILE", rule="Railroad Dice 2 4.3", tileId="T9"
    )


@pytest.mark.parametrize("dice", ["straight", "crossing", "=curve"])
def test_track_is_no_locomotive(dice: str) -> None:
    """[Railroad Dice 2 4.3]."""
    given(holding(dice)).when(UseLocomotive(A, 1, "T1")).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face="locomotive"
    )


@pytest.mark.parametrize("dice", ["?", "orange?"])
def test_an_option_keeps_question_marks_from_being_locomotives(dice: str) -> None:
    """[R-16] `question_may_be_locomotive: false`."""
    game = game_with(dice__question_may_be_locomotive=False)
    given(holding(dice), game=game).when(UseLocomotive(A, 1, "T1")).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face="locomotive"
    )


def test_a_mode_that_fills_up_refuses_a_locomotive_without_effect() -> None:
    """[R-17, Railroad Dice 2 4.7]."""
    full = holding("locomotive", passengers="T1 10, T2 4")
    given(full, game=FILLING).when(UseLocomotive(A, 1, "T1")).refused("NO_EFFECT", rule="R-17", tileId="T1")
    after = given(full, game=FILLING).when(UseLocomotive(A, 1, "T2")).then_state(passengers)
    assert after == {"T1": 10, "T2": 5, "T3": 0}


def test_a_question_mark_on_a_simple_die_may_be_straight_or_curve() -> None:
    """[S-44, Railroad Dice 2 4.3] And shows that face from then on."""
    after = (
        given(holding("straight straight ?"))
        .when(place(3, "curve", 1, to=(1, 0)))
        .then(DiePlaced(A, 3, DieKind.SIMPLE, "curve", 1, at(1, 0), 0))
    )
    laid = after.map.die_at(at(1, 0))
    assert laid is not None
    assert laid.face == "curve"


@pytest.mark.parametrize("face", ["locomotive", "question", "crossing", "zigzag", ""])
def test_a_question_mark_offers_the_track_faces_of_its_kind_only(face: str) -> None:
    """[S-44, Railroad Dice 2 4.3]."""
    given(holding("?")).when(place(1, face, 1, to=(1, 0))).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face=face or "question"
    )


def test_a_locomotive_face_cannot_be_placed() -> None:
    """[Railroad Dice 2 6.1] Whichever face is named."""
    given(holding("locomotive")).when(place(1, "", 1, to=(1, 0))).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face="locomotive"
    )


def test_dice_can_be_returned() -> None:
    """[Railroad Dice 2 4.3] For good, in any order."""
    after = given(holding("straight orange? curve")).when(ReturnDice(A, (3, 2))).then(DiceReturned(A, (3, 2)))
    assert (after.turn.hand, dice_in_bank(after)) == (hand("straight"), (21, 16))


@pytest.mark.parametrize(("dice", "missing"), [((1, 1), 1), ((1, 4), 4)])
def test_only_dice_of_the_hand_can_be_returned_once_each(dice: tuple[int, ...], missing: int) -> None:
    """[Railroad Dice 2 6.2]."""
    before = given(holding("straight curve"))
    before.when(ReturnDice(A, dice)).refused("NO_SUCH_DIE", rule=RULES[missing], die=missing)


def test_returning_no_dice_is_malformed() -> None:
    """[Railroad Dice 2 6.1] At least one must be named."""
    given(holding("straight")).when(ReturnDice(A, ())).refused("BAD_REQUEST", rule="Railroad Dice 2 6.2", field="dice")


def test_dice_left_in_the_hand_return_at_the_end_of_the_turn() -> None:
    """[S-48, R-19] Before the turn passes; nothing is kept for another turn."""
    after = (
        given(holding("straight crossing"))
        .when(EndTurn(A))
        .then(
            DiceReturned(A, (1, 2)),
            TurnEnded(5, A, auto=False, stalled=1, idle=0),
            TurnStarted(6, B),
        )
    )
    assert (dice_in_bank(after), after.turn.hand) == ((21, 16), ())


def test_a_hand_never_holds_more_than_four_dice() -> None:
    """[Railroad Dice 2 4.3] A die that comes back takes the place of the one that replaced it."""
    state = state_after(position(MAP.replace(".A.", ".A─")), RollDice(A, 2, 1))
    after = state_after(state, place(1, "straight", 1, to=(3, 1)))
    assert len(after.turn.hand) == 2
