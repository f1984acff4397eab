"""The deck file and its check list [Pacific 3.9]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from promontory.games.pacific.cards import DeckFileError, load_deck, shipped_deck
from promontory.games.pacific.decider import Pacific
from tests.support.pacific import DECK, FILE, GAME, deck_with, house_card, outcome, played, player

Change = Callable[[dict[str, Any]], object]
FISHING = 12


def changed(change: Change) -> bytes:
    """Return the shipped deck file after `change` was made to its contents."""
    file = json.loads(shipped_deck())
    change(file)
    return json.dumps(file).encode()


def set_card(number: int, **fields: Any) -> Change:
    """Return the change that gives card `number` of the file other values."""
    return lambda file: file["cards"][number - 1].update(fields)


def does(*instructions: dict[str, Any]) -> Change:
    """Return the change that lets card 12, Fishing, do something else."""
    return set_card(FISHING, instructions=list(instructions))


def keep(number: int) -> Change:
    """Return the change that leaves so many cards in the file."""
    return lambda file: file.update(cards=file["cards"][:number])


def test_the_shipped_deck_is_accepted_without_warnings() -> None:
    """[Pacific 3.9] 80 cards that keep the colour law."""
    assert (DECK.title, len(DECK.cards), DECK.warnings) == ("Pacific, 80 cards", 80, ())


def test_the_deck_carries_the_hash_of_its_file() -> None:
    """[Pacific 3.9] A match is pinned to the hash of the file's bytes."""
    raw = shipped_deck()
    assert GAME.data_hash == DECK.data_hash == hashlib.sha256(raw).digest()
    assert load_deck(raw + b"\n").data_hash != DECK.data_hash


def test_an_operator_may_bring_cards_the_engine_has_never_heard_of() -> None:
    """[Pacific 3.1] Cards are data: a new one is executed like any other, whatever it is called."""
    card = house_card("submarines", [{"op": "place", "at": "peru", "tokens": {"boat": 3}}], ["green"])
    game = Pacific(load_deck(deck_with(card)))
    assert outcome(played("submarines", player("japan 1 hotel"), game=game)[1]) == "$1 japan 1 hotel / peru 3 boat"


def test_no_card_is_known_by_name() -> None:
    """[Pacific 3.1] With all ids and names exchanged the deck plays the same."""
    raw = shipped_deck().replace(b'"id": "', b'"id": "x_').replace(b'"name": "', b'"name": "X ')
    game = Pacific(load_deck(raw))
    for card_id in ("dolphin_spy_network", "computer_chip_factory", "trade_winds"):
        words = player("japan 2 fish 1 boat", active="grand_opening")
        ours, theirs = played(card_id, words)[1], played(f"x_{card_id}", words, game=_with_fillers(game))[1]
        assert outcome(ours) == outcome(theirs)


def _with_fillers(game: Pacific) -> Pacific:
    """Return the game with the cards that the other seats of these tests execute."""
    by_id = {**DECK.by_id, **game.deck.by_id}
    deck = type(game.deck)(game.deck.title, tuple(by_id.values()), by_id, (), game.deck.data_hash)
    return Pacific(deck)


@pytest.mark.parametrize(
    ("cards", "seats"), [(80, [2, 3, 4, 5]), (50, [2, 3, 4, 5]), (49, [2, 3, 4]), (40, [2, 3, 4]), (39, [3]), (30, [3])]
)
def test_a_deck_must_be_large_enough_for_the_seats(cards: int, seats: list[int]) -> None:
    """[Pacific 1.4] Ten cards a seat, and twenty for the dummies of two players."""
    game = Pacific(load_deck(changed(keep(cards))))
    assert list(game.seats) == seats
    with pytest.raises(ValueError, match="this deck is for"):
        game.initial(seats[-1] + 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_card(6, colours=["green", "blue"]), "port is green/blue, but what it does is green"),
        (set_card(77, colours=["green"]), "more_of_the_same is green, but what it does is orange"),
        (does({"op": "skip_run", "area": "peru"}), "fishing is green/yellow, but what it does is colourless"),
        (
            does({"op": "place", "at": "peru", "tokens": {"hq": 1}}),
            "fishing is green/yellow, but what it does is orange",
        ),
    ],
)
def test_a_card_that_breaks_the_colour_law_is_accepted_with_a_warning(change: Change, message: str) -> None:
    """[Pacific 3.9] Rule 5; the others are not to be broken."""
    assert load_deck(changed(change)).warnings == (message,)


