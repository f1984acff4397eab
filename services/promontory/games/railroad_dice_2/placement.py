"""Which dice may be placed where [Railroad Dice 2 2.4]."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from itertools import chain, compress
from typing import NamedTuple

import msgspec

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import COMPLEX, EMPTY, OFF_MAP, STATION, Assortment, Board, Die, TrackFaces
from promontory.games.railroad_dice_2.edges import (
    EDGE_NAMES,
    EDGES,
    Edge,
    Edges,
    Tracks,
    edges_of,
    opposite,
    pairs_of,
)
from promontory.games.railroad_dice_2.network import (
    ENDS,
    ENTERED,
    EXITS_OF,
    LEFT,
    Network,
    arrivals_with,
    frontier,
)
from promontory.games.railroad_dice_2.plan import Cell
from promontory.games.railroad_dice_2.vocabulary import DieKind, Square


class LegalPlacement(msgspec.Struct, frozen=True):
    """A place for a die: `rotation` is the smallest that gives its tracks, `cost` is in dollars.

    `links` are the stations that it would link to the player, by `y`, then `x`.
    """

    square: Square
    face: str
    rotation: int
    cost: int
    links: tuple[Square, ...] = ()


def check_placement(board: Board, network: Network, die: Die, square: Square, *, money: int) -> None:
    """Raise `Rejected` unless the player of `network`, who has `money` dollars, may place `die` on `square`.

    In this order: OFF_MAP, STATION_SQUARE, SQUARE_OCCUPIED (simple die) or NO_SIMPLE_HERE and COMPLEX_HERE (complex
    die), BREAKS_TRACK, LEAVES_MAP, ENDS_AGAINST_COMPLEX, NEIGHBOUR_CUT, NOT_CONNECTED, CANNOT_AFFORD.
    """
    cell = board.plan.cell(square)
    _check_square(board, die, square)
    _check_neighbours(board, die, square)
    if not _is_connected(board, network, die, cell):
        raise Rejected("NOT_CONNECTED", rule="R-22", x=square.x, y=square.y)
    cost = placement_cost(board, die, square)
    if cost > money:
        raise Rejected("CANNOT_AFFORD", rule="R-33", cost=cost, money=money)


def _check_square(board: Board, die: Die, square: Square) -> None:
    """Make the tests 1 to 4: what is on the square itself."""
    content = board.contents[board.plan.cell(square)]
    if content == OFF_MAP:
        raise Rejected("OFF_MAP", rule="R-30", x=square.x, y=square.y)
    if content == STATION:
        raise Rejected("STATION_SQUARE", rule="Railroad Dice 2 2.4", x=square.x, y=square.y)
    if die.kind is DieKind.SIMPLE:
        if content != EMPTY:
            raise Rejected("SQUARE_OCCUPIED", rule="Railroad Dice 2 2.4", x=square.x, y=square.y)
        return
    if content == EMPTY:
        raise Rejected("NO_SIMPLE_HERE", rule="R-34", x=square.x, y=square.y)
    if content & COMPLEX:
        raise Rejected("COMPLEX_HERE", rule="R-34", x=square.x, y=square.y)
    lost = content & ~die.tracks
    if lost:
        raise Rejected("BREAKS_TRACK", rule="R-27", x=square.x, y=square.y, pair=_pair_name(lost))


def _check_neighbours(board: Board, die: Die, square: Square) -> None:
    """Make the tests 5 to 7: whether every edge of the die fits what lies beyond it."""
    beyond = _BEYOND[_sides(board, board.plan.cell(square))]
    ends = ENDS[die.tracks]
    for reason, rule, edges in (
        ("LEAVES_MAP", "R-30", ends & beyond.off_map),
        ("ENDS_AGAINST_COMPLEX", "R-31", ends & beyond.closed),
        ("NEIGHBOUR_CUT", "R-31", beyond.waiting & ~ends if die.kind is DieKind.COMPLEX else 0),
    ):
        if edges:
            edge = EDGE_NAMES[edges_of(edges)[0]]
            raise Rejected(reason, rule=rule, x=square.x, y=square.y, edge=edge)


class _Side(IntEnum):
    """What lies across an edge: nothing that matters, a complex die without a facing end, and so on."""

    OPEN = 0
    OFF_MAP = 1
    CLOSED = 2
    FACING_END = 3
    STATION = 4


def _side(code: int, edge: Edge) -> _Side:
    """Return what `code` in `Board.contents` is to the square that lies across its `edge`."""
    if ENDS[code] >> edge & 1:
        return _Side.FACING_END
    if code == OFF_MAP:
        return _Side.OFF_MAP
    if code == STATION:
        return _Side.STATION
    return _Side.CLOSED if code & COMPLEX else _Side.OPEN


_WEIGHTED_SIDES: tuple[tuple[int, ...], ...] = tuple(
    tuple(_side(code, opposite(edge)) * len(_Side) ** edge for code in range(OFF_MAP + 1)) for edge in EDGES
)


def _sides(board: Board, cell: Cell) -> int:
    """Return what lies across all four edges of a square, as one number: a digit in base 5 for each edge."""
    contents, (north, east, south, west) = board.contents, board.plan.steps
    to_north, to_east, to_south, to_west = _WEIGHTED_SIDES
    return (
        to_north[contents[cell + north]]
        + to_east[contents[cell + east]]
        + to_south[contents[cell + south]]
        + to_west[contents[cell + west]]
    )


class _Beyond(msgspec.Struct, frozen=True):
    """The edges of a square across which lies nothing, a complex die without a facing end, a facing end, a station."""

    off_map: Edges
    closed: Edges
    waiting: Edges
    station: Edges


def _beyond(sides: int) -> _Beyond:
    digits = [sides // len(_Side) ** edge % len(_Side) for edge in EDGES]
    off_map, closed, waiting, station = (
        sum(1 << edge for edge in EDGES if digits[edge] == side) for side in _Side if side is not _Side.OPEN
    )
    return _Beyond(off_map, closed, waiting, station)


_BEYOND = tuple(map(_beyond, range(len(_Side) ** len(EDGES))))
"""By what lies across all four edges, see `_sides`."""


def _pair_name(tracks: Tracks) -> str:
    one, other = pairs_of(tracks)[0]
    return f"{EDGE_NAMES[one]}-{EDGE_NAMES[other]}"


def placement_cost(board: Board, die: Die, square: Square) -> int:
    """Return the dollars that placing `die` on `square` costs [R-33]."""
    return board.plan.costs[board.plan.cell(square)] if die.kind is DieKind.SIMPLE else 0


def _is_connected(board: Board, network: Network, die: Die, cell: Cell) -> bool:
    """Make test 8: whether trains of the network would run on every new pair of the die.

    Trains must come into the die through an edge that they come up to already and run on a new pair from there. Unless
    they do so on some new pairs and not on others, nothing needs to be searched.
    """
    new = die.tracks & ~board.contents[cell]
    fed = new & ENTERED[board.plan.reversing][die.tracks][network.arrivals[cell]]
    return fed == new if fed in (new, 0) else _found_links(board, network, die, cell) is not None


def _found_links(board: Board, network: Network, die: Die, cell: Cell) -> tuple[Square, ...] | None:
    """Return what a die would link, by `y`, then `x`; None if trains would not run on every new pair of it."""
    arrivals, stations = arrivals_with(network, board, cell, die.code)
    new = die.tracks & ~board.contents[cell]
    if new & ~ENTERED[board.plan.reversing][die.tracks][arrivals[cell]]:
        return None
    reached = [board.plan.squares[station] for station in sorted(set(stations))]
    return tuple([square for square in reached if square not in network.linked and square != network.home])


def legal_placements(
    board: Board, network: Network, faces: TrackFaces, *, face: str, money: int
) -> tuple[LegalPlacement, ...]:
    """Return everything that `check_placement` accepts for `face`, by `y`, `x` and rotation."""
    kind = faces.die(face, 0).kind
    return _affordable(_placements(board, network, faces.assortments[kind])[face], kind, money)


def all_placements(
    board: Board, network: Network, faces: TrackFaces, *, kind: DieKind, money: int
) -> tuple[LegalPlacement, ...]:
    """Return everything that `check_placement` accepts for the faces of `kind`, one after the other."""
    return _affordable(_placements(board, network, faces.assortments[kind])[_ALL], kind, money)


def _affordable(found: tuple[LegalPlacement, ...], kind: DieKind, money: int) -> tuple[LegalPlacement, ...]:
    if kind is DieKind.COMPLEX:
        return found
    return tuple([placement for placement in found if placement.cost <= money])


_ALL = ""
"""Stands for all faces of a kind, one after the other."""


def _placements(board: Board, network: Network, dice: Assortment) -> dict[str, tuple[LegalPlacement, ...]]:
    """Return by face, and for `_ALL` of them, what is legal if money does not matter; found once by map and home."""
    return board.once((network.home, dice.tracks), lambda: _looked_for(board, network, dice))


def _looked_for(board: Board, network: Network, dice: Assortment) -> dict[str, tuple[LegalPlacement, ...]]:
    plan, is_simple = board.plan, dice.kind is DieKind.SIMPLE
    squares, costs, fits = plan.squares, plan.costs, _fits_of(dice.tracks, reversing=plan.reversing)
    found: dict[str, list[LegalPlacement]] = {face: [] for face in dice.faces}
    for cell, surroundings in _sites(board, network, dice):
        for number, is_connected, onward in fits[surroundings]:
            die = dice.dice[number]
            links: tuple[Square, ...] | None = ()
            if not is_connected or (onward and _is_new(board, network, cell, onward)):
                links = _found_links(board, network, die, cell)
            if links is not None:
                cost = costs[cell] if is_simple else 0
                found[die.face].append(LegalPlacement(squares[cell], die.face, die.rotation, cost, links))
    by_face = {face: tuple(placements) for face, placements in found.items()}
    return by_face | {_ALL: tuple(chain.from_iterable(by_face.values()))}


def _is_new(board: Board, network: Network, cell: Cell, onward: Edges) -> bool:
    """Tell whether trains that leave `cell` through the edges `onward` come to where they did not before."""
    arrivals, steps = network.arrivals, board.plan.steps
    return 0 in [arrivals[cell + steps[edge]] & bit for edge, _, bit in EXITS_OF[onward]]


_Surroundings = int
"""What decides which dice fit on a square.

