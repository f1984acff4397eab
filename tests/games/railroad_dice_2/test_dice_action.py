"""The one dice action of a turn: rolling, taking a complex die, restocking everything [Railroad Dice 2 4.2]."""

from __future__ import annotations

import pytest

from promontory.games.fairness import KeyedDraws
from promontory.games.railroad_dice_2.commands import Command, EndTurn, RestockAll, RollDice
from promontory.games.railroad_dice_2.events import ComplexTaken, DiceRolled, DiePlaced, HandDie, Restocked
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, RestockCause
from tests.support.railroad_dice_2 import (
    FILLING,
    at,
    beside,
    dice_in_bank,
    given,
    hand,
    passengers,
    place,
    position,
    state_after,
    take,
)
from tests.support.railroad_maps import A

SIMPLE, COMPLEX = DieKind.SIMPLE, DieKind.COMPLEX
MAP = """
    ........
    .A──....
    ......B.
    ........
    """
KEYED = KeyedDraws(bytes(32), "railroad_dice_2")


def fresh(**fields: object) -> State:
    """Return a turn in which nothing happened yet."""
    return position(MAP, **fields)


@pytest.mark.parametrize(
    ("simple", "complex_", "faces", "left"),
    [
        (4, 0, "straight straight straight straight", (16, 15)),
        (2, 1, "straight straight crossing", (18, 14)),
        (0, 2, "crossing crossing", (20, 13)),
    ],
)
def test_three_combinations_can_be_rolled(simple: int, complex_: int, faces: str, left: tuple[int, int]) -> None:
    """[R-13, Railroad Dice 2 4.2] Simple dice come first; blind draws show the first face."""
    after = given(fresh()).when(RollDice(A, simple, complex_)).then(DiceRolled(A, 1, hand(faces)))
    assert (dice_in_bank(after), after.turn.hand, after.rolls) == (left, hand(faces), 1)


@pytest.mark.parametrize(("simple", "complex_"), [(3, 0), (2, 0), (0, 1), (1, 1), (4, 1), (0, 0), (-4, 0)])
def test_no_other_combination_is_offered(simple: int, complex_: int) -> None:
    """[S-39, R-13] Fewer dice are as good as returning some."""
    given(fresh()).when(RollDice(A, simple, complex_)).refused(
        "BAD_COMBINATION", rule="R-13", simple=simple, complex=complex_
    )


def test_a_combination_that_the_bank_lacks_is_refused() -> None:
    """[S-40, R-13] With one white die left only two orange ones can be rolled."""
    short = given(fresh(simple_dice=1, complex_dice=7))
    short.when(RollDice(A, 2, 1)).refused("NOT_ENOUGH_DICE", rule="Railroad Dice 2 4.2", kind="simple", left=1)
    short.when(RollDice(A, 0, 2)).then(DiceRolled(A, 1, hand("crossing crossing")))


@pytest.mark.parametrize("again", [RollDice(A, 4, 0), RestockAll(A), take("switch_right", 1, to=(2, 1))])
@pytest.mark.parametrize("first", [RollDice(A, 4, 0), RestockAll(A), take("switch_right", 1, to=(2, 1))])
def test_there_is_one_dice_action_a_turn(first: Command, again: Command) -> None:
    """[S-38, R-14] Whichever of the three came first."""
    given(fresh()).when(first, again).refused("DICE_ACTION_USED", rule="R-14")


def test_the_next_turn_has_a_dice_action_of_its_own() -> None:
    """[Railroad Dice 2 4.1] Rolls are numbered through the game."""
    after = given(fresh()).when(RollDice(A, 4, 0), EndTurn(A), RollDice(1, 4, 0)).then_state(lambda state: state.rolls)
    assert after == 2


def test_rolling_needs_no_use() -> None:
    """[R-21] Not even if no die can be paid for."""
    lonely = """
        A.......
        ........
        ......B.
        ........
        """
    state = position(lonely, money=0, terrain={(1, 0): "~", (0, 1): "~"})
    assert given(state).when(RollDice(A, 4, 0)).then_state(dice_in_bank) == (16, 15)


