"""Reading component files, and what makes one malformed [Railroad Dice 2 1.1 and 10]."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import combinations

import msgspec

from promontory.games.railroad_dice_2.components import (
    RULES_VERSION,
    Components,
    Contents,
    DieType,
    LaidTile,
    Shape,
    Tile,
)
from promontory.games.railroad_dice_2.layout import contact, inner_columns
from promontory.games.railroad_dice_2.vocabulary import LOCOMOTIVE, QUESTION, DieKind

FACES_PER_DIE = 6
TWO_PLAYERS = 2
_RESERVED = (LOCOMOTIVE, QUESTION)


class ComponentFileError(ValueError):
    """A component file is malformed; the message names the item and the reason."""


def shipped_data() -> bytes:
    """Return the bytes of the component file that comes with the package."""
    return resources.files(__package__).joinpath("railroad_dice_2.json").read_bytes()


def load_components(raw: bytes) -> Components:
    """Return what a JSON component file describes.

    Raises `ComponentFileError` if it breaks a rule for such files [Railroad Dice 2 1.1] [Railroad Dice 2 10].
    """
    try:
        contents = msgspec.json.decode(raw, type=Contents)
    except msgspec.MsgspecError as error:
        raise ComponentFileError(f"component file: {error}") from error
    for fault in _faults(contents):
        raise ComponentFileError(fault)
    return Components(**msgspec.structs.asdict(contents), data_hash=hashlib.sha256(raw).digest())


def _faults(contents: Contents) -> Iterator[str]:
    if contents.ruleset != RULES_VERSION:
        yield f"component file: made for the rules {contents.ruleset!r}, not {RULES_VERSION!r}"
    if contents.players.min > contents.players.max:
        yield "players: min is more than max"
    for check in (_terrain, _tiles, _layouts, _shapes, _dice, _combinations, _stations, _locomotives, _money):
        yield from check(contents)


def _repeated(item: str, keys: Iterable[object]) -> Iterator[str]:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            yield f"{item} {key}: named twice"
        seen.add(key)


def _terrain(contents: Contents) -> Iterator[str]:
    yield from _repeated("terrain", (terrain.sign for terrain in contents.terrain))
    yield from _repeated("terrain", (terrain.name for terrain in contents.terrain))


def _tiles(contents: Contents) -> Iterator[str]:
    yield from _repeated("tile", (tile.id for tile in contents.tiles))
    if contents.map_tiles.count != len(contents.tiles):
        yield f"map_tiles: count is {contents.map_tiles.count}, but there are {len(contents.tiles)} tiles"
    if len(contents.tiles) < contents.players.max:
        yield f"tiles: {len(contents.tiles)} are too few for {contents.players.max} players"
    for tile in contents.tiles:
        yield from (f"tile {tile.id}: {fault}" for fault in _tile(contents, tile))


def _tile(contents: Contents, tile: Tile) -> Iterator[str]:
    size = contents.map_tiles.size
    if [len(row) for row in tile.rows] != [size] * size:
        yield f"needs {size} rows of {size} squares"
        return
    unknown = set("".join(tile.rows)) - {terrain.sign for terrain in contents.terrain}
    if unknown:
        yield f"no terrain has the sign {min(unknown)!r}"
    buildable = {terrain.sign for terrain in contents.terrain if terrain.station_allowed}
    inner = inner_columns(size, borders_allowed=contents.stations.border_squares_allowed)
    if buildable.isdisjoint(tile.rows[row][column] for row in inner for column in inner):
        yield "no inner square allows a station"


def _layouts(contents: Contents) -> Iterator[str]:
    laid = contents.layouts.beginners
    if sorted(one.tile_id for one in laid) != sorted(tile.id for tile in contents.tiles):
        yield "layouts: beginners must name each tile once"
    if (min((one.square.x for one in laid), default=0), min((one.square.y for one in laid), default=0)) != (0, 0):
        yield "layouts: the smallest x and the smallest y of beginners must be 0"
    yield from (f"layouts: {one.tile_id} and {other.tile_id} overlap" for one, other in _overlaps(contents))
    if not contents.layouts.rotations:
        yield "layouts: rotations must have at least one"
    yield from _repeated("layouts: rotation", contents.layouts.rotations)
    if contents.layouts.min_total_contact > contents.map_tiles.size:
        yield f"layouts: min_total_contact is more than the {contents.map_tiles.size} edges of a side"
    if contents.layouts.min_pair_contact > contents.map_tiles.size:
        yield f"layouts: min_pair_contact is more than the {contents.map_tiles.size} edges of a side"


def _overlaps(contents: Contents) -> Iterator[tuple[LaidTile, LaidTile]]:
    for one, other in combinations(contents.layouts.beginners, 2):
        if contact(one.square, other.square, size=contents.map_tiles.size) is None:
            yield one, other


def _shapes(contents: Contents) -> Iterator[str]:
    yield from _repeated("shape", (shape.face for shape in contents.shapes))
    for shape in contents.shapes:
        yield from (f"shape {shape.face}: {fault}" for fault in _shape(shape))


def _shape(shape: Shape) -> Iterator[str]:
    if shape.face in _RESERVED:
        yield "the name is reserved"
    if not shape.pairs:
        yield "has no pair"
    if any(one == other for one, other in shape.pairs):
        yield "a pair joins two different edges"
    if len({frozenset(pair) for pair in shape.pairs}) < len(shape.pairs):
        yield "has a pair twice"
    if shape.kind is DieKind.SIMPLE and len(shape.pairs) != 1:
        yield "a simple shape has exactly one pair"


def _dice(contents: Contents) -> Iterator[str]:
    for kind in DieKind:
        yield from (f"dice {kind}: {fault}" for fault in _die(contents, contents.dice.of(kind), kind))


def _die(contents: Contents, die: DieType, kind: DieKind) -> Iterator[str]:
    if len(die.faces) != FACES_PER_DIE or len(die.face_sources) != FACES_PER_DIE:
        yield f"needs {FACES_PER_DIE} faces, each with its source"
    kinds = {shape.face: shape.kind for shape in contents.shapes}
    if kind not in kinds.values():
        yield "no shape is of this kind"
    for face in die.faces:
        if face == LOCOMOTIVE and kind is not DieKind.SIMPLE:
            yield "locomotive is a face of simple dice only"
        if face not in _RESERVED and kinds.get(face) is not kind:
            yield f"{face} is not a shape of this kind"


def _combinations(contents: Contents) -> Iterator[str]:
    dice = contents.dice
    if not dice.combinations:
        yield "dice: combinations must have at least one"
    for combination in dice.combinations:
        item = f"dice: combination {combination.simple}+{combination.complex}"
        points = combination.simple * dice.simple.points + combination.complex * dice.complex.points
        if points != dice.dice_points:
            yield f"{item} costs {points} points, not {dice.dice_points}"
        if combination.simple > dice.simple.count or combination.complex > dice.complex.count:
            yield f"{item} needs more dice than there are"


def _stations(contents: Contents) -> Iterator[str]:
    grays = contents.stations.gray_per_player
    players = range(contents.players.min, contents.players.max + 1)
    if sorted(grays) != list(players):
        yield f"stations: gray_per_player must give {players.start} to {players[-1]} players"
    for count, gray in grays.items():
        if count * gray > contents.stations.gray_supply:
            yield f"stations: {count} players need {count * gray} gray ones, gray_supply has fewer"


def _locomotives(contents: Contents) -> Iterator[str]:
    values = [locomotive.value for locomotive in contents.locomotives]
    if values != sorted(set(values)):
        yield "locomotives: values must ascend"
    rules = contents.locomotive_rules
    yield from _repeated("locomotive_rules: two_player_removed", rules.two_player_removed)
    counts = {locomotive.value: locomotive.count for locomotive in contents.locomotives}
    if contents.players.min <= TWO_PLAYERS:
        for value in rules.two_player_removed:
            if not counts.get(value):
                yield f"locomotive {value}: one is removed with two players, but there is none"


def _money(contents: Contents) -> Iterator[str]:
    for players, gray in contents.stations.gray_per_player.items():
        passengers = contents.restocking.passengers_per_station * players * (1 + gray)
        needed = players * contents.money.start_money + passengers
        if contents.money.bank_total <= needed:
            yield f"money: bank_total {contents.money.bank_total} must exceed {needed}, the set-up of {players} players"
