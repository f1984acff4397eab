"""Which dice may be placed where [Railroad Dice 2 2.4]."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import COMPLEX, EMPTY, OFF_MAP, STATION, Board, Die, TrackFaces
from promontory.games.railroad_dice_2.edges import (
    EDGE_NAMES,
    EDGES,
    Edges,
    Tracks,
    edges_of,
    opposite,
    pairs_of,
)
from promontory.games.railroad_dice_2.network import (
    ENDS,
    ENTERED,
    EXITS,
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
    beyond = _beyond(board, board.plan.cell(square))
    ends = ENDS[die.tracks]
    for reason, rule, edges in (
        ("LEAVES_MAP", "R-30", ends & beyond.off_map),
        ("ENDS_AGAINST_COMPLEX", "R-31", ends & beyond.closed),
        ("NEIGHBOUR_CUT", "R-31", beyond.waiting & ~ends if die.kind is DieKind.COMPLEX else 0),
    ):
        if edges:
            edge = EDGE_NAMES[edges_of(edges)[0]]
            raise Rejected(reason, rule=rule, x=square.x, y=square.y, edge=edge)


class _Beyond(msgspec.Struct, frozen=True):
    """What lies across the edges of a square: off the map, complex dice without a facing end, facing ends."""

    off_map: Edges
    closed: Edges
    waiting: Edges


def _beyond(board: Board, cell: Cell) -> _Beyond:
    off_map = closed = waiting = 0
    for edge in EDGES:
        content = board.contents[cell + board.plan.steps[edge]]
        if ENDS[content] >> opposite(edge) & 1:
            waiting |= 1 << edge
        elif content == OFF_MAP:
            off_map |= 1 << edge
        elif COMPLEX <= content < STATION:
            closed |= 1 << edge
    return _Beyond(off_map, closed, waiting)


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
    fed = new & _entered_tracks(board, network, die, cell)
    if fed in (new, 0):
        return fed == new
    square = board.plan.squares[cell]
    after = board.with_die(square, die)
    return not new & ~run_on(extended(network, after, square), after, cell)


def _entered_tracks(board: Board, network: Network, die: Die, cell: Cell) -> Tracks:
    by_edge, tracks = ENTERED[board.plan.reversing][die.tracks], 0
    for edge in edges_of(network.arrivals[cell]):
        tracks |= by_edge[edge]
    return tracks


def legal_placements(
    board: Board, network: Network, faces: TrackFaces, *, face: str, money: int
) -> tuple[LegalPlacement, ...]:
    """Return everything that `check_placement` accepts for `face`, by `y`, `x` and rotation."""
    dice = faces.distinct(face)
    is_simple = dice[0].kind is DieKind.SIMPLE
    legal: list[LegalPlacement] = []
    for cell in frontier(network, board) if is_simple else _simple_dice_cells(board):
        cost = board.plan.costs[cell] if is_simple else 0
        if cost > money:
            continue
        for die in _fitting(board, dice, cell):
            if _is_connected(board, network, die, cell):
                links = _links(board, network, die, cell)
                legal.append(LegalPlacement(board.plan.squares[cell], face, die.rotation, cost, links))
    return tuple(legal)


def _simple_dice_cells(board: Board) -> list[Cell]:
    return [cell for cell, content in enumerate(board.contents) if EMPTY < content < COMPLEX]


def _fitting(board: Board, dice: tuple[Die, ...], cell: Cell) -> Iterator[Die]:
    """Yield those of `dice`, all of one kind, that pass the tests 4 to 7 on a square of the right kind."""
    beyond = _beyond(board, cell)
    barred, content = beyond.off_map | beyond.closed, board.contents[cell]
    wanted = beyond.waiting if content else 0
    for die in dice:
        ends = ENDS[die.tracks]
        if not (ends & barred or wanted & ~ends or content & ~die.tracks):
            yield die


def _links(board: Board, network: Network, die: Die, cell: Cell) -> tuple[Square, ...]:
    if not _leads_on(board, network, die, cell):
        return ()
    square = board.plan.squares[cell]
    return new_links(network, extended(network, board.with_die(square, die), square))


def _leads_on(board: Board, network: Network, die: Die, cell: Cell) -> bool:
    """Tell whether trains come through the die to a station or to more track where they have not been."""
    exits = EXITS[board.plan.reversing][die.tracks]
    for edge in edges_of(network.arrivals[cell]):
        for out in exits[edge]:
            onward, entry = cell + board.plan.steps[out], opposite(out)
            content = board.contents[onward]
            is_taken_up = content == STATION or ENDS[content] >> entry & 1
            if is_taken_up and not network.arrivals[onward] >> entry & 1:
                return True
    return False
