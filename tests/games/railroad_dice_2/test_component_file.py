"""The components and their file [Railroad Dice 2 1 and 10]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from promontory.games.railroad_dice_2.component_file import ComponentFileError, load_components, shipped_data
from promontory.games.railroad_dice_2.components import LayoutKind, RestockMode
from promontory.games.railroad_dice_2.vocabulary import DieKind
from tests.support.railroad_maps import COMPONENTS

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> bytes:
    """Return the shipped component file after `change` was made to its contents."""
    file = json.loads(shipped_data())
    change(file)
    return json.dumps(file).encode()


def put(path: str, value: object) -> Change:
    """Return the change that puts another value at a path such as `tiles.0.rows`."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))

    def change(file: Any) -> None:
        for part in parents:
            file = file[part]
        file[last] = value

    return change


def fault_of(change: Change) -> str:
    """Return the message by which the changed file is refused."""
    with pytest.raises(ComponentFileError) as refused:
        load_components(changed(change))
    return str(refused.value)


@pytest.mark.parametrize(
    ("kind", "colour", "count", "points", "faces"),
    [
        (DieKind.SIMPLE, "white", 30, 1, "straight straight curve curve locomotive question"),
        (DieKind.COMPLEX, "orange", 20, 2, "crossing back_to_back switch_right switch_left wye question"),
    ],
)
def test_dice(kind: DieKind, colour: str, count: int, points: int, faces: str) -> None:
    """[Railroad Dice 2 1.3] Faces in the order in which draws number them [Railroad Dice 2 7.2]."""
    dice = COMPONENTS.dice.of(kind)
    assert (dice.colour, dice.count, dice.points, " ".join(dice.faces)) == (colour, count, points, faces)


def test_combinations() -> None:
    """[R-13] Only the three of the rulebook, of 4 dice points each."""
    combinations = [(one.simple, one.complex) for one in COMPONENTS.dice.combinations]
    assert (COMPONENTS.dice.dice_points, combinations) == (4, [(4, 0), (2, 1), (0, 2)])
    assert COMPONENTS.dice.question_may_be_locomotive


def test_terrain() -> None:
    """[Railroad Dice 2 1.1] Sign, name, cost and whether a station may stand there."""
    assert [(one.sign, one.name, one.cost, one.station_allowed) for one in COMPONENTS.terrain] == [
        (".", "plain", 0, True),
        ("^", "mountain", 1, True),
        ("~", "water", 2, False),
    ]


def test_stations() -> None:
    """[R-10] [Railroad Dice 2 1.4] 4, 3 or 2 gray stations for each player, so 9 are needed."""
    stations = COMPONENTS.stations
    assert (stations.gray_per_player, stations.gray_supply) == ({2: 4, 3: 3, 4: 2}, 9)
    assert (stations.homes_per_player, stations.min_distance_gray) == (1, 2)
    assert (stations.border_squares_allowed, stations.one_home_per_tile) == (False, True)


def test_locomotives() -> None:
    """[R-39] [Railroad Dice 2 1.5] Value, number and price."""
    assert [(one.value, one.count, one.price) for one in COMPONENTS.locomotives] == [
        (2, 5, 5),
        (3, 4, 10),
        (4, 3, 15),
        (5, 2, 20),
        (6, 1, 25),
    ]
    rules = COMPONENTS.locomotive_rules
    assert (rules.two_player_removed, rules.first_bought, rules.scrapped) == ((2, 3, 4, 5, 6), 4, 2)


def test_money() -> None:
    """[Railroad Dice 2 1.6] 120 discs are worth 360."""
    money = COMPONENTS.money
    discs = (money.large, money.small)
    assert sum(size.count for size in discs) == money.discs_total == 120
    assert sum(size.count * size.worth for size in discs) == money.bank_total == 360
    assert (money.start_money, money.connection_income) == (10, 5)


def test_options() -> None:
    """[R-1] [R-17] [R-24] [R-47] [R-56] The readings that the file as shipped gives."""
    layouts, restocking, end = COMPONENTS.layouts, COMPONENTS.restocking, COMPONENTS.end
    assert layouts.default is LayoutKind.BEGINNERS
    assert (layouts.min_total_contact, layouts.min_pair_contact, layouts.rotations) == (4, 1, (0, 1, 2, 3))
    assert COMPONENTS.trains.reversing is False
    assert (restocking.restock_mode, restocking.passengers_per_station) == (RestockMode.ADD, 5)
    assert (restocking.auto_restock_empty_tiles, restocking.auto_restock_counts_bare_tiles) == (3, False)
    assert (end.complex_dice_left, end.dice_left, end.bank_left) == (1, 2, 0)
    assert (end.all_stations, end.stall_rounds) == (True, 3)