In the lowest 8 bits its content, in the next 4 the edges through which trains come up to it, then its `_sides`.
"""


def _sites(board: Board, network: Network, dice: Assortment) -> list[tuple[Cell, _Surroundings]]:
    """Return where dice of a kind may come, ascending: empty squares that trains come up to, or simple dice.

    Simple dice that no train comes up to are left out unless a die has a single pair, so that it may bring no track.
    """
    contents, arrivals = board.contents, network.arrivals
    if dice.kind is DieKind.SIMPLE:
        cells = frontier(network, board)
    else:
        cells = list(compress(range(len(contents)), contents.translate(_IS_SIMPLE)))
        if not dice.has_single_pairs:
            cells = [cell for cell in cells if arrivals[cell]]
    return [(cell, _sides(board, cell) << 12 | arrivals[cell] << 8 | contents[cell]) for cell in cells]


_IS_SIMPLE = bytes(EMPTY < code < COMPLEX for code in range(256))


class _Fit(NamedTuple):
    """A die that passes the tests 4 to 7, by its number; `onward` are the edges beyond which its trains may go on.

    `is_connected` tells that it passes test 8; otherwise that is to be found out.
    """

    number: int
    is_connected: bool
    onward: Edges


class _Fits(dict[_Surroundings, tuple[_Fit, ...]]):
    """Those of some dice, all of one kind, that may be legal on a square that takes this kind, by its surroundings.

    They are worked out when they are first asked for.
    """

    def __init__(self, dice: tuple[Tracks, ...], *, reversing: bool) -> None:
        super().__init__()
        self._dice, self._reversing = dice, reversing

    def __missing__(self, surroundings: _Surroundings) -> tuple[_Fit, ...]:
        content, arrivals, sides = surroundings & 0xFF, surroundings >> 8 & 0xF, surroundings >> 12
        fits = self[surroundings] = tuple(self._fitting(content, arrivals, _BEYOND[sides]))
        return fits

    def _fitting(self, content: int, arrivals: Edges, beyond: _Beyond) -> Iterator[_Fit]:
        entered, left = ENTERED[self._reversing], LEFT[self._reversing]
        barred, wanted = beyond.off_map | beyond.closed, beyond.waiting if content else 0
        for number, tracks in enumerate(self._dice):
            ends, new = ENDS[tracks], tracks & ~content
            fed = new & entered[tracks][arrivals]
            if not (ends & barred or wanted & ~ends or content & ~tracks) and (fed or not new):
                yield _Fit(number, fed == new, left[tracks][arrivals] & (beyond.waiting | beyond.station))


@lru_cache(maxsize=64)
def _fits_of(dice: tuple[Tracks, ...], *, reversing: bool) -> _Fits:
    return _Fits(dice, reversing=reversing)
