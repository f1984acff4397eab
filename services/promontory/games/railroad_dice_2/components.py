"""What is in the box: map tiles, shapes, dice, stations, locomotives, discs, options [Railroad Dice 2 1 and 10].

All of it is read from a replaceable JSON file, see `component_file`. Every part names in `sources` where its values
come from.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from promontory.games.railroad_dice_2.edges import EDGE_NAMES, Tracks, tracks_of
from promontory.games.railroad_dice_2.vocabulary import DieKind, Square

RULES_VERSION = "railroad_dice_2/1"

_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(_[a-z]+)*$", max_length=40)]
_TileId = Annotated[str, msgspec.Meta(pattern=r"^[A-Z][0-9]{1,2}$")]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
_Rotation = Annotated[int, msgspec.Meta(ge=0, le=3)]
_EdgeName = Literal["N", "E", "S", "W"]


class Source(StrEnum):
    """Where a value comes from; an operator may replace those of the house without leaving the rules."""

    RULEBOOK = "rulebook"
    PUBLIC = "public"
    HOUSE = "house"


Sources = Annotated[dict[str, Source], msgspec.Meta(min_length=1)]


class LayoutKind(StrEnum):
    """How the tiles come to lie [Railroad Dice 2 1.2]."""

    BEGINNERS = "beginners"
    VARIABLE = "variable"


class RestockMode(StrEnum):
    """Whether a restock adds to what lies beside a tile or fills it up [R-17]."""

    ADD = "add"
    FILL = "fill"


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of the file; `sources` names each of its values."""

    sources: Sources


class Players(_Part, frozen=True):
    """With how many players the game can be played."""

    min: Annotated[int, msgspec.Meta(ge=2)]
    max: Annotated[int, msgspec.Meta(le=4)]


class Terrain(_Part, frozen=True):
    """A kind of terrain: `cost` dollars for a simple die [R-33]; `sign` stands for it in rows of tiles."""

    sign: Annotated[str, msgspec.Meta(pattern=r"^\S$")]
    name: _Name
    cost: _Count
    station_allowed: bool


class Tile(_Part, frozen=True):
    """A map tile: rows of terrain signs, the first in the north, each from west to east."""

    id: _TileId
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    rows: tuple[str, ...]


class MapTiles(_Part, frozen=True):
    """How many tiles there are, each of `size` times `size` squares."""

    size: _AtLeastOne
    count: _AtLeastOne


class LaidTile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tile that lies with its north-west square at `square`, turned clockwise by `rotation` quarters."""

    tile_id: _TileId
    square: Square
    rotation: _Rotation


class Layouts(_Part, frozen=True):
    """The beginners' layout and the contact rule of the variable one [R-1]."""

    default: LayoutKind
    beginners: tuple[LaidTile, ...]
    min_total_contact: _Count
    min_pair_contact: _AtLeastOne
    rotations: tuple[_Rotation, ...]


class Shape(_Part, frozen=True):
    """A track face: pairs of edges in rotation 0 [Railroad Dice 2 2.1]."""

    face: _Name
    kind: DieKind
    pairs: tuple[tuple[_EdgeName, _EdgeName], ...]

    @property
    def tracks(self) -> Tracks:
        """The pairs as a set, in rotation 0."""
        return tracks_of((EDGE_NAMES.index(one), EDGE_NAMES.index(other)) for one, other in self.pairs)


class TrainRules(_Part, frozen=True):
    """`reversing` lets trains take every branch of a switch from every side [R-24]."""

    reversing: bool


class DieType(_Part, frozen=True):
    """The dice of one kind. `faces` has the six faces in the order in which draws number them from 0."""

    colour: _Name
    count: _AtLeastOne
    points: _AtLeastOne
    faces: tuple[_Name, ...]
    face_sources: tuple[Source, ...]


