"""Which dice may be placed where [Railroad Dice 2 2.4]."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

import msgspec

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import COMPLEX, EMPTY, OFF_MAP, STATION, Board, Die, TrackFaces
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
    LEFT,
    Network,
    extended,
    frontier,
    new_links,
    run_on,
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
    if fed in (new, 0):
        return fed == new
    square = board.plan.squares[cell]
    after = board.with_die(square, die)
    return not new & ~run_on(extended(network, after, square), after, cell)


def legal_placements(
    board: Board, network: Network, faces: TrackFaces, *, face: str, money: int
) -> tuple[LegalPlacement, ...]:
    """Return everything that `check_placement` accepts for `face`, by `y`, `x` and rotation."""
    dice, tracks = faces.distinct(face), faces.distinct_tracks[face]
    found = board.once(("placements", network.home, face, tracks), lambda: _placements(board, network, dice, tracks))
    if dice[0].kind is DieKind.COMPLEX:
        return found
    return tuple([placement for placement in found if placement.cost <= money])


def _placements(
    board: Board, network: Network, dice: tuple[Die, ...], tracks: tuple[Tracks, ...]
) -> tuple[LegalPlacement, ...]:
    """Return what is legal for the face that `dice` show, whose tracks are `tracks`, if money does not matter."""
    face, squares = dice[0].face, board.plan.squares
    legal: list[LegalPlacement] = []
    for cell, cost, surroundings in _sites(board, network, dice[0]):
        for number, is_connected, onward in _fitting(tracks, surroundings):
            die = dice[number]
            if is_connected or _is_connected(board, network, die, cell):
                links = _links(board, network, die, cell, onward) if onward else ()
                legal.append(LegalPlacement(squares[cell], face, die.rotation, cost, links))
    return tuple(legal)


class _Surroundings(NamedTuple):
    """What decides which dice fit on a square: what lies on it and across its edges, where trains come up to it."""

    content: int
    sides: int
    arrivals: Edges
    reversing: bool


class _Site(NamedTuple):
    """A square that dice of a kind may come on."""

    cell: Cell
    cost: int
    surroundings: _Surroundings


def _sites(board: Board, network: Network, die: Die) -> list[_Site]:
    """Return where dice like `die` may come: empty squares on the frontier, or simple dice.

    Those that no train comes up to are left out, unless the die has a single pair and so may bring no new track.
    """
    if die.kind is DieKind.SIMPLE:
        return board.once(
            ("frontier", network.home), lambda: [_site(board, network, cell) for cell in frontier(network, board)]
        )
    if die.tracks.bit_count() == 1:
        return [_site(board, network, cell) for cell in _simple_dice_cells(board)]
    return board.once(
        ("simple dice", network.home),
        lambda: [_site(board, network, cell) for cell in _simple_dice_cells(board) if network.arrivals[cell]],
    )


def _site(board: Board, network: Network, cell: Cell) -> _Site:
    content, plan = board.contents[cell], board.plan
    surroundings = _Surroundings(content, _sides(board, cell), network.arrivals[cell], plan.reversing)
    return _Site(cell, 0 if content else plan.costs[cell], surroundings)


def _simple_dice_cells(board: Board) -> Iterator[Cell]:
    return compress(range(len(board.contents)), board.contents.translate(_IS_SIMPLE))


_IS_SIMPLE = bytes(EMPTY < code < COMPLEX for code in range(256))


class _Fit(NamedTuple):
    """A die that passes the tests 4 to 7, by its number; `onward` are the edges beyond which its trains may go on.

    `is_connected` tells that it passes test 8; otherwise that is to be found out.
    """

    number: int
    is_connected: bool
    onward: Edges


@lru_cache(maxsize=1 << 14)
def _fitting(dice: tuple[Tracks, ...], site: _Surroundings) -> tuple[_Fit, ...]:
    """Return those of `dice`, all of the kind that may come on the square, that may be legal there."""
    beyond = _BEYOND[site.sides]
    barred, wanted = beyond.off_map | beyond.closed, beyond.waiting if site.content else 0
    fits = []
    for number, tracks in enumerate(dice):
        ends, new = ENDS[tracks], tracks & ~site.content
        fed = new & ENTERED[site.reversing][tracks][site.arrivals]
        if not (ends & barred or wanted & ~ends or site.content & ~tracks) and (fed or not new):
            onward = LEFT[site.reversing][tracks][site.arrivals] & (beyond.waiting | beyond.station)
            fits.append(_Fit(number, fed == new, onward))
    return tuple(fits)


def _links(board: Board, network: Network, die: Die, cell: Cell, onward: Edges) -> tuple[Square, ...]:
    """Return the new links, where trains come through the die to a station or to more track beyond `onward`."""
    steps = board.plan.steps
    if all(network.arrivals[cell + steps[edge]] >> opposite(edge) & 1 for edge in edges_of(onward)):
        return ()
    square = board.plan.squares[cell]
    return new_links(network, extended(network, board.with_die(square, die), square))