@pytest.mark.parametrize(
    ("instruction", "colours"),
    [
        ({"op": "place", "at": "peru", "tokens": {"boat": 1}}, "green"),
        ({"op": "place", "at": "peru", "tokens": {"port": 1}}, "green"),
        ({"op": "place_path"}, "green"),
        ({"op": "move", "what": "any", "count": "any", "from": "elsewhere", "to": "peru"}, "green"),
        ({"op": "next_turn", "effect": "late_put_out"}, "green"),
        ({"op": "next_turn", "effect": "gain_per_placement", "amount": 1}, "green yellow"),
        ({"op": "next_turn", "effect": "place_per_placement", "tokens": {"hotel": 1}}, "green blue"),
        ({"op": "next_turn", "effect": "extra_card", "n": 1}, "orange"),
        ({"op": "gain", "amount": 1}, "yellow"),
        ({"op": "place", "at": "peru", "tokens": {"balloon": 1}}, "yellow"),
        ({"op": "place", "at": "peru", "tokens": {"factory": 1}}, "red"),
        ({"op": "remove", "what": "any", "count": "any", "from": "anywhere"}, "red"),
        ({"op": "replace", "what": ["boat"], "count": "any", "at": "anywhere", "with": {"hotel": 1}}, "red blue"),
        ({"op": "replace", "what": ["boat"], "count": "any", "at": "anywhere", "with": {"fish": 1}}, "red white"),
        ({"op": "place", "at": "peru", "tokens": {"hotel": 1}}, "blue"),
        ({"op": "place", "at": "peru", "tokens": {"fish": 1, "hatchery": 1}}, "white"),
        ({"op": "duplicate", "at": "peru"}, "orange"),
        ({"op": "advance", "what": "fish"}, "orange"),
        ({"op": "run", "areas": {"pick": 1}}, "orange"),
        ({"op": "if", "cond": {"sole_pick": True}, "then": [{"op": "gain", "amount": 1}]}, "yellow"),
        ({"op": "any_order", "parts": [[{"op": "gain", "amount": 1}], [{"op": "place_path"}]]}, "green yellow"),
    ],
)
def test_the_colour_law_says_what_a_card_must_bear(instruction: dict[str, Any], colours: str) -> None:
    """[Pacific 3.9] Rule 5, line by line."""
    assert load_deck(deck_with(house_card("house", [instruction], colours.split()))).warnings == ()
    assert load_deck(deck_with(house_card("house", [instruction], ["red", "blue", "white"]))).warnings != ()


