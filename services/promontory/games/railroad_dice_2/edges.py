"""The edges of a square and the tracks that join them, as small bit sets [Railroad Dice 2 2.1].

An `Edge` is 0, 1, 2 or 3 for north, east, south and west; a set of edges (`Edges`) has bit `e` for edge `e`. A pair is
one piece of track that joins two edges; a set of pairs (`Tracks`) has bit `n` for the pair `PAIRS[n]`, so it is a
number from 0 to 63, and what a train may do on it can be looked up.
"""

from __future__ import annotations

from collections.abc import Iterable

Edge = int
Edges = int
Pair = tuple[Edge, Edge]
Tracks = int

NORTH, EAST, SOUTH, WEST = 0, 1, 2, 3
EDGES: tuple[Edge, ...] = (NORTH, EAST, SOUTH, WEST)
EDGE_NAMES = "NESW"
PAIRS: tuple[Pair, ...] = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
ALL_TRACKS: Tracks = (1 << len(PAIRS)) - 1
_EDGES_OF = tuple(tuple(edge for edge in EDGES if edges >> edge & 1) for edges in range(1 << len(EDGES)))


def opposite(edge: Edge) -> Edge:
    """Return the edge of the neighbour that touches `edge`."""
    return (edge + 2) % 4


def tracks_of(pairs: Iterable[Pair]) -> Tracks:
    """Return the set of `pairs`, each given in either order.

    Raises `ValueError` if a pair does not join two different edges.
    """
    tracks = 0
    for one, other in pairs:
        tracks |= 1 << PAIRS.index((min(one, other), max(one, other)))
    return tracks


def pairs_of(tracks: Tracks) -> tuple[Pair, ...]:
    """Return the pairs in `tracks`, in the order of `PAIRS`."""
    return tuple(pair for n, pair in enumerate(PAIRS) if tracks >> n & 1)


def turned(tracks: Tracks, rotation: int) -> Tracks:
    """Return `tracks` after `rotation` quarter turns clockwise."""
    return tracks_of(((one + rotation) % 4, (other + rotation) % 4) for one, other in pairs_of(tracks))


def edges_of(edges: Edges) -> tuple[Edge, ...]:
    """Return the edges in a set, ascending."""
    return _EDGES_OF[edges]


def ends_of(tracks: Tracks) -> Edges:
    """Return the edges that occur in `tracks`."""
    ends = 0
    for one, other in pairs_of(tracks):
        ends |= 1 << one | 1 << other
    return ends


def entered(tracks: Tracks, edge: Edge, *, reversing: bool) -> Tracks:
    """Return the pairs that a train coming in through `edge` runs on.

    These are the pairs with that edge; if trains may reverse, all that hang together with it by shared edges [R-24].
    """
    reached = tracks_of(pair for pair in pairs_of(tracks) if edge in pair)
    while reversing:
        ends = ends_of(reached)
        group = tracks_of(pair for pair in pairs_of(tracks) if ends & (1 << pair[0] | 1 << pair[1]))
        if group == reached:
            break
        reached = group
    return reached
