"""Where stations may stand [Railroad Dice 2 3.3 and 3.4]."""

from __future__ import annotations

from functools import reduce

import pytest
from msgspec.structs import replace

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import Board, Station, empty_board
from promontory.games.railroad_dice_2.layout import plan_of
from promontory.games.railroad_dice_2.stations import check_gray, check_home, gray_squares, home_squares
from promontory.games.railroad_dice_2.vocabulary import Square
from tests.support.railroad_maps import COMPONENTS, A, At, B, with_parts

BEGINNERS = empty_board(plan_of(COMPONENTS, COMPONENTS.layouts.beginners))
FULL = ((1, 1), (2, 2), (5, 1), (6, 2), (10, 2), (1, 5), (5, 5), (6, 6), (9, 5), (10, 6))


def with_home() -> Board:
    """Return the beginners' map with A's home on T1."""
    return BEGINNERS.with_station(Square(1, 1), A)


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ((12, 0), "OFF_MAP"),
        ((-1, 5), "OFF_MAP"),
        ((4, 1), "TILE_EDGE"),
        ((0, 0), "TILE_EDGE"),
        ((9, 0), "TILE_EDGE"),
        ((9, 1), "WATER"),
        ((2, 2), "TILE_TAKEN"),
        ((1, 1), "TILE_TAKEN"),
    ],
)
def test_a_home_may_not_stand_there(at: At, reason: str) -> None:
    """[S-76] [R-5] [R-6] The first failing test gives the reason: map, inner square, no water, a tile of its own."""
    with pytest.raises(Rejected) as refused:
        check_home(COMPONENTS, with_home(), Square(*at))
    assert refused.value.reason == reason


@pytest.mark.parametrize("at", [(6, 1), (5, 1)])
def test_a_home_may_stand_on_a_mountain(at: At) -> None:
    """[S-76] [R-7] As on plain, free of charge."""
    check_home(COMPONENTS, with_home(), Square(*at))


def test_gray_stations_do_not_take_a_tile() -> None:
    """[R-5] Only other homes do."""
    check_home(COMPONENTS, BEGINNERS.with_station(Square(1, 1), None), Square(2, 2))


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ((99, 0), "OFF_MAP"),
        ((3, 2), "TILE_EDGE"),
        ((9, 1), "WATER"),
        ((1, 1), "STATION_SQUARE"),
        ((2, 1), "TOO_CLOSE"),
        ((1, 2), "TOO_CLOSE"),
    ],
)
def test_a_gray_station_may_not_stand_there(at: At, reason: str) -> None:
    """[S-77] [Railroad Dice 2 3.4] The first failing test gives the reason."""
    with pytest.raises(Rejected) as refused:
        check_gray(COMPONENTS, with_home(), Square(*at))
    assert refused.value.reason == reason


def test_two_squares_away_counts_rows_and_columns() -> None:
    """[S-77] [R-8] A diagonal of inner squares is far enough."""
    check_gray(COMPONENTS, with_home(), Square(2, 2))


def test_22_squares_take_the_first_home() -> None:
    """[Railroad Dice 2 6.3] Four inner squares of each tile, two of which are water."""
    assert len(home_squares(COMPONENTS, BEGINNERS)) == 22
    assert len(home_squares(COMPONENTS, with_home())) == 18


def test_listed_squares_are_in_order() -> None:
    """[Railroad Dice 2 3.3] By `y`, then `x`."""
    assert [(square.x, square.y) for square in home_squares(COMPONENTS, BEGINNERS)][:6] == [
        (1, 1),
        (2, 1),
        (5, 1),
        (6, 1),
        (10, 1),
        (1, 2),
    ]


def test_no_square_may_be_left_for_gray_stations() -> None:
    """[S-78] [R-9] Water keeps T3 and T4 at one station each."""
    board = reduce(lambda board, at: board.with_station(Square(*at), None), FULL, BEGINNERS)
    assert gray_squares(COMPONENTS, board) == ()


def test_the_place_of_the_first_station_decides_how_many_a_tile_takes() -> None:
    """[Railroad Dice 2 1.1] On T3 a station at (10,1) leaves room for one at (9,2), one at (10,2) for none."""
    roomy = gray_squares(COMPONENTS, BEGINNERS.with_station(Square(10, 1), None))
    full = gray_squares(COMPONENTS, BEGINNERS.with_station(Square(10, 2), None))
    assert [square for square in roomy if BEGINNERS.plan.tile_at(square) == "T3"] == [Square(9, 2)]
    assert [square for square in full if BEGINNERS.plan.tile_at(square) == "T3"] == []


def test_stations_are_found_by_square_tile_and_owner() -> None:
    """[Railroad Dice 2 6.5] The map knows each station's owner."""
    board = with_home().with_station(Square(2, 2), None)
    assert board.station_at(Square(2, 2)) == Station(Square(2, 2), None)
    assert board.stations_on("T1") == (Station(Square(1, 1), A), Station(Square(2, 2), None))
    assert (board.home_of(A), board.home_of(B)) == (Square(1, 1), None)


def test_border_squares_may_be_allowed() -> None:
    """[R-6] By the component file."""
    lenient = with_parts(COMPONENTS, stations=replace(COMPONENTS.stations, border_squares_allowed=True))
    assert len(home_squares(lenient, BEGINNERS)) == 96 - 10


def test_homes_may_share_a_tile_if_the_file_says_so() -> None:
    """[R-5] By the component file; not the square, though."""
    shared = with_parts(COMPONENTS, stations=replace(COMPONENTS.stations, one_home_per_tile=False))
    check_home(shared, with_home(), Square(2, 2))
    with pytest.raises(Rejected) as refused:
        check_home(shared, with_home(), Square(1, 1))
    assert refused.value.reason == "STATION_SQUARE"