PLACE = {"op": "place", "at": "peru", "tokens": {"fish": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.update(format="pacific-deck/2"), "its format is 'pacific-deck/2', not 'pacific-deck/1'"),
        (lambda file: file.update(hand_size=9), "hand_size must be 10 and turns 10"),
        (lambda file: file.update(turns=12), "hand_size must be 10 and turns 10"),
        (lambda file: file.pop("sources"), "missing required field `sources`"),
        (lambda file: file.update(author="x"), "unknown field `author`"),
        (keep(29), "29 cards are too few for any number of seats"),
        (set_card(12, id="port"), r"card 12 \(port\): same id as card 6"),
        (set_card(12, name="Port"), r"card 12 \(fishing\): same name as card 6"),
        (set_card(12, id="Big Fish"), r"card 12 \(Big Fish\): Expected `str` matching regex"),
        (set_card(12, colours=[]), r"card 12 \(fishing\): it has no colour"),
        (
            set_card(12, colours=["yellow", "green"]),
            r"card 12 \(fishing\): its colours are repeated or not in run order",
        ),
        (
            set_card(12, colours=["green", "green"]),
            r"card 12 \(fishing\): its colours are repeated or not in run order",
        ),
        (set_card(12, colours=["green", "orange"]), r"card 12 \(fishing\): orange stands alone"),
        (set_card(12, colours=["pink"]), r"card 12 \(fishing\): Invalid enum value 'pink'"),
        (set_card(12, source="invented"), r"card 12 \(fishing\): Invalid enum value 'invented'"),
        (set_card(12, worth="much"), r"card 12 \(fishing\): Expected `int`, got `str`"),
        (set_card(12, price=3), r"card 12 \(fishing\): Object contains unknown field `price`"),
        (does({"op": "steal"}), r"card 12 \(fishing\): Invalid value 'steal'"),
        (does({"at": "peru"}), r"card 12 \(fishing\): Object missing required field `op`"),
        (does({**PLACE, "to": "japan"}), r"card 12 \(fishing\): Object contains unknown field `to`"),
        (does({**PLACE, "at": "tokyo"}), r"card 12 \(fishing\): Expected `str` matching regex"),
        (does({**PLACE, "tokens": {"whale": 1}}), r"card 12 \(fishing\): Invalid enum value 'whale'"),
        (does({**PLACE, "tokens": {"fish": -1}}), r"card 12 \(fishing\): Expected `int` >= 0"),
        (does({**PLACE, "tokens": {}}), r"card 12 \(fishing\): instruction 1: places no kind of token"),
        (does({**PLACE, "at": "$x"}), r"instruction 1: `\$x` is not bound to an area"),
        (does({**PLACE, "at": "here"}), "instruction 1: `here` stands only in amounts under `each`"),
        (does({**PLACE, "bind": "s"}), "instruction 1: `bind` on `place` needs `each`"),
        (
            does({**PLACE, "tokens": {"fish": {"count": "fish", "at": "here"}}}),
            "instruction 1: `here` stands only in amounts under `each`",
        ),
        (
            does({"op": "place", "at": {"each": {"not": ["here"]}}, "tokens": {"fish": 1}}),
            "instruction 1: `here` stands only in amounts under `each`",
        ),
        (
            does({"op": "choose_area", "bind": "x", "where": {"not": ["$x"]}}, {"op": "duplicate", "at": "$x"}),
            r"instruction 1: `\$x` is not bound to an area",
        ),
        (
            does(
                {"op": "if", "cond": {"sole_pick": True}, "then": [{"op": "choose_area", "bind": "x"}]},
                {**PLACE, "at": "$x"},
            ),
            r"instruction 2: `\$x` is not bound to an area",
        ),
        (
            does({"op": "any_order", "parts": [[{"op": "choose_area", "bind": "x"}], [{**PLACE, "at": "$x"}]]}),
            r"instruction 1: instruction 1: `\$x` is not bound to an area",
        ),
        (does({"op": "gain", "amount": {"size_of": "r"}}), "`r` is not bound to a set of areas or a number"),
        (
            does({"op": "choose_area", "bind": "x"}, {"op": "gain", "amount": {"size_of": "x"}}),
            "instruction 2: `x` is not bound to a set of areas or a number",
        ),
        (
            does({"op": "place", "at": {"each": {}}, "tokens": {"fish": 1}, "bind": "s"}, {**PLACE, "at": "$s"}),
            r"instruction 2: `\$s` is not bound to an area",
        ),
        (does({"op": "gain", "amount": {}}), "instruction 1: a number needs exactly one form"),
        (does({"op": "gain", "amount": {"money": True, "fewest": "any"}}), "a number needs exactly one form"),
        (does({"op": "gain", "amount": {"count": "fish"}}), "instruction 1: `count` and `at` go together"),
        (does({"op": "gain", "amount": {"min": [1, {"times": [2, {}]}]}}), "a number needs exactly one form"),
        (does({"op": "gain", "amount": {"count": "fish", "at": {"where": {"not": ["$x"]}}}}), r"`\$x` is not bound"),
        (
            does({"op": "move", "what": "any", "count": "any", "from": "elsewhere", "to": {"choose": {}}}),
            "instruction 1: `from: elsewhere` needs a fixed `to`",
        ),
        (
            does({"op": "move", "what": "any", "count": {}, "from": "peru", "to": "japan"}),
            "instruction 1: `count` needs either `exactly` or `up_to`",
        ),
        (
            does({"op": "move", "what": "any", "count": "some", "from": "peru", "to": "japan"}),
            "Invalid enum value 'some'",
        ),
        (
            does({"op": "remove", "what": "any", "count": {"exactly": 1, "up_to": 2}, "from": "anywhere"}),
            "instruction 1: `count` needs either `exactly` or `up_to`",
        ),
        (does({"op": "remove", "what": "any", "count": "any", "from": "elsewhere"}), "Expected `str` matching regex"),
        (
            does({"op": "replace", "what": ["fish", "fish"], "count": "all", "at": "peru", "with": {"boat": 1}}),
            "instruction 1: `what` names a kind twice",
        ),
        (
            does({"op": "if", "cond": {}, "then": [PLACE]}),
            "instruction 1: `cond` needs either `at_least` or `sole_pick`",
        ),
        (does({"op": "run", "areas": {}}), "instruction 1: `areas` needs either `pick` or `each`"),
        (does({"op": "run", "areas": {"pick": 6}}), "Expected `int` <= 5"),
        (
            does({"op": "if", "cond": {"sole_pick": True}, "then": [{"op": "draw", "n": 1}]}),
            "`draw` and `next_turn` stand only at the top level of a card",
        ),
        (
            does({"op": "any_order", "parts": [[{"op": "next_turn", "effect": "late_put_out"}]]}),
            "`draw` and `next_turn` stand only at the top level of a card",
        ),
        (does({"op": "next_turn", "effect": "late_put_out", "amount": 1}), "`late_put_out` takes no parameter"),
        (does({"op": "next_turn", "effect": "extra_card"}), "`extra_card` takes n"),
        (does({"op": "next_turn", "effect": "gain_per_departure", "n": 1}), "`gain_per_departure` takes amount"),
        (
            does({"op": "next_turn", "effect": "place_per_placement", "tokens": {"hatchery": 1}}),
            "Hatcheries that bring Hatcheries along would never end",
        ),
        (does({"op": "choose_area", "bind": "x", "where": {"empty": False}}), "card 12"),
    ],
)
def test_a_malformed_deck_is_refused_with_card_and_reason(change: Change, message: str) -> None:
    """[Pacific 3.9] Rules 1 to 4."""
    with pytest.raises(DeckFileError, match=message):
        load_deck(changed(change))


