"""How map tiles lie: rotation, contact, and the plan they make together [Railroad Dice 2 1.2 and 3.2]."""

from __future__ import annotations

from promontory.games.railroad_dice_2.board import Plan
from promontory.games.railroad_dice_2.components import Components, LaidTile, Tile
from promontory.games.railroad_dice_2.vocabulary import Square

Layout = tuple[LaidTile, ...]
"""Tiles in the order in which they were laid."""


def turned_rows(tile: Tile, rotation: int) -> tuple[str, ...]:
    """Return the rows of a tile after `rotation` quarter turns clockwise."""
    raise NotImplementedError


def contact(one: Square, other: Square, *, size: int) -> int | None:
    """Return along how many square edges two tiles touch, or None if they overlap; squares are north-west ones."""
    raise NotImplementedError


def check_tile(components: Components, layout: Layout, laid: LaidTile) -> None:
    """Raise `Rejected` unless `laid` may be added to `layout`.

    In this order: NO_SUCH_TILE, BAD_REQUEST (rotation not in use, first tile not at (0,0)), OVERLAP,
    TOO_LITTLE_CONTACT [R-1].
    """
    raise NotImplementedError


def tile_squares(components: Components, layout: Layout) -> tuple[Square, ...]:
    """Return where the north-west square of a next tile may come, whichever tile and rotation, by `y`, then `x`."""
    raise NotImplementedError


def unlaid_tiles(components: Components, layout: Layout) -> tuple[str, ...]:
    """Return the ids of the tiles that do not lie yet, in the order of the component file."""
    raise NotImplementedError


def shift_of(layout: Layout) -> Square:
    """Return what to add to all squares to make the smallest `x` and the smallest `y` 0."""
    raise NotImplementedError


def shifted(layout: Layout, shift: Square) -> Layout:
    """Return the layout with `shift` added to all squares."""
    raise NotImplementedError


def plan_of(components: Components, layout: Layout) -> Plan:
    """Return the map that the tiles of a shifted layout make."""
    raise NotImplementedError
