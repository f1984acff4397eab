"""Where trains run, and what squares that are joined are [Railroad Dice 2 2.2 and 2.3]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.edges import EAST, NORTH, WEST, edges_of
from promontory.games.railroad_dice_2.network import extended, frontier, network_of, traversed
from promontory.games.railroad_dice_2.vocabulary import Square
from tests.support.railroad_maps import FACES, A, B, lab_map, linked, networks


def test_facing_ends_are_joined() -> None:
    """[Railroad Dice 2 2.2] Trains run from die to die and into stations, on any of their four edges [R-26]."""
    board = lab_map("""
        .┌────┐.
        .A....g.
        .└─┐.g│.
        ...└──┘.
    """)
    assert linked(board)[A] == [(6, 1)]


def test_a_waiting_end_is_not_joined() -> None:
    """[Railroad Dice 2 2.2] Trains stop where the next die has no facing end."""
    board = lab_map("""
        ........
        .A─│─g..
        ........
        ........
    """)
    assert linked(board)[A] == []


def test_neighbouring_stations_are_not_joined() -> None:
    """[Railroad Dice 2 2.2] A connection needs at least one die."""
    board = lab_map("""
        ........
        .Ag─....
        ........
        ........
    """)
    assert linked(board)[A] == []


def test_trains_do_not_pass_stations() -> None:
    """[R-22] Neither gray ones, nor other homes, nor the own one."""
    board = lab_map("""
        ............
        .g─A─g─g....
        ...└──B──g..
        ............
    """)
    assert linked(board) == {A: [(1, 1), (5, 1), (6, 2)], B: [(3, 1), (9, 2)]}


def test_a_line_back_to_the_own_home_links_nothing() -> None:
    """[Railroad Dice 2 2.3] The own home is never in `linked`."""
    board = lab_map("""
        .┌─┐....
        .A─┘..B.
        ........
        ........
    """)
    assert linked(board)[A] == []


def test_a_switch_is_entered_by_its_shared_edge_or_by_a_branch() -> None:
    """[R-24] From a branch the train leaves through the shared edge only."""
    board = lab_map("""
        ............
        .A──3──B....
        ....└──g....
        ............
    """)
    assert linked(board) == {A: [(7, 1), (7, 2)], B: [(1, 1)]}


def test_reversing_trains_take_every_branch() -> None:
    """[R-24] With the option B reaches the gray station, too."""
    board = lab_map(
        """
        ............
        .A──3──B....
        ....└──g....
        ............
        """,
        reversing=True,
    )
    assert linked(board) == {A: [(7, 1), (7, 2)], B: [(1, 1), (7, 2)]}


def test_the_lines_of_a_crossing_are_independent() -> None:
    """[R-25] A train stays on its line."""
    board = lab_map("""
        ...g....
        .A─┼─g..
        ...└──B.
        ........
    """)
    assert linked(board) == {A: [(5, 1)], B: [(3, 0)]}


def test_a_train_may_use_a_square_twice() -> None:
    """[Railroad Dice 2 2.3] It loops back over the crossing."""
    board = lab_map("""
        ...g....
        .A─┼┐...
        ...└┘...
        ........
    """)
    assert linked(board)[A] == [(3, 0)]


def test_traversed_pairs_are_those_that_trains_run_on() -> None:
    """[Railroad Dice 2 2.3] A piece of track is connected to a home if a train from there can run on it."""
    board = lab_map("""
        ........
        .A──8─..
        ....│...
        ....g...
    """)
    on_switch = {pair for square, pair in traversed(networks(board)[A], board) if square == Square(4, 1)}
    assert on_switch == {(EAST, WEST)}


def test_the_frontier_is_what_trains_come_up_to() -> None:
    """[Railroad Dice 2 2.4] The empty squares where simple dice may come, and the edges that have to be taken up."""
    board = lab_map("""
        A─......
        └─┐.....
        ........
        .......B
    """)
    network = networks(board)[A]
    arrivals = {board.plan.squares[cell]: edges_of(network.arrivals[cell]) for cell in frontier(network, board)}
    assert arrivals == {Square(2, 0): (WEST,), Square(2, 2): (NORTH,)}


def test_a_network_is_extended_where_a_die_was_put() -> None:
    """[Railroad Dice 2 2.3] It equals the network that is searched from scratch."""
    before = lab_map("""
        ........
        .A──.3─g
        .....└g.
        ......B.
    """)
    network = network_of(before, Square(1, 1))
    after = before.with_die(Square(4, 1), FACES.die("straight", 1))
    assert extended(network, after, Square(4, 1)) == network_of(after, Square(1, 1))
    assert extended(network, after, Square(4, 1)).linked == {Square(7, 1), Square(6, 2)}


def test_a_die_out_of_reach_changes_no_network() -> None:
    """[Railroad Dice 2 2.3] Trains do not come up to it."""
    before = lab_map("""
        ........
        .A─.....
        ......B.
        ........
    """)
    network = network_of(before, Square(1, 1))
    after = before.with_die(Square(5, 2), FACES.die("straight", 1))
    assert extended(network, after, Square(5, 2)) is network


@pytest.mark.parametrize("seat", [A, B])
def test_homes_are_in_each_others_links(seat: int) -> None:
    """[Railroad Dice 2 2.3] Property 1: a path can be run the other way."""
    board = lab_map("""
        ............
        .A─3─n─8─B..
        ...└─┘.└─g..
        ............
    """)
    assert ((9, 1) in linked(board)[A]) == ((1, 1) in linked(board)[B])
