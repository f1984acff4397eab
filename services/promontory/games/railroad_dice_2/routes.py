"""How far stations are: the tiles that the shortest route crosses [Railroad Dice 2 4.5]."""

from __future__ import annotations

from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.network import Network
from promontory.games.railroad_dice_2.vocabulary import Square


def tile_counts(board: Board, network: Network) -> dict[Square, int]:
    """Return for every linked station the fewest different tiles of a route to the home, 1 or more [R-42] [R-43]."""
    raise NotImplementedError
