"""The map as text [Railroad Dice 2 2.1]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.board import Die, empty_board
from promontory.games.railroad_dice_2.drawing import OTHER_DIE, drawing_of, glyph_of
from promontory.games.railroad_dice_2.edges import pairs_of
from promontory.games.railroad_dice_2.layout import plan_of
from promontory.games.railroad_dice_2.vocabulary import DieKind
from tests.support.railroad_maps import COMPONENTS, DICE, FACES, drawn, lab_map

GLYPHS = {
    "straight": "│─",
    "curve": "└┌┐┘",
    "crossing": "┼",
    "back_to_back": "XZ",
    "switch_right": "1357",
    "switch_left": "2468",
    "wye": "mnop",
}
EVERYTHING = """
    │─└┌┐┘┼X
    Z12345..
    678mnopg
    ABCD.^~.
"""


@pytest.mark.parametrize("face", GLYPHS)
def test_each_rotation_has_a_glyph(face: str) -> None:
    """[Railroad Dice 2 2.1] From rotation 0 on."""
    assert "".join(glyph for glyph, die in DICE.items() if die.face == face) == GLYPHS[face]


def test_no_two_dice_look_the_same() -> None:
    """[Railroad Dice 2 2.1] 21 glyphs for 21 dice."""
    assert len(DICE) == sum(map(len, GLYPHS.values())) == 21
    assert len({pairs_of(die.tracks) for die in DICE.values()}) == 21


def test_a_drawing_is_read_back() -> None:
    """[Railroad Dice 2 2.1] Dice, homes, gray stations and terrain."""
    assert drawing_of(lab_map(EVERYTHING)) == drawn(EVERYTHING)


def test_a_map_with_holes_is_read_back() -> None:
    """[R-30] What no tile covers is blank; lines end where the map ends."""
    text = """
            .A^.
            .└┐.
            ....
            ....
        ....    ....
        .~..    ..B.
        ....    ....
        ....    ....
    """
    assert drawing_of(lab_map(text)) == drawn(text)


def test_the_beginners_map_is_read_back() -> None:
    """[Railroad Dice 2 1.2] The same squares, tiles and costs."""
    board = empty_board(plan_of(COMPONENTS, COMPONENTS.layouts.beginners))
    assert lab_map(drawing_of(board)) == board


def test_terrain_under_a_die_is_not_drawn() -> None:
    """[Railroad Dice 2 2.1] The die hides it, and it still costs nothing else."""
    board = lab_map("─...\n....\n....\n....", terrain={(0, 0): "~"})
    assert drawing_of(board) == "─...\n....\n....\n...."
    assert board.plan.signs.count("~") == 1


def test_tracks_of_other_files_have_one_sign() -> None:
    """[Railroad Dice 2 10] An operator may add shapes that have no glyph."""
    triangle = Die(DieKind.COMPLEX, "triangle", 0, FACES.die("switch_right", 0).tracks | FACES.die("curve", 0).tracks)
    assert glyph_of(triangle) == OTHER_DIE