def test_a_complex_die_is_taken_and_placed_at_once() -> None:
    """[S-45, R-15] The straight that it replaces is `d2`, and may be turned and placed."""
    after = (
        given(fresh(complex_dice=9))
        .when(take("switch_right", 1, to=(2, 1)), place(2, "straight", 0, to=(2, 2)))
        .then(
            ComplexTaken(A, 1, "switch_right"),
            DiePlaced(
                A, 1, COMPLEX, "switch_right", 1, at(2, 1), 0, returned=HandDie(2, SIMPLE, "straight", fixed=True)
            ),
            DiePlaced(A, 2, SIMPLE, "straight", 0, at(2, 2), 0),
        )
    )
    assert (dice_in_bank(after), after.turn.hand) == ((20, 8), ())


def test_a_returned_die_keeps_its_face() -> None:
    """[S-46, R-20] Turning it is free, changing it is not possible."""
    curve = place(2, "curve", 2, to=(4, 1))
    given(fresh()).when(take("switch_right", 1, to=(2, 1)), curve).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=2, face="curve"
    )


def test_taking_a_die_for_an_illegal_square_uses_nothing_up() -> None:
    """[S-47, Railroad Dice 2 4.2] A refusal changes nothing, so rolling is still possible."""
    given(fresh()).when(take("crossing", 0, to=(2, 1))).refused("NOT_CONNECTED", rule="R-22", x=2, y=1)


@pytest.mark.parametrize("face", ["question", "locomotive", "straight", ""])
def test_only_a_complex_track_face_can_be_taken(face: str) -> None:
    """[R-15] The locomotive is nothing to be placed."""
    given(fresh()).when(take(face, 1, to=(2, 1))).refused("FACE_NOT_AVAILABLE", rule="R-15", face=face)


def test_no_complex_die_can_be_taken_from_an_empty_bank() -> None:
    """[Railroad Dice 2 4.2]."""
    given(fresh(complex_dice=0)).when(take("switch_right", 1, to=(2, 1))).refused(
        "NOT_ENOUGH_DICE", rule="Railroad Dice 2 4.2", kind="complex", left=0
    )


def test_everything_can_be_restocked_instead_of_rolling() -> None:
    """[R-14, R-17] 5 for each station, whatever lies there."""
    after = (
        given(fresh(passengers="T1 3, T2 5"))
        .when(RestockAll(A))
        .then(Restocked(A, RestockCause.DICE_ACTION, beside("T1 5, T2 5")))
    )
    assert (passengers(after), after.bank, after.turn.dice_action_used) == ({"T1": 8, "T2": 10}, 290, True)


def test_a_mode_that_fills_up_refuses_what_adds_nothing() -> None:
    """[R-17] With `restock_mode: fill`, up to 5 for each station."""
    filling = given(fresh(passengers="T1 3, T2 7"), game=FILLING)
    after = filling.when(RestockAll(A)).then(Restocked(A, RestockCause.DICE_ACTION, beside("T1 2")))
    assert passengers(after) == {"T1": 5, "T2": 7}
    given(after, game=FILLING).when(EndTurn(A), RestockAll(1)).refused("NO_EFFECT", rule="R-17")


def test_dice_of_a_roll_are_draws_of_their_own() -> None:
    """[Railroad Dice 2 7.2] One for each die, in the order of their numbers."""
    rolled = state_after(fresh(), RollDice(A, 2, 1), rng=KEYED).turn.hand
    drawn = [KEYED.integer(6, "roll", 1, index) for index in range(3)]
    simple = ["straight", "straight", "curve", "curve", "locomotive", "question"]
    complex_ = ["crossing", "back_to_back", "switch_right", "switch_left", "wye", "question"]
    assert [die.face for die in rolled] == [simple[drawn[0]], simple[drawn[1]], complex_[drawn[2]]]
