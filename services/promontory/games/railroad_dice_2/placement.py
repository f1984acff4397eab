"""Which dice may be placed where [Railroad Dice 2 2.4]."""

from __future__ import annotations

import msgspec

from promontory.games.railroad_dice_2.board import Board, Die, TrackFaces
from promontory.games.railroad_dice_2.network import Network
from promontory.games.railroad_dice_2.vocabulary import Square


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
    raise NotImplementedError


def placement_cost(board: Board, die: Die, square: Square) -> int:
    """Return the dollars that placing `die` on `square` costs [R-33]."""
    raise NotImplementedError


def legal_placements(
    board: Board, network: Network, faces: TrackFaces, *, face: str, money: int
) -> tuple[LegalPlacement, ...]:
    """Return everything that `check_placement` accepts for `face`, by `y`, `x` and rotation."""
    raise NotImplementedError
