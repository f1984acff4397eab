"""The map with what lies on it, as a value [Railroad Dice 2 2].

`Board.contents` has a byte for each cell, so that the track model looks up what it needs: `EMPTY`, the tracks of a
simple die (1 to 63), those of a complex die plus `COMPLEX`, `STATION`, or `OFF_MAP`. Squares off the map, empty ones
and stations have no tracks, hence no ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.components import Components, Shape
from promontory.games.railroad_dice_2.edges import ALL_TRACKS, Tracks, turned
from promontory.games.railroad_dice_2.plan import NO_SIGN, Cell, Plan
from promontory.games.railroad_dice_2.vocabulary import ROTATIONS, DieKind, Square

T = TypeVar("T")

EMPTY = 0
COMPLEX = ALL_TRACKS + 1
STATION = 2 * COMPLEX
OFF_MAP = 3 * COMPLEX


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


class Board(msgspec.Struct, frozen=True, dict=True):
    """A map with its stations and dice.

    `contents` says what lies on each cell, `dice` which die. `stations` are in the order in which they were placed.
    """

    plan: Plan
    contents: bytes
    dice: tuple[Die | None, ...]
    stations: tuple[Station, ...] = ()

    @cached_property
    def _answers(self) -> dict[Hashable, Any]:
        return {}

    def once(self, question: Hashable, find: Callable[[], T]) -> T:
        """Return what `find` finds out, which must depend on nothing but this map and `question`.

        It is called once and its answer kept beside the map, no part of its value.
        """
        answers = self._answers
        if question not in answers:
            answers[question] = find()
        answer: T = answers[question]
        return answer

    @cached_property
    def station_counts(self) -> tuple[int, ...]:
        """How many stations are on each tile, by the tile's number."""
        counts, plan = [0] * len(self.plan.tile_ids), self.plan
        for station in self.stations:
            counts[plan.tile_numbers[plan.cell(station.square)]] += 1
        return tuple(counts)

    def die_at(self, square: Square) -> Die | None:
        """Return the die on `square`, if one lies there."""
        return self.dice[self.plan.cell(square)]

    def station_at(self, square: Square) -> Station | None:
        """Return the station on `square`, if one stands there."""
        return next((station for station in self.stations if station.square == square), None)

    def home_of(self, seat: Seat) -> Square | None:
        """Return the square of the home of `seat`, or None before it is placed."""
        return next((station.square for station in self.stations if station.owner == seat), None)

    def stations_on(self, tile_id: str) -> tuple[Station, ...]:
        """Return the stations on a tile."""
        return tuple(station for station in self.stations if self.plan.tile_at(station.square) == tile_id)

    def laid_dice(self) -> tuple[tuple[Square, Die], ...]:
        """Return all dice with their squares, by `y`, then `x`."""
        laid = zip(self.plan.squares, self.dice, strict=True)
        return tuple([(square, die) for square, die in laid if die is not None])

    def contents_with(self, cell: Cell, code: int) -> bytes:
        """Return the contents after what `code` stands for was put on `cell`."""
        return self.contents[:cell] + bytes((code,)) + self.contents[cell + 1 :]

    def with_die(self, square: Square, die: Die) -> Board:
        """Return the board after `die` was put on `square`, in place of a die that lay there; judges nothing."""
        cell = self.plan.cell(square)
        dice = list(self.dice)
        dice[cell] = die
        return replace(self, contents=self.contents_with(cell, die.code), dice=tuple(dice))

    def with_station(self, square: Square, owner: Seat | None) -> Board:
        """Return the board after a station was put on `square`; judges nothing."""
        contents = self.contents_with(self.plan.cell(square), STATION)
        return replace(self, contents=contents, stations=(*self.stations, Station(square, owner)))


class Assortment(msgspec.Struct, frozen=True):
    """The track faces of dice of a kind, in the order of the file.

    `dice` holds each face in each rotation that has tracks of its own, ascending, `tracks` those tracks.
    `has_single_pairs` tells whether a face has but one pair of edges.
    """

    kind: DieKind
    faces: tuple[str, ...]
    dice: tuple[Die, ...]
    tracks: tuple[Tracks, ...]
    has_single_pairs: bool


class TrackFaces(msgspec.Struct, frozen=True):
    """The track faces of a component file. `dice` holds each face as a die in each of the four rotations."""

    dice: dict[str, tuple[Die, ...]]
    assortments: dict[DieKind, Assortment]

    @property
    def simple(self) -> tuple[str, ...]:
        """The track faces of simple dice, in the order of the file."""
        return self.assortments[DieKind.SIMPLE].faces

    @property
    def complex(self) -> tuple[str, ...]:
        """The track faces of complex dice, in the order of the file."""
        return self.assortments[DieKind.COMPLEX].faces

    def of(self, kind: DieKind) -> tuple[str, ...]:
        """Return the track faces of dice of `kind`."""
        return self.assortments[kind].faces

    def die(self, face: str, rotation: int) -> Die:
        """Return the die that shows `face`, with the smallest rotation that has the same tracks as `rotation`."""
        return self.dice[face][rotation]


def track_faces(components: Components) -> TrackFaces:
    """Return the track faces of the component file."""
    dice = {shape.face: tuple(_rotations(shape)) for shape in components.shapes}
    return TrackFaces(dice, {kind: _assortment(kind, dice) for kind in DieKind})


def _assortment(kind: DieKind, rotations: dict[str, tuple[Die, ...]]) -> Assortment:
    faces = tuple(face for face, turns in rotations.items() if turns[0].kind is kind)
    dice = tuple(die for face in faces for rotation, die in enumerate(rotations[face]) if die.rotation == rotation)
    return Assortment(
        kind=kind,
        faces=faces,
        dice=dice,
        tracks=tuple(die.tracks for die in dice),
        has_single_pairs=any(die.tracks.bit_count() == 1 for die in dice),
    )


def _rotations(shape: Shape) -> Iterator[Die]:
    rotated = [turned(shape.tracks, rotation) for rotation in ROTATIONS]
    for tracks in rotated:
        yield Die(shape.kind, shape.face, rotated.index(tracks), tracks)


def empty_board(plan: Plan) -> Board:
    """Return a map without stations and dice."""
    contents = bytes(OFF_MAP if sign == NO_SIGN else EMPTY for sign in plan.signs)
    return Board(plan, contents, dice=(None,) * len(contents))
