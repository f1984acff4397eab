"""Where stations may stand [Railroad Dice 2 3.3 and 3.4]."""

from __future__ import annotations

from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.vocabulary import Square


def check_home(components: Components, board: Board, square: Square) -> None:
    """Raise `Rejected` unless a home may stand on `square`: OFF_MAP, TILE_EDGE, WATER, TILE_TAKEN, in this order."""
    raise NotImplementedError


def check_gray(components: Components, board: Board, square: Square) -> None:
    """Raise `Rejected` unless a gray station may stand on `square`.

    In this order: OFF_MAP, TILE_EDGE, WATER, STATION_SQUARE, TOO_CLOSE.
    """
    raise NotImplementedError


def home_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a home may stand, by `y`, then `x`; at least one square while homes are placed."""
    raise NotImplementedError


def gray_squares(components: Components, board: Board) -> tuple[Square, ...]:
    """Return where a gray station may stand, by `y`, then `x`; none once the phase has to end [R-9]."""
    raise NotImplementedError