def test_components_carry_the_hash_of_their_file() -> None:
    """[Railroad Dice 2 6.4] SHA-256 of the file's bytes."""
    assert COMPONENTS.data_hash == hashlib.sha256(shipped_data()).digest()
    assert load_components(shipped_data() + b"\n").data_hash != COMPONENTS.data_hash


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("trains.reversing", True),
        ("layouts.min_pair_contact", 4),
        ("layouts.default", "variable"),
        ("restocking.restock_mode", "fill"),
        ("restocking.auto_restock_counts_bare_tiles", True),
        ("end.all_stations", False),
        ("end.stall_rounds", 0),
        ("locomotives.0.price", 0),
        ("locomotives.1.count", 9),
        ("tiles.0.rows", ["^^^^", "^^^^", "^^^^", "^^^^"]),
        ("shapes.6.pairs", [["N", "S"], ["S", "E"], ["N", "E"]]),
        ("money.bank_total", 141),
    ],
)
def test_an_operator_may_change_a_value(path: str, value: object) -> None:
    """[Railroad Dice 2 10] Options, prices, terrain, shapes of any number of pairs."""
    assert load_components(changed(put(path, value))).data_hash != COMPONENTS.data_hash


WATERY = ["....", ".~~.", ".~~.", "...."]
SIX = "crossing back_to_back switch_right switch_left wye"


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("ruleset", "railroad_dice_2/2", "component file: made for the rules 'railroad_dice_2/2'"),
        ("players.min", 1, "Expected `int` >= 2 - at `$.players.min`"),
        ("players", {"min": 4, "max": 3, "sources": {"min": "house"}}, "players: min is more than max"),
        ("trains.reversing", "no", "Expected `bool`, got `str` - at `$.trains.reversing`"),
        ("end.sources", {}, "length >= 1 - at `$.end.sources`"),
        ("end.sources.dice_left", "rumour", "Invalid enum value 'rumour' - at `$.end.sources"),
        ("end.rounds", 3, "unknown field `rounds` - at `$.end`"),
        ("restocking.restock_mode", "double", "Invalid enum value 'double' - at `$.restocking.restock_mode`"),
        ("terrain.1.sign", ".", "terrain .: named twice"),
        ("terrain.1.name", "plain", "terrain plain: named twice"),
        ("terrain.1.sign", " ", "`$.terrain[1].sign`"),
        ("terrain.1.sign", "^^", "`$.terrain[1].sign`"),
        ("terrain.1.cost", -1, "Expected `int` >= 0 - at `$.terrain[1].cost`"),
        ("tiles.1.id", "T1", "tile T1: named twice"),
        ("tiles.2.rows", ["....", "....", "...."], "tile T3: needs 4 rows of 4 squares"),
        ("tiles.2.rows", ["....", "...", "....", "...."], "tile T3: needs 4 rows of 4 squares"),
        ("tiles.2.rows", ["....", "..#.", "....", "...."], "tile T3: no terrain has the sign '#'"),
        ("tiles.2.rows", WATERY, "tile T3: no inner square allows a station"),
        ("map_tiles.count", 5, "map_tiles: count is 5, but there are 6 tiles"),
        ("layouts.beginners.5.tile_id", "T5", "layouts: beginners must name each tile once"),
        ("layouts.beginners.5.tile_id", "T7", "layouts: beginners must name each tile once"),
        ("layouts.beginners.5.square.x", 7, "layouts: T5 and T6 overlap"),
        ("layouts.beginners.5.square.x", -4, "layouts: the smallest x and the smallest y of beginners must be 0"),
        ("layouts.beginners.5.rotation", 4, "Expected `int` <= 3"),
        ("layouts.min_total_contact", 5, "layouts: min_total_contact is more than the 4 edges of a side"),
        ("layouts.min_pair_contact", 5, "layouts: min_pair_contact is more than the 4 edges of a side"),
        ("layouts.rotations", [], "layouts: rotations must have at least one"),
        ("layouts.rotations", [1, 1], "layouts: rotation 1: named twice"),
        ("shapes.1.face", "straight", "shape straight: named twice"),
        ("shapes.6.face", "question", "shape question: the name is reserved"),
        ("shapes.6.face", "locomotive", "shape locomotive: the name is reserved"),
        ("shapes.6.pairs", [], "shape wye: has no pair"),
        ("shapes.6.pairs", [["S", "S"], ["S", "W"]], "shape wye: a pair joins two different edges"),
        ("shapes.6.pairs", [["S", "E"], ["E", "S"]], "shape wye: has a pair twice"),
        ("shapes.1.pairs", [["N", "E"], ["S", "W"]], "shape curve: a simple shape has exactly one pair"),
        ("dice.simple.faces", ["straight"] * 5, "dice simple: needs 6 faces, each with its source"),
        ("dice.simple.face_sources", ["house"] * 5, "dice simple: needs 6 faces, each with its source"),
        ("dice.complex.faces", [*SIX.split(), "locomotive"], "dice complex: locomotive is a face of simple dice only"),
        ("dice.complex.faces", [*SIX.split(), "curve"], "dice complex: curve is not a shape of this kind"),
        ("dice.simple.faces.0", "loop", "dice simple: loop is not a shape of this kind"),
        ("dice.combinations", [], "dice: combinations must have at least one"),
        ("dice.combinations.0.simple", 3, "dice: combination 3+0 costs 3 points, not 4"),
        ("dice.complex.count", 1, "dice: combination 0+2 needs more dice than there are"),
        ("stations.homes_per_player", 2, "`$.stations.homes_per_player`"),
        ("stations.metric", "chess", "`$.stations.metric`"),
        ("stations.gray_per_player", {"2": 4, "3": 3}, "stations: gray_per_player must give 2 to 4 players"),
        ("stations.gray_supply", 8, "stations: 3 players need 9 gray ones, gray_supply has fewer"),
        ("locomotives.0.value", 3, "locomotives: values must ascend"),
        ("locomotives.0.value", 7, "locomotives: values must ascend"),
        ("locomotives.4.count", 0, "locomotive 6: one is removed with two players, but there is none"),
        (
            "locomotive_rules.two_player_removed",
            [7],
            "locomotive 7: one is removed with two players, but there is none",
        ),
        ("locomotive_rules.two_player_removed", [6, 6], "locomotive_rules: two_player_removed 6: named twice"),
        ("money.bank_total", 100, "money: bank_total 100 must exceed 100, the set-up of 4 players"),
    ],
)
def test_a_malformed_file_is_refused(path: str, value: object, fault: str) -> None:
    """[Railroad Dice 2 10] The message names the item and the reason."""
    assert fault in fault_of(put(path, value))


