"""Tiles, the beginners' layout and the variable one [Railroad Dice 2 1.1, 1.2 and 3.2]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.kernel import Malformed, Rejected
from promontory.games.railroad_dice_2.board import empty_board
from promontory.games.railroad_dice_2.components import Components, LaidTile
from promontory.games.railroad_dice_2.drawing import drawing_of
from promontory.games.railroad_dice_2.layout import (
    Layout,
    check_tile,
    contact,
    plan_of,
    shift_of,
    shifted,
    tile_squares,
    turned_rows,
    unlaid_tiles,
)
from promontory.games.railroad_dice_2.vocabulary import Square
from tests.support.railroad_maps import COMPONENTS, At, drawn, with_parts

FIRST = LaidTile("T1", Square(0, 0), 0)
PAIR: Layout = (FIRST, LaidTile("T2", Square(4, 0), 0))
FULL_EDGES = with_parts(COMPONENTS, layouts=replace(COMPONENTS.layouts, min_pair_contact=4))


def laid(at: At, tile_id: str = "T3", rotation: int = 0) -> LaidTile:
    """Return a tile that is laid on a square."""
    return LaidTile(tile_id, Square(*at), rotation)


def test_the_beginners_layout_is_three_tiles_wide_and_two_high() -> None:
    """[Railroad Dice 2 1.2] Rotation 0 [R-2]; the terrain of the six tiles."""
    plan = plan_of(COMPONENTS, COMPONENTS.layouts.beginners)
    assert drawing_of(empty_board(plan)) == drawn("""
        .....^^..~..
        ...^..^.~~..
        ...........^
        .^^.^.....^.
        ...~..^...^.
        ...~.^^.^...
        ..~~^^.....~
        ^.........~~
    """)


@pytest.mark.parametrize(("sign", "count"), [(".", 69), ("^", 17), ("~", 10)])
def test_terrain_matters_without_closing_the_map(sign: str, count: int) -> None:
    """[Railroad Dice 2 1.1] 96 squares in all."""
    assert plan_of(COMPONENTS, COMPONENTS.layouts.beginners).signs.count(sign) == count


def test_squares_know_their_tile() -> None:
    """[Railroad Dice 2 1.1] None off the map."""
    plan = plan_of(COMPONENTS, COMPONENTS.layouts.beginners)
    where = [(3, 3), (4, 3), (11, 0), (0, 4), (7, 7), (8, 7), (12, 0), (-1, 0)]
    assert [plan.tile_at(Square(*at)) for at in where] == ["T1", "T2", "T3", "T4", "T5", "T6", None, None]


@pytest.mark.parametrize(
    ("rotation", "rows"),
    [
        (0, ".~.. ~~.. ...^ ..^."),
        (1, "..~. ..~~ ^... .^.."),
        (2, ".^.. ^... ..~~ ..~."),
        (3, "..^. ...^ ~~.. .~.."),
    ],
)
def test_tiles_turn_clockwise(rotation: int, rows: str) -> None:
    """[R-2] [Railroad Dice 2 3.2] Column `c`, row `r` shows column `r`, row `3-c` of the tile turned once less."""
    lake = COMPONENTS.tile("T3")
    assert lake is not None
    assert turned_rows(lake, rotation) == tuple(rows.split())


@pytest.mark.parametrize(
    ("other", "edges"),
    [
        ((0, 0), None),
        ((3, 3), None),
        ((-3, 2), None),
        ((4, 0), 4),
        ((4, 3), 1),
        ((-4, -2), 2),
        ((1, 4), 3),
        ((-3, -4), 1),
        ((4, 4), 0),
        ((-4, 4), 0),
        ((5, 0), 0),
        ((0, 9), 0),
    ],
)
def test_contact_counts_square_edges(other: At, edges: int | None) -> None:
    """[Railroad Dice 2 1.2] Corners do not count; tiles nearer than 4 both ways overlap."""
    assert contact(Square(0, 0), Square(*other), size=4) == edges
    assert contact(Square(*other), Square(0, 0), size=4) == edges


@pytest.mark.parametrize("at", [(2, 4), (1, 4), (0, 4), (8, 0), (4, -4)])
def test_four_edges_in_total_are_enough(at: At) -> None:
    """[S-79] [R-1] 2 + 2 and 3 + 1 are as good as a full side."""
    check_tile(COMPONENTS, PAIR, laid(at))


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ((3, 2), "OVERLAP"),
        ((-2, 4), "TOO_LITTLE_CONTACT"),
        ((8, 1), "TOO_LITTLE_CONTACT"),
        ((8, 4), "TOO_LITTLE_CONTACT"),
        ((20, 20), "TOO_LITTLE_CONTACT"),
    ],
)
def test_tiles_neither_overlap_nor_touch_too_little(at: At, reason: str) -> None:
    """[S-79] [R-1] A corner or nothing at all is too little, too."""
    with pytest.raises(Rejected) as refused:
        check_tile(COMPONENTS, PAIR, laid(at))
    assert refused.value.reason == reason


def test_the_refusal_tells_the_contact() -> None:
    """[S-79] Case (b)."""
    with pytest.raises(Rejected) as refused:
        check_tile(COMPONENTS, PAIR, laid((-2, 4)))
    assert refused.value.details == {"contact": 2, "needed": 4}


@pytest.mark.parametrize("at", [(2, 4), (1, 4)])
def test_an_option_asks_for_full_edges(at: At) -> None:
    """[R-1] `min_pair_contact: 4` refuses (c) and (d) of S-79."""
    check_tile(FULL_EDGES, PAIR, laid((0, 4)))
    with pytest.raises(Rejected) as refused:
        check_tile(FULL_EDGES, PAIR, laid(at))
    assert refused.value.reason == "TOO_LITTLE_CONTACT"


@pytest.mark.parametrize("tile_id", ["T1", "T7", ""])
def test_a_tile_is_laid_once(tile_id: str) -> None:
    """[Railroad Dice 2 6.1] Unknown and laid tiles are refused before the place is looked at."""
    with pytest.raises(Rejected) as refused:
        check_tile(COMPONENTS, PAIR, laid((3, 2), tile_id))
    assert refused.value.reason == "NO_SUCH_TILE"


def test_the_first_tile_lies_at_the_origin() -> None:
    """[Railroad Dice 2 3.2] In any rotation."""
    check_tile(COMPONENTS, (), laid((0, 0), rotation=3))
    with pytest.raises(Rejected) as refused:
        check_tile(COMPONENTS, (), laid((0, 1)))
    assert refused.value.reason == "BAD_REQUEST"


def test_rotations_may_be_restricted() -> None:
    """[R-2] By the component file."""
    unturned = with_parts(COMPONENTS, layouts=replace(COMPONENTS.layouts, rotations=(0,)))
    with pytest.raises(Malformed) as refused:
        check_tile(unturned, (), laid((0, 0), rotation=1))
    assert refused.value.reason == "BAD_REQUEST"


def test_a_second_tile_takes_a_full_side() -> None:
    """[R-1] With one neighbour, four edges in total are a side."""
    assert tile_squares(COMPONENTS, (FIRST,)) == (Square(0, -4), Square(-4, 0), Square(4, 0), Square(0, 4))


def is_accepted(components: Components, layout: Layout, square: Square) -> bool:
    """Tell whether the last tile may be laid on a square."""
    try:
        check_tile(components, layout, LaidTile("T6", square, 2))
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(
    "layout", [(), (FIRST,), PAIR, (*PAIR, laid((2, 4))), (*PAIR, laid((2, 4)), laid((0, 8), "T5"))]
)
@pytest.mark.parametrize("components", [COMPONENTS, FULL_EDGES], ids=["total", "full edges"])
def test_listed_squares_are_those_that_are_accepted(components: Components, layout: Layout) -> None:
    """[Railroad Dice 2 3.2] Nothing beyond them passes the tests, whatever tile and rotation."""
    around = [Square(x, y) for y in range(-9, 18) for x in range(-9, 18)]
    accepted = [square for square in around if is_accepted(components, layout, square)]
    assert list(tile_squares(components, layout)) == accepted


def test_unlaid_tiles_are_listed_in_order() -> None:
    """[Railroad Dice 2 3.2] Any of them may be laid next."""
    assert unlaid_tiles(COMPONENTS, PAIR) == ("T3", "T4", "T5", "T6")


def test_a_layout_is_shifted_to_the_origin() -> None:
    """[Railroad Dice 2 3.2] The smallest `x` and the smallest `y` become 0, each on its own."""
    layout = (FIRST, laid((-4, 0), "T2"), laid((-3, -4), "T3"))
    assert shift_of(layout) == Square(4, 4)
    squares = [(one.square.x, one.square.y) for one in shifted(layout, shift_of(layout))]
    assert squares == [(4, 4), (0, 4), (1, 0)]


def test_notches_are_off_the_map() -> None:
    """[R-30] A variable layout need not be a rectangle."""
    layout = (laid((0, 0), "T1"), laid((4, 0), "T2", 1), laid((2, 4), "T4", 2))
    board = empty_board(plan_of(COMPONENTS, layout))
    assert drawing_of(board) == "....^...\n...^...^\n......^^\n.^^.....\n  ...^\n  ~~..\n  ~...\n  ~..."
    assert [board.plan.tile_at(Square(x, 4)) for x in (1, 2, 6)] == [None, "T4", None]