class Combination(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dice that can be rolled together [R-13]."""

    simple: _Count
    complex: _Count


class Dice(_Part, frozen=True):
    """Both kinds of dice and what can be rolled with `dice_points`."""

    simple: DieType
    complex: DieType
    dice_points: _AtLeastOne
    combinations: tuple[Combination, ...]
    question_may_be_locomotive: bool

    def of(self, kind: DieKind) -> DieType:
        """Return the dice of `kind`."""
        return self.simple if kind is DieKind.SIMPLE else self.complex


class Stations(_Part, frozen=True):
    """How many stations there are and where they may stand [Railroad Dice 2 3.3 and 3.4].

    `gray_per_player` is by number of players. `min_distance_gray` counts squares along rows and columns [R-8].
    """

    homes_per_player: Literal[1]
    gray_per_player: dict[int, _Count]
    gray_supply: _Count
    min_distance_gray: _Count
    metric: Literal["manhattan"]
    border_squares_allowed: bool
    one_home_per_tile: bool


class LocomotiveType(_Part, frozen=True):
    """The locomotives of one value, which is both speed and capacity; the price is in dollars [R-39]."""

    value: _AtLeastOne
    count: _Count
    price: _Count


class LocomotiveRules(_Part, frozen=True):
    """Which locomotives leave the game: one of each `two_player_removed` at once, all `scrapped` ones later [R-40]."""

    two_player_removed: tuple[int, ...]
    first_bought: int
    scrapped: int


class Discs(_Part, frozen=True):
    """Discs of one size."""

    count: _Count
    worth: _AtLeastOne


class Money(_Part, frozen=True):
    """Dollars and passengers, which are the same discs; only `bank_total` is ever counted [Railroad Dice 2 1.6]."""

    discs_total: _Count
    large: Discs
    small: Discs
    bank_total: _AtLeastOne
    start_money: _Count
    connection_income: _Count


class Restocking(_Part, frozen=True):
    """When and how many passengers come [Railroad Dice 2 4.7].

    `auto_restock_empty_tiles` empty tiles bring new passengers; tiles without stations count too if
    `auto_restock_counts_bare_tiles` says so [R-47].
    """

    passengers_per_station: _AtLeastOne
    restock_mode: RestockMode
    auto_restock_empty_tiles: _AtLeastOne
    auto_restock_counts_bare_tiles: bool


class EndConditions(_Part, frozen=True):
    """What brings on the final phase [Railroad Dice 2 5.1]; the numbers trigger it when so many or fewer are left.

    `all_stations` switches that condition on; `stall_rounds` 0 switches the guard against stalling off [R-56].
    """

    complex_dice_left: _Count
    dice_left: _Count
    bank_left: _Count
    all_stations: bool
    stall_rounds: _Count


class Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a component file says."""

    ruleset: str
    references: dict[str, str]
    players: Players
    terrain: tuple[Terrain, ...]
    map_tiles: MapTiles
    tiles: tuple[Tile, ...]
    layouts: Layouts
    shapes: tuple[Shape, ...]
    trains: TrainRules
    dice: Dice
    stations: Stations
    locomotives: tuple[LocomotiveType, ...]
    locomotive_rules: LocomotiveRules
    money: Money
    restocking: Restocking
    end: EndConditions


class Components(Contents, frozen=True):
    """A component file that keeps the rules for such files; `data_hash` is the SHA-256 of its bytes."""

    data_hash: bytes

    def tile(self, tile_id: str) -> Tile | None:
        """Return the tile of that id, if there is one."""
        return next((tile for tile in self.tiles if tile.id == tile_id), None)

    def terrain_of(self, sign: str) -> Terrain:
        """Return the terrain that `sign`, a sign of a tile of this file, stands for."""
        return next(terrain for terrain in self.terrain if terrain.sign == sign)

    def locomotive(self, value: int) -> LocomotiveType | None:
        """Return the locomotives of that value, if there are any."""
        return next((locomotive for locomotive in self.locomotives if locomotive.value == value), None)