@pytest.mark.parametrize("raw", [b"", b"no json", b"[]", b'{"format": "\xff"}', b'{"cards": ' + b"[" * 9999])
def test_a_file_that_is_no_deck_is_refused(raw: bytes) -> None:
    """[Pacific 3.9] A deck file is JSON in UTF-8."""
    with pytest.raises(DeckFileError, match="deck file: "):
        load_deck(raw)


@pytest.mark.parametrize(
    ("depth", "message"), [(9, r"card 1 \(direct_flight\): .*nested too deeply"), (3000, "deck file: ")]
)
def test_nesting_without_end_is_refused(depth: int, message: str) -> None:
    """[Pacific 3.9] A file cannot bring the loader down, nor a card the game."""
    nested = '{"op": "any_order", "parts": [[' * depth + "]]}" * depth
    raw = shipped_deck().replace(b'{"op": "place_path"}', nested.encode(), 1)
    with pytest.raises(DeckFileError, match=message):
        load_deck(raw)


def test_numbers_are_not_nested_without_end_either() -> None:
    """[Pacific 3.9] Eight levels are enough for anybody."""
    number: Any = 1
    for _ in range(10):
        number = {"times": [1, number]}
    with pytest.raises(DeckFileError, match=r"card 12 \(fishing\): instruction 1: it is nested too deeply"):
        load_deck(changed(does({"op": "gain", "amount": number})))


def test_a_note_may_be_kept_with_a_card() -> None:
    """[Pacific 3.9] No rule uses it, nor `worth`."""
    deck = load_deck(changed(set_card(12, note="Boats make money.", worth=-3)))
    assert (deck.by_id["fishing"].note, deck.by_id["fishing"].worth) == ("Boats make money.", -3)


def test_the_file_lists_one_card_a_line() -> None:
    """[Pacific 5.1] So that a correction is a change of one line."""
    lines = shipped_deck().decode().splitlines()
    assert sum('"instructions"' in line for line in lines) == len(FILE["cards"]) == 80
