"""Where stations may stand [Railroad Dice 2 3.3 and 3.4]."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import OFF_MAP, STATION, Board
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.plan import Cell
from promontory.games.railroad_dice_2.vocabulary import Square


def check_home(components: Components, board: Board, square: Square) -> None:
    """Raise `Rejected` unless a home may stand on `square`.

    In this order: OFF_MAP, TILE_EDGE, WATER, TILE_TAKEN. Where the component file lets homes share a tile,
    STATION_SQUARE takes the place of the last one.
    """
    _check_ground(components, board, square)
    tile_id = board.plan.tile_at(square) or ""
    is_taken = any(station.owner is not None for station in board.stations_on(tile_id))
    if is_taken and components.stations.one_home_per_tile:
        raise Rejected("TILE_TAKEN", rule="R-5", x=square.x, y=square.y, tileId=tile_id)
    if board.station_at(square):
        raise Rejected("STATION_SQUARE", rule="Railroad Dice 2 3.3", x=square.x, y=square.y)


def check_gray(components: Components, board: Board, square: Square) -> None:
    """Raise `Rejected` unless a gray station may stand on `square`.

    In this order: OFF_MAP, TILE_EDGE, WATER, STATION_SQUARE, TOO_CLOSE.
    """
    _check_ground(components, board, square)
    if board.station_at(square):
        raise Rejected("STATION_SQUARE", rule="Railroad Dice 2 3.4", x=square.x, y=square.y)
    distance = _too_close(components, board, square)
    if distance is not None:
        raise Rejected("TOO_CLOSE", rule="R-8", x=square.x, y=square.y, distance=distance)


def home_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a home may stand, by `y`, then `x`; at least one square while homes are placed."""
    plan, taken = board.plan, set[int]()
    if components.stations.one_home_per_tile:
        homes = (station.square for station in board.stations if station.owner is not None)
        taken = {plan.tile_numbers[plan.cell(square)] for square in homes}
    return tuple(
        plan.squares[cell]
        for cell in _ground(components, board)
        if board.contents[cell] != STATION and plan.tile_numbers[cell] not in taken
    )


def gray_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a gray station may stand, by `y`, then `x`."""
    return tuple(_gray_squares(components, board))


def has_gray_squares(components: Components, board: Board) -> bool:
    """Tell whether a gray station may stand anywhere; if not, the phase has to end [R-9]."""
    return next(_gray_squares(components, board), None) is not None


def _gray_squares(components: Components, board: Board) -> Iterator[Square]:
    for cell in _ground(components, board):
        square = board.plan.squares[cell]
        if board.contents[cell] != STATION and _too_close(components, board, square) is None:
            yield square


def _too_close(components: Components, board: Board, square: Square) -> int | None:
    """Return how far the first station is that is too close to a gray one on `square` [R-8], None without any."""
    least, x, y = components.stations.min_distance_gray, square.x, square.y
    for station in board.stations:
        distance = abs(station.square.x - x) + abs(station.square.y - y)
        if distance < least:
            return distance
    return None


def _ground(components: Components, board: Board) -> tuple[Cell, ...]:
    """Return the cells whose ground takes stations, ascending."""
    takes = "".join(terrain.sign for terrain in components.terrain if terrain.station_allowed)
    borders = b"" if components.stations.border_squares_allowed else board.plan.borders
    return _takers(board.plan.signs, takes, borders)


@lru_cache(maxsize=64)
def _takers(signs: str, takes: str, borders: bytes) -> tuple[Cell, ...]:
    return tuple(cell for cell, sign in enumerate(signs) if sign in takes and not (borders and borders[cell]))


def _check_ground(components: Components, board: Board, square: Square) -> None:
    cell = board.plan.cell(square)
    if board.contents[cell] == OFF_MAP:
        raise Rejected("OFF_MAP", rule="R-30", x=square.x, y=square.y)
    if board.plan.borders[cell] and not components.stations.border_squares_allowed:
        raise Rejected("TILE_EDGE", rule="R-6", x=square.x, y=square.y)
    if not components.terrain_of(board.plan.signs[cell]).station_allowed:
        raise Rejected("WATER", rule="R-7", x=square.x, y=square.y)
