"""Edges, pairs, faces and rotations [Railroad Dice 2 2.1]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.edges import (
    EAST,
    EDGE_NAMES,
    EDGES,
    NORTH,
    SOUTH,
    WEST,
    entered,
    opposite,
    pairs_of,
    tracks_of,
    turned,
)
from promontory.games.railroad_dice_2.vocabulary import DieKind
from tests.support.railroad_maps import DICE, FACES

ROTATIONS = [
    ("straight", 0, "NS"),
    ("straight", 1, "EW"),
    ("curve", 0, "NE"),
    ("curve", 1, "ES"),
    ("curve", 2, "SW"),
    ("curve", 3, "NW"),
    ("crossing", 0, "NS EW"),
    ("back_to_back", 0, "NE SW"),
    ("back_to_back", 1, "NW ES"),
    ("switch_right", 0, "NS ES"),
    ("switch_right", 1, "EW SW"),
    ("switch_right", 2, "NS NW"),
    ("switch_right", 3, "NE EW"),
    ("switch_left", 0, "NS SW"),
    ("switch_left", 1, "NW EW"),
    ("switch_left", 2, "NE NS"),
    ("switch_left", 3, "ES EW"),
    ("wye", 0, "ES SW"),
    ("wye", 1, "NW SW"),
    ("wye", 2, "NE NW"),
    ("wye", 3, "NE ES"),
]


def named(tracks: int) -> set[str]:
    """Return the names of pairs: `NE`."""
    return {EDGE_NAMES[one] + EDGE_NAMES[other] for one, other in pairs_of(tracks)}


@pytest.mark.parametrize(("face", "rotation", "pairs"), ROTATIONS)
def test_a_face_turns_clockwise(face: str, rotation: int, pairs: str) -> None:
    """[Railroad Dice 2 2.1] N to E to S to W to N; dice are never mirrored."""
    die = FACES.die(face, rotation)
    assert (die.rotation, named(die.tracks)) == (rotation, set(pairs.split()))


def test_no_face_has_more_rotations() -> None:
    """[Railroad Dice 2 2.1] The table of distinct rotations."""
    distinct = [(die.face, die.rotation) for die in DICE.values()]
    assert distinct == [(face, rotation) for face, rotation, _ in ROTATIONS]


@pytest.mark.parametrize(
    ("face", "rotation", "smallest"),
    [("straight", 2, 0), ("straight", 3, 1), ("crossing", 3, 0), ("back_to_back", 2, 0), ("back_to_back", 3, 1)],
)
def test_the_smallest_rotation_stands_for_all_with_the_same_pairs(face: str, rotation: int, smallest: int) -> None:
    """[Railroad Dice 2 2.1] Events store the smallest one."""
    assert FACES.die(face, rotation) == FACES.die(face, smallest)
    assert FACES.die(face, rotation).rotation == smallest


def test_faces_belong_to_one_kind_of_die() -> None:
    """[Railroad Dice 2 1.3] Two simple faces, five complex ones, in the order of the file."""
    assert FACES.of(DieKind.SIMPLE) == ("straight", "curve")
    assert FACES.of(DieKind.COMPLEX) == ("crossing", "back_to_back", "switch_right", "switch_left", "wye")


@pytest.mark.parametrize(("edge", "facing"), [(NORTH, SOUTH), (EAST, WEST), (SOUTH, NORTH), (WEST, EAST)])
def test_edges_face_each_other(edge: int, facing: int) -> None:
    """[Railroad Dice 2 2.1] Edges are numbered N, E, S, W."""
    assert opposite(edge) == facing


@pytest.mark.parametrize("tracks", range(64))
def test_four_quarter_turns_change_nothing(tracks: int) -> None:
    """[Railroad Dice 2 2.1] Whatever the shape."""
    assert turned(turned(tracks, 1), 3) == turned(tracks, 0) == tracks
    assert tracks_of(pairs_of(tracks)) == tracks


def test_a_pair_joins_different_edges() -> None:
    """[Railroad Dice 2 2.1] In either order."""
    assert tracks_of([(EAST, NORTH)]) == tracks_of([(NORTH, EAST)])
    with pytest.raises(ValueError, match="not in tuple"):
        tracks_of([(EAST, EAST)])


@pytest.mark.parametrize(
    ("face", "edge", "forward", "reversing"),
    [
        ("switch_right", "S", "NS ES", "NS ES"),
        ("switch_right", "N", "NS", "NS ES"),
        ("switch_right", "W", "", ""),
        ("wye", "E", "ES", "ES SW"),
        ("crossing", "N", "NS", "NS"),
        ("back_to_back", "W", "SW", "SW"),
    ],
)
def test_a_train_runs_on_the_pairs_of_its_edge(face: str, edge: str, forward: str, reversing: str) -> None:
    """[R-24] [R-25] If it may reverse, on all that hang together with it; the lines of a crossing never do."""
    tracks = FACES.die(face, 0).tracks
    assert named(entered(tracks, EDGE_NAMES.index(edge), reversing=False)) == set(forward.split())
    assert named(entered(tracks, EDGE_NAMES.index(edge), reversing=True)) == set(reversing.split())


@pytest.mark.parametrize("edge", EDGES)
def test_a_triangle_hangs_together(edge: int) -> None:
    """[Railroad Dice 2 10] A shape may have any number of pairs: three edges, joined each with each."""
    triangle = tracks_of([(NORTH, SOUTH), (SOUTH, EAST), (NORTH, EAST)])
    assert len(pairs_of(entered(triangle, edge, reversing=False))) == (0 if edge == WEST else 2)
    assert len(pairs_of(entered(triangle, edge, reversing=True))) == (0 if edge == WEST else 3)
