"""Where the trains of a player can run: reach, links and joints [Railroad Dice 2 2.2 and 2.3].

Track never goes away and new track breaks no old joint, so a network only grows. It is therefore searched once, from
the home, and every die that is put on the map later only resumes the search at its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from itertools import compress
from operator import or_
from typing import NamedTuple

import msgspec

from promontory.games.railroad_dice_2.board import EMPTY, OFF_MAP, STATION, Board
from promontory.games.railroad_dice_2.edges import (
    ALL_TRACKS,
    EDGES,
    Edge,
    Edges,
    Pair,
    Tracks,
    edges_of,
    ends_of,
    entered,
    opposite,
    pairs_of,
)
from promontory.games.railroad_dice_2.plan import Cell, Plan
from promontory.games.railroad_dice_2.vocabulary import Square

Arrival = tuple[Cell, Edge]
"""A cell, and the edge through which a train comes into it."""

_CODES = range(256)

SETS_OF_EDGES = range(1 << len(EDGES))

ENDS: tuple[Edges, ...] = tuple(ends_of(code & ALL_TRACKS) for code in _CODES)
"""By what lies on a cell (`Board.contents`): the edges where its tracks end."""


def _union(by_edge: Sequence[int], edges: Edges) -> int:
    return reduce(or_, (by_edge[edge] for edge in edges_of(edges)), 0)


def _by_code(*, reversing: bool) -> tuple[tuple[Tracks, ...], ...]:
    by_tracks = [
        tuple(entered(tracks, edge, reversing=reversing) for edge in EDGES) for tracks in range(ALL_TRACKS + 1)
    ]
    return tuple(by_tracks[code & ALL_TRACKS] for code in _CODES)


_ENTERED_BY_EDGE = {reversing: _by_code(reversing=reversing) for reversing in (False, True)}
_LEFT_BY_EDGE = {
    reversing: tuple(tuple(ends_of(tracks) & ~(1 << edge) for edge, tracks in enumerate(by_edge)) for by_edge in table)
    for reversing, table in _ENTERED_BY_EDGE.items()
}

ENTERED: dict[bool, tuple[tuple[Tracks, ...], ...]] = {
    reversing: tuple(tuple(_union(by_edge, edges) for edges in SETS_OF_EDGES) for by_edge in table)
    for reversing, table in _ENTERED_BY_EDGE.items()
}
"""By whether trains may reverse, by what lies on a cell, by set of edges: the pairs that trains run on from there."""

LEFT: dict[bool, tuple[tuple[Edges, ...], ...]] = {
    reversing: tuple(tuple(_union(by_edge, edges) for edges in SETS_OF_EDGES) for by_edge in table)
    for reversing, table in _LEFT_BY_EDGE.items()
}
"""Likewise: the edges through which they may leave."""


class Exit(NamedTuple):
    """An edge that a train leaves through, and that of the neighbour which it then comes in through, with its bit."""

    edge: Edge
    entry: Edge
    bit: Edges


EXITS_OF: tuple[tuple[Exit, ...], ...] = tuple(
    tuple(Exit(edge, opposite(edge), 1 << opposite(edge)) for edge in edges_of(edges)) for edges in SETS_OF_EDGES
)
"""By set of edges: the ways out through them, ascending."""

EXITS: dict[bool, tuple[tuple[tuple[Exit, ...], ...], ...]] = {
    reversing: tuple(tuple(EXITS_OF[edges] for edges in by_edge) for by_edge in table)
    for reversing, table in _LEFT_BY_EDGE.items()
}
"""Likewise, by the single edge that a train comes in through."""


class Network(msgspec.Struct, frozen=True, dict=True):
    """What the trains of the player whose home stands on `home` can reach.

    `arrivals` has for each cell the set of edges through which they can come up to it, whatever lies there: an empty
    square, a die that takes them up or not, or a station. `linked` are the stations they reach but the own home.
    Neither ever shrinks.
    """

    home: Square
    arrivals: bytes
    linked: frozenset[Square] = frozenset()

    @cached_property
    def links(self) -> tuple[Square, ...]:
        """The linked stations, by `y`, then `x`."""
        return in_order(self.linked)


def network_of(board: Board, home: Square) -> Network:
    """Return the network of the home on `home`, searched from scratch."""
    arrivals, todo = bytearray(len(board.contents)), first_arrivals(board, home)
    for cell, edge in todo:
        arrivals[cell] |= 1 << edge
    return _searched(Network(home, bytes(arrivals)), board, todo)


def first_arrivals(board: Board, home: Square) -> list[Arrival]:
    """Return where trains come to that leave the home: never to a station next to it."""
    start, steps = board.plan.cell(home), board.plan.steps
    return [
        (start + steps[edge], opposite(edge))
        for edge in EDGES
        if board.contents[start + steps[edge]] not in (STATION, OFF_MAP)
    ]


def extended(network: Network, board: Board, square: Square) -> Network:
    """Return the network after a die was put on `square`; `board` has that die already."""
    cell = board.plan.cell(square)
    arrivals = network.arrivals[cell]
    return _searched(network, board, [(cell, edge) for edge in edges_of(arrivals)]) if arrivals else network


def arrivals_with(network: Network, board: Board, cell: Cell, code: int) -> tuple[bytearray, list[Cell]]:
    """Return the arrivals of the network if `code` stood on `cell`, and the stations that trains then come to anew."""
    arrivals, contents = bytearray(network.arrivals), board.contents_with(cell, code)
    return arrivals, _run(arrivals, contents, board.plan, [(cell, edge) for edge in edges_of(arrivals[cell])])


def _searched(network: Network, board: Board, todo: list[Arrival]) -> Network:
    """Return the network after trains have run on from `todo`: arrivals that it holds already."""
    arrivals = bytearray(network.arrivals)
    stations = _run(arrivals, board.contents, board.plan, todo)
    linked = network.linked
    if stations:
        linked |= {board.plan.squares[station] for station in stations} - {network.home}
    return Network(network.home, bytes(arrivals), linked)


def _run(arrivals: bytearray, contents: bytes, plan: Plan, todo: list[Arrival]) -> list[Cell]:
    """Let trains run on from `todo`, note in `arrivals` where they come, and return the stations they come to newly."""
    steps, exits, stations = plan.steps, EXITS[plan.reversing], list[Cell]()
    while todo:
        cell, edge = todo.pop()
        for out, entry, bit in exits[contents[cell]][edge]:
            onward = cell + steps[out]
            if arrivals[onward] & bit:
                continue
            arrivals[onward] |= bit
            if contents[onward] == STATION:
                stations.append(onward)
            else:
                todo.append((onward, entry))
    return stations


def traversed(network: Network, board: Board) -> frozenset[tuple[Square, Pair]]:
    """Return the pieces of track that trains of the network run on."""
    return frozenset(
        (square, pair)
        for square, _ in board.laid_dice()
        for pair in pairs_of(run_on(network, board, board.plan.cell(square)))
    )


def run_on(network: Network, board: Board, cell: Cell) -> Tracks:
    """Return the tracks on `cell` that trains of the network run on."""
    return ENTERED[board.plan.reversing][board.contents[cell]][network.arrivals[cell]]


def frontier(network: Network, board: Board) -> list[Cell]:
    """Return the empty squares that trains of the network come up to, as cells, ascending."""
    contents = board.contents
    return [cell for cell in compress(range(len(contents)), network.arrivals) if contents[cell] == EMPTY]


def new_links(before: Network, after: Network) -> tuple[Square, ...]:
    """Return the stations that are linked in `after` and were not in `before`, by `y`, then `x`."""
    return in_order(after.linked - before.linked)


def in_order(squares: Iterable[Square]) -> tuple[Square, ...]:
    """Return squares by `y`, then `x`."""
    return tuple(sorted(squares, key=lambda square: (square.y, square.x)))
