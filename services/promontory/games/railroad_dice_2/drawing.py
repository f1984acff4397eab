"""The map as text, a sign for each square [Railroad Dice 2 2.1]."""

from __future__ import annotations

from promontory.games.railroad_dice_2.board import Board


def drawing_of(board: Board) -> str:
    """Return the map, a line for each row: glyphs for dice, A to D for homes, `g` for gray stations, terrain signs."""
    raise NotImplementedError
