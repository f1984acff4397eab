"""How many tiles a route crosses [Railroad Dice 2 4.5]."""

from __future__ import annotations

from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.routes import shortest_routes
from tests.support.railroad_maps import A, At, lab_map, networks


def counts(board: Board) -> dict[At, int]:
    """Return the tiles to each station that A is linked to."""
    return {(route.station.x, route.station.y): route.tiles for route in shortest_routes(board, networks(board)[A])}


def test_tiles_are_counted_not_squares() -> None:
    """[S-56] [R-42] Three tiles west to east, start and end included."""
    board = lab_map("""
        ............
        .A───────g..
        ......B.....
        ............
    """)
    assert counts(board) == {(9, 1): 3}


def test_a_route_inside_one_tile_counts_one() -> None:
    """[R-42] Whatever its length."""
    board = lab_map("""
        ┌──┐....
        A.g│....
        ..└┘....
        ......B.
    """)
    assert counts(board) == {(2, 1): 1}


def test_the_route_with_the_fewest_tiles_counts() -> None:
    """[S-57] [R-43] The west line crosses 2 tiles, the east line 4."""
    board = lab_map("""
        ........
        ┌─A─┐...
        │...│...
        │...│...
        │...│...
        └─g─┘...
        ......B.
        ........
    """)
    assert counts(board) == {(2, 5): 2}


def test_a_long_route_on_few_tiles_beats_a_short_one() -> None:
    """[R-43] In squares the direct route is shorter, but it crosses a third tile."""
    board = lab_map("""
        ........
        .A─┐....
        ...│....
        .┌─┘....
        .│......
        .└──┐...
        ....└g..
        ......B.
    """)
    assert counts(board) == {(5, 6): 3}


def test_a_tile_entered_twice_counts_once() -> None:
    """[S-58] [R-42] West, east and west again are 2 tiles."""
    board = lab_map("""
        ........
        .A──┐...
        ..g─┘.B.
        ........
    """)
    assert counts(board) == {(2, 2): 2}


def test_a_route_does_not_lead_through_stations() -> None:
    """[R-22] The short way ends at the gray station in the middle."""
    board = lab_map("""
        ............
        .A─────g─g..
        .└┐......│..
        ..│......│..
        ..│......│..
        ..└──────┘..
        ........B...
        ............
    """)
    assert counts(board) == {(7, 1): 2, (9, 1): 5}


def test_stations_that_are_not_linked_have_no_count() -> None:
    """[Railroad Dice 2 4.5] The own home has none either."""
    board = lab_map("""
        ........
        .A─g.g..
        .└┐.....
        .─┘...B.
    """)
    assert counts(board) == {(3, 1): 1}


def test_ways_to_the_same_place_may_be_on_different_tiles() -> None:
    """[R-43] The lines merge; one came over the north-east tile, one over the south-west one."""
    board = lab_map("""
        ........
        ..A──┐..
        ..│..│..
        ..│..│g.
        ..│..││.
        ..└──74┐
        .......│
        ...g───┘
    """)
    assert counts(board) == {(6, 3): 3, (3, 7): 3}
