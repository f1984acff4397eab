"""The order in which commands are judged before their own rules are [Railroad Dice 2 6.1]."""

from __future__ import annotations

import pytest

from promontory.games.kernel import Malformed
from promontory.games.railroad_dice_2.commands import (
    Build,
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceTile,
    Resign,
    RestockAll,
    ReturnDice,
    RollDice,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.state import State
from tests.support.railroad_dice_2 import (
    BLIND,
    GAME,
    VARIABLE,
    at,
    begun,
    carry,
    given,
    gray,
    home,
    place,
    position,
    state_after,
    take,
)
from tests.support.railroad_maps import A, B

MAP = """
    ........
    .A......
    ......B.
    ........
    """
IN_TURN: list[Command] = [
    RollDice(A, 4, 0),
    take("wye", 0, to=(2, 1)),
    RestockAll(A),
    place(1, "straight", 1, to=(2, 1)),
    Build(A, ()),
    UseLocomotive(A, 1, "T1"),
    ReturnDice(A, ()),
    BuyLocomotive(A, 2),
    carry(1, by=2, start=(6, 2)),
    EndTurn(A),
]
SET_UP: list[Command] = [PlaceTile(A, "T1", at(0, 0), 7), home(A, 0, 0), gray(A, 0, 0)]


def in_phase(phase: str) -> State:
    """Return a state in which seat A is to act."""
    states = {
        "layout": begun(2, game=VARIABLE),
        "homes": begun(2),
        "grays": state_after(begun(2), home(A, 1, 1), home(B, 5, 1), game=GAME),
        "turn": position(MAP),
    }
    return states[phase]


@pytest.mark.parametrize("command", [*IN_TURN, *SET_UP, Resign(B)])
def test_nothing_is_accepted_after_the_end(command: Command) -> None:
    """[Railroad Dice 2 6.1] `MATCH_OVER` comes before all else."""
    over = state_after(position(MAP), Resign(A))
    given(over).when(command).refused("MATCH_OVER", rule="Railroad Dice 2 5.3")


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_must_exist(seat: int) -> None:
    """[Railroad Dice 2 6.1] It makes no sense in any state."""
    with pytest.raises(Malformed, match="SEAT_OUT_OF_RANGE"):
        GAME.decide(position(MAP), EndTurn(seat), BLIND)


def test_only_the_active_seat_acts() -> None:
    """[Railroad Dice 2 6.1] Whose turn it is comes before the phase."""
    given(position(MAP)).when(home(B, 0, 0)).refused("NOT_YOUR_TURN", rule="Railroad Dice 2 6.1", toAct=A)


@pytest.mark.parametrize(
    ("phase", "command"),
    [
        *[(phase, command) for phase in ("layout", "homes", "grays") for command in IN_TURN],
        *[("turn", command) for command in SET_UP],
        *[("layout", command) for command in SET_UP[1:]],
        *[("homes", command) for command in SET_UP[::2]],
        *[("grays", command) for command in SET_UP[:2]],
    ],
)
def test_every_command_has_its_phases(phase: str, command: Command) -> None:
    """[Railroad Dice 2 6.1] The phase comes before malformed parameters."""
    given(in_phase(phase)).when(command).refused("WRONG_PHASE", rule="Railroad Dice 2 6.1", phase=phase)


@pytest.mark.parametrize("rotation", [-1, 4])
def test_a_rotation_is_0_to_3(rotation: int) -> None:
    """[Railroad Dice 2 6.2] Before anything else of the command is looked at."""
    before = position(MAP, dice="straight")
    for command in (place(9, "", rotation, to=(0, 0)), take("", rotation, to=(0, 0))):
        with pytest.raises(Malformed, match="BAD_REQUEST"):
            GAME.decide(before, command, BLIND)


def test_a_die_must_be_in_the_hand() -> None:
    """[Railroad Dice 2 6.1] That comes before its face and the square."""
    given(position(MAP, dice="straight")).when(place(2, "zigzag", 0, to=(99, 99))).refused(
        "NO_SUCH_DIE", rule="Railroad Dice 2 4.3", die=2
    )


def test_the_face_comes_before_the_square() -> None:
    """[Railroad Dice 2 6.1]."""
    given(position(MAP, dice="straight")).when(place(1, "curve", 0, to=(99, 99))).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face="curve"
    )


def test_words_of_a_refusal_are_quoted_in_part_only() -> None:
    """[Railroad Dice 2 6.1] However long a name is."""
    given(position(MAP, dice="straight")).when(place(1, "z" * 5000, 0, to=(1, 1))).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=1, face="z" * 64
    )
    given(position(MAP, dice="locomotive")).when(UseLocomotive(A, 1, "T" * 5000)).refused(
        "NO_SUCH_TILE", rule="Railroad Dice 2 4.3", tileId="T" * 64
    )


def test_a_refusal_changes_nothing_and_uses_no_draw_up() -> None:
    """[Railroad Dice 2 6.1, Railroad Dice 2 7.2] The next roll is still the first one."""
    state = position(MAP, simple_dice=3)
    given(state).when(RollDice(A, 4, 0)).refused("NOT_ENOUGH_DICE", rule="Railroad Dice 2 4.2", kind="simple", left=3)
    assert state_after(state, RollDice(A, 0, 2)).rolls == 1
