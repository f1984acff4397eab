"""Where stations may stand [Railroad Dice 2 3.3 and 3.4]."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import OFF_MAP, Board
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.vocabulary import Square


def check_home(components: Components, board: Board, square: Square) -> None:
    """Raise `Rejected` unless a home may stand on `square`.

    In this order: OFF_MAP, TILE_EDGE, WATER, TILE_TAKEN. Where the component file lets homes share a tile,
    STATION_SQUARE takes the place of the last one.
    """
    _check_ground(components, board, square)
    _check_home_site(components, board, square)


def _check_home_site(components: Components, board: Board, square: Square) -> None:
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
    _check_gray_site(components, board, square)


def _check_gray_site(components: Components, board: Board, square: Square) -> None:
    if board.station_at(square):
        raise Rejected("STATION_SQUARE", rule="Railroad Dice 2 3.4", x=square.x, y=square.y)
    for station in board.stations:
        distance = abs(station.square.x - square.x) + abs(station.square.y - square.y)
        if distance < components.stations.min_distance_gray:
            raise Rejected("TOO_CLOSE", rule="R-8", x=square.x, y=square.y, distance=distance)


def home_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a home may stand, by `y`, then `x`; at least one square while homes are placed."""
    return tuple(
        square for square in _ground(components, board) if _accepts(_check_home_site, components, board, square)
    )


def gray_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a gray station may stand, by `y`, then `x`; none once the phase has to end [R-9]."""
    return tuple(
        square for square in _ground(components, board) if _accepts(_check_gray_site, components, board, square)
    )


def _ground(components: Components, board: Board) -> Iterator[Square]:
    """Yield the squares whose ground takes stations, by `y`, then `x`."""
    plan, borders_allowed = board.plan, components.stations.border_squares_allowed
    signs = {terrain.sign for terrain in components.terrain if terrain.station_allowed}
    for square, sign, is_border in zip(plan.squares, plan.signs, plan.borders, strict=True):
        if sign in signs and (borders_allowed or not is_border):
            yield square


def _check_ground(components: Components, board: Board, square: Square) -> None:
    cell = board.plan.cell(square)
    if board.contents[cell] == OFF_MAP:
        raise Rejected("OFF_MAP", rule="R-30", x=square.x, y=square.y)
    if board.plan.borders[cell] and not components.stations.border_squares_allowed:
        raise Rejected("TILE_EDGE", rule="R-6", x=square.x, y=square.y)
    if not components.terrain_of(board.plan.signs[cell]).station_allowed:
        raise Rejected("WATER", rule="R-7", x=square.x, y=square.y)


def _accepts(
    check: Callable[[Components, Board, Square], None], components: Components, board: Board, square: Square
) -> bool:
    try:
        check(components, board, square)
    except Rejected:
        return False
    return True