def test_too_few_tiles_are_refused() -> None:
    """[Railroad Dice 2 1.1] Each player needs a tile for the home."""

    def keep_three(file: dict[str, Any]) -> None:
        file["map_tiles"]["count"] = 3
        file["tiles"] = file["tiles"][:3]
        file["layouts"]["beginners"] = file["layouts"]["beginners"][:3]

    assert fault_of(keep_three) == "tiles: 3 are too few for 4 players"


def test_more_tiles_may_be_added() -> None:
    """[Railroad Dice 2 10] Any number from the number of players upward."""

    def add_one(file: dict[str, Any]) -> None:
        file["map_tiles"]["count"] = 7
        file["tiles"].append(dict(file["tiles"][0], id="T7"))
        file["layouts"]["beginners"].append({"tile_id": "T7", "square": {"x": 12, "y": 2}, "rotation": 1})

    assert len(load_components(changed(add_one)).tiles) == 7


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"ruleset": "railroad_dice_2/1"}', b"\xff"])
def test_other_files_are_refused(raw: bytes) -> None:
    """[Railroad Dice 2 10] What is no component file at all."""
    with pytest.raises(ComponentFileError, match="component file: "):
        load_components(raw)


def test_pieces_are_found_by_name() -> None:
    """[Railroad Dice 2 1] Tiles by id, terrain by sign, locomotives by value."""
    lake, six = COMPONENTS.tile("T3"), COMPONENTS.locomotive(6)
    assert lake is not None
    assert six is not None
    assert (lake.name, six.price, COMPONENTS.terrain_of("~").name) == ("Lake", 25, "water")
    assert (COMPONENTS.tile("T9"), COMPONENTS.locomotive(7)) == (None, None)
