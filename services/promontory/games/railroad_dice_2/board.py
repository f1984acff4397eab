"""The map as a value: its squares, what lies on them, and the cells that the track model counts [Railroad Dice 2 2].

A *cell* numbers a square: row by row from the north-west, with a rim of squares off the map all around. So a step to
a neighbour adds a constant, no step leaves the numbers, and cells ascend in the order of `y`, then `x`.
"""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.edges import Tracks
from promontory.games.railroad_dice_2.vocabulary import DieKind, Square

Cell = int

EMPTY = 0
COMPLEX = 64
STATION = 128
OFF_MAP = 192
OUTSIDE: Cell = 0
"""A cell of the rim: off every map."""
NO_SIGN = " "


class Die(msgspec.Struct, frozen=True):
    """A die as it lies or may lie on the map. `rotation` is the smallest one that gives its `tracks`."""

    kind: DieKind
    face: str
    rotation: int
    tracks: Tracks

    @property
    def code(self) -> int:
        """What `Board.contents` holds for the die."""
        return self.tracks | COMPLEX if self.kind is DieKind.COMPLEX else self.tracks


class Station(msgspec.Struct, frozen=True):
    """A station: the home of seat `owner`, or a gray one if that is None."""

    square: Square
    owner: Seat | None


class Plan(msgspec.Struct, frozen=True):
    """What of a map never changes once its tiles lie. Strings, bytes and tuples are by cell.

    `signs` holds terrain signs, `NO_SIGN` off the map; `costs` dollars for a simple die; `tile_numbers` places in
    `tile_ids`; `borders` 1 on the border squares of each tile; `steps` what to add to a cell to cross each edge.
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

    def cell(self, square: Square) -> Cell:
        """Return the cell of `square`; `OUTSIDE` for all squares beyond the rectangle of the map."""
        raise NotImplementedError

    def tile_at(self, square: Square) -> str | None:
        """Return the id of the tile that covers `square`, or None off the map."""
        raise NotImplementedError


class Board(msgspec.Struct, frozen=True):
    """A map with its stations and dice.

    `contents` has a byte for each cell: `EMPTY`, the tracks of a simple die, those of a complex die plus `COMPLEX`,
    `STATION`, or `OFF_MAP`. `dice` has the die of each cell; `stations` are in the order of their squares.
    """

    plan: Plan
    contents: bytes
    dice: tuple[Die | None, ...]
    stations: tuple[Station, ...] = ()

    def die_at(self, square: Square) -> Die | None:
        """Return the die on `square`, if one lies there."""
        raise NotImplementedError

    def station_at(self, square: Square) -> Station | None:
        """Return the station on `square`, if one stands there."""
        raise NotImplementedError

    def home_of(self, seat: Seat) -> Square | None:
        """Return the square of the home of `seat`, or None before it is placed."""
        raise NotImplementedError

    def stations_on(self, tile_id: str) -> tuple[Station, ...]:
        """Return the stations on a tile."""
        raise NotImplementedError

    def laid_dice(self) -> tuple[tuple[Square, Die], ...]:
        """Return all dice with their squares, in the order of the squares."""
        raise NotImplementedError

    def with_die(self, square: Square, die: Die) -> Board:
        """Return the board after `die` was put on `square`, in place of a die that lay there; judges nothing."""
        raise NotImplementedError

    def with_station(self, square: Square, owner: Seat | None) -> Board:
        """Return the board after a station was put on `square`; judges nothing."""
        raise NotImplementedError


class TrackFaces(msgspec.Struct, frozen=True):
    """The track faces of a component file. `dice` holds each face as a die in each of the four rotations.

    `simple` and `complex` name the faces of each kind, in the order of the file.
    """

    dice: dict[str, tuple[Die, Die, Die, Die]]
    simple: tuple[str, ...]
    complex: tuple[str, ...]

    def of(self, kind: DieKind) -> tuple[str, ...]:
        """Return the track faces of dice of `kind`."""
        return self.simple if kind is DieKind.SIMPLE else self.complex

    def die(self, face: str, rotation: int) -> Die:
        """Return the die that shows `face`, with the smallest rotation that has the same tracks as `rotation`."""
        return self.dice[face][rotation]

    def distinct(self, face: str) -> tuple[Die, ...]:
        """Return the dice that show `face` in each rotation that has tracks of its own, ascending."""
        return tuple(dict.fromkeys(self.dice[face]))


def track_faces(components: Components) -> TrackFaces:
    """Return the track faces of the component file."""
    raise NotImplementedError


def empty_board(plan: Plan) -> Board:
    """Return a map without stations and dice."""
    raise NotImplementedError
