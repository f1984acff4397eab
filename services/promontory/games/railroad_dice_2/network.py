"""Where the trains of a player can run: reach, links and joints [Railroad Dice 2 2.2 and 2.3]."""

from __future__ import annotations

import msgspec

from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.edges import Edge, Pair
from promontory.games.railroad_dice_2.vocabulary import Square


class Network(msgspec.Struct, frozen=True):
    """What the trains of the player whose home stands on `home` can reach.

    `arrivals` has for each cell the set of edges through which they can come up to it, whatever lies there: an empty
    square, a die that takes them up or not, or a station. `linked` are the stations they reach but the own home.
    Neither ever shrinks.
    """

    home: Square
    arrivals: bytes
    linked: frozenset[Square]


def network_of(board: Board, home: Square) -> Network:
    """Return the network of the home on `home`, searched from scratch."""
    raise NotImplementedError


def extended(network: Network, board: Board, square: Square) -> Network:
    """Return the network after a die was put on `square`; `board` has that die already."""
    raise NotImplementedError


def traversed(network: Network, board: Board) -> frozenset[tuple[Square, Pair]]:
    """Return the pieces of track that trains of the network run on."""
    raise NotImplementedError


def frontier(network: Network, board: Board) -> tuple[tuple[Square, Edge], ...]:
    """Return the empty squares that trains of the network come up to, with the edges through which they would come."""
    raise NotImplementedError


def new_links(before: Network, after: Network) -> tuple[Square, ...]:
    """Return the stations that are linked in `after` and were not in `before`, by `y`, then `x`."""
    return in_order(after.linked - before.linked)


def in_order(squares: frozenset[Square]) -> tuple[Square, ...]:
    """Return squares by `y`, then `x`."""
    return tuple(sorted(squares, key=lambda square: (square.y, square.x)))
