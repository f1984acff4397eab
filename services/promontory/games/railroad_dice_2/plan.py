"""The bare map: its squares, their terrain and tiles, and the cells that the track model counts [Railroad Dice 2 1.1].

A *cell* numbers a square: row by row from the north-west, with a rim of squares off the map all around. So a step to
a neighbour adds a constant, no step leaves the numbers, and cells ascend in the order of `y`, then `x`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

import msgspec

from promontory.games.railroad_dice_2.components import Terrain
from promontory.games.railroad_dice_2.vocabulary import Square

Cell = int
Tiles = int
"""A set of tiles: bit `n` for the tile with number `n`."""

OUTSIDE: Cell = 0
"""A cell of the rim: off every map."""
NO_SIGN = " "
"""Stands for terrain off the map."""


class Piece(msgspec.Struct, frozen=True):
    """A tile as it lies: rows of terrain signs, whose north-west one is `square`."""

    tile_id: str
    square: Square
    rows: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, dict=True):
    """What of a map never changes once its tiles lie. Strings, bytes and tuples are by cell.

    `signs` holds terrain signs, `NO_SIGN` off the map; `costs` dollars for a simple die; `tile_numbers` places in
    `tile_ids`; `borders` 1 on the border squares of tiles; `steps` what to add to a cell to cross each edge.
    `reversing` tells whether trains may take every branch of a switch [R-24].
    """

    width: int
    height: int
    signs: str
    costs: bytes
    tile_numbers: bytes
    borders: bytes
    squares: tuple[Square, ...]
    tile_ids: tuple[str, ...]
    steps: tuple[int, int, int, int]
    reversing: bool = False

    @cached_property
    def tile_sets(self) -> tuple[Tiles, ...]:
        """By cell: the set of nothing but the tile that covers it."""
        return tuple([1 << number for number in self.tile_numbers])

    def cell(self, square: Square) -> Cell:
        """Return the cell of `square`; `OUTSIDE` for all squares beyond the rectangle of the map."""
        if 0 <= square.x < self.width and 0 <= square.y < self.height:
            return (square.y + 1) * (self.width + 2) + square.x + 1
        return OUTSIDE

    def sign_at(self, square: Square) -> str:
        """Return the terrain sign of `square`, `NO_SIGN` off the map."""
        return self.signs[self.cell(square)]

    def tile_at(self, square: Square) -> str | None:
        """Return the id of the tile that covers `square`, or None off the map."""
        cell = self.cell(square)
        return None if self.signs[cell] == NO_SIGN else self.tile_ids[self.tile_numbers[cell]]

    def map_squares(self) -> tuple[Square, ...]:
        """Return the squares of the map, by `y`, then `x`."""
        return tuple(square for square, sign in zip(self.squares, self.signs, strict=True) if sign != NO_SIGN)


def plan_from(pieces: Iterable[Piece], terrain: Iterable[Terrain], *, reversing: bool) -> Plan:
    """Return the map that tiles make which do not overlap; their smallest `x` and the smallest `y` are 0."""
    return _plan(tuple(pieces), tuple([(kind.sign, kind.cost) for kind in terrain]), reversing=reversing)


@lru_cache(maxsize=64)
def _plan(pieces: tuple[Piece, ...], terrain: tuple[tuple[str, int], ...], *, reversing: bool) -> Plan:
    """Return the same map once more, since most matches are played on the same one."""
    width = max(piece.square.x + len(piece.rows[0]) for piece in pieces)
    height = max(piece.square.y + len(piece.rows) for piece in pieces)
    cells = (width + 2) * (height + 2)
    signs, tile_numbers, borders = [NO_SIGN] * cells, bytearray(cells), bytearray(cells)
    for number, piece in enumerate(pieces):
        for row, line in enumerate(piece.rows):
            for column, sign in enumerate(line):
                cell = (piece.square.y + row + 1) * (width + 2) + piece.square.x + column + 1
                signs[cell], tile_numbers[cell] = sign, number
                borders[cell] = row in (0, len(piece.rows) - 1) or column in (0, len(line) - 1)
    costs = {NO_SIGN: 0, **dict(terrain)}
    return Plan(
        width=width,
        height=height,
        signs="".join(signs),
        costs=bytes(costs[sign] for sign in signs),
        tile_numbers=bytes(tile_numbers),
        borders=bytes(borders),
        squares=tuple(Square(x, y) for y in range(-1, height + 1) for x in range(-1, width + 1)),
        tile_ids=tuple(piece.tile_id for piece in pieces),
        steps=(-(width + 2), 1, width + 2, -1),
        reversing=reversing,
    )
