"""Placing, moving, removing and replacing, and what reacts to it [Pacific 3.4 to 3.6]."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.games.pacific.cards import load_deck
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.events import Event, MoneyGained, PathPlaced, TokensMoved, TokensPlaced, TokensRemoved
from promontory.games.pacific.state import Player
from promontory.games.pacific.tokens import Hq, Tokens
from promontory.games.pacific.vocabulary import Area, Arrow, GainCause, Kind, MoveCause, PlacingSource, RemovalCause
from tests.support.pacific import deck_with, house_card, only, outcome, played, player

CARD, HQ, UPGRADE = PlacingSource.CARD, PlacingSource.HQ, PlacingSource.UPGRADE


def done(
    instructions: list[dict[str, Any]], words: str, *said: str, colours: tuple[str, ...] = ("orange",), **fields: Any
) -> tuple[list[Event], Player]:
    """Let a player with the mat `words` execute these instructions, then run the areas of the colours."""
    game = Pacific(load_deck(deck_with(house_card("house", instructions, colours))))
    return played("house", player(words, **fields), *said, game=game)


def place(area: str, **numbers: int) -> dict[str, Any]:
    """Return the instruction that places tokens in an area."""
    return {"op": "place", "at": area, "tokens": numbers}


def placed(events: list[Event]) -> list[tuple[Tokens, PlacingSource]]:
    """Return the batches placed, and what placed them."""
    return [(event.tokens, event.source) for event in only(TokensPlaced, events)]


def test_a_batch_is_placed_together() -> None:
    """[Pacific 3.4] Everything that one instruction puts into one area."""
    events, end = done([place("japan", fish=2, boat=1)], "")
    assert placed(events) == [(Tokens(fish=2, boat=1), CARD)]
    assert outcome(end) == "$0 japan 2 fish 1 boat"


def test_what_reacts_comes_in_this_order() -> None:
    """[Pacific 3.4] The batch, money for it, HQ extras, then what comes along with it."""
    events, _ = done([place("japan", fish=2)], "japan 1 hq", active="grand_opening upgrade")
    assert [(type(event), getattr(event, "source", None)) for event in events[:5]] == [
        (TokensPlaced, CARD),
        (MoneyGained, None),
        (TokensPlaced, HQ),
        (MoneyGained, None),
        (TokensPlaced, UPGRADE),
    ]


def test_an_hq_gives_a_token_and_no_money() -> None:
    """[P-20] One more of the kind: two fish and a hotel become three and two."""
    _, end = done([place("japan", fish=2, hotel=1)], "japan 1 hq")
    assert outcome(end) == "$0 japan 3 fish 2 hotel 1 hq"


@pytest.mark.parametrize(
    ("words", "instructions", "end"),
    [
        ("japan 1 hq", [place("japan", fish=1), place("japan", fish=1)], "japan 3 fish 1 hq"),
        ("japan 3 hq", [place("japan", fish=1)], "japan 4 fish 3 hq"),
        ("japan 1 hq", [place("japan", fish=1, hotel=1, boat=2)], "japan 2 fish 2 hotel 3 boat 1 hq"),
        ("japan 1 hq", [place("peru", fish=1)], "japan 1 hq / peru 1 fish"),
        ("", [place("japan", hq=1, fish=1)], "japan 1 fish 1 hq"),
        ("japan 1 hq", [place("japan", hq=1, fish=1)], "japan 2 fish 3 hq"),
        ("japan 1 hq", [place("japan", hq=1), place("japan", fish=1)], "japan 4 fish 3 hq"),
        ("japan 1 hq", [place("japan", hatchery=1, port=1)], "japan 2 hatchery 2 port 1 hq"),
    ],
)
def test_an_hq_copies_each_kind_once_a_turn(words: str, instructions: list[dict[str, Any]], end: str) -> None:
    """[P-21] Each HQ by itself; of a batch each kind; not its own batch; extras cause none."""
    assert outcome(done(instructions, words)[1]) == f"$0 {end}"


def test_hqs_do_not_see_moves() -> None:
    """[P-21] A token that arrives is not placed."""
    events, end = done([{"op": "advance", "what": "fish"}], "japan 2 fish / california 1 hq")
    assert (placed(events), outcome(end)) == ([], "$0 california 2 fish 1 hq")


def test_an_hq_works_outside_its_own_run() -> None:
    """[P-21] And in it: here on the card's text, in an area that is not run at all."""
    assert outcome(done([place("peru", boat=1)], "peru 1 hq", colours=("green",))[1]) == "$0 peru 2 boat 1 hq"


def test_what_an_hq_copied_travels_with_it() -> None:
    """[P-21] After a move it does not copy the kind again."""
    move = {"op": "move", "what": "hq", "count": "all", "from": "japan", "to": "peru"}
    _, end = done([place("japan", fish=1), move, place("peru", fish=1)], "japan 1 hq")
    assert outcome(end) == "$0 japan 2 fish / peru 1 fish 1 hq"
    assert end.holdings.hqs == (Hq(1, Area.PERU, (Kind.FISH,)),)


@pytest.mark.parametrize(
    "instruction",
    [
        {"op": "remove", "what": "hq", "count": {"exactly": 1}, "from": "japan"},
        {"op": "move", "what": "hq", "count": {"exactly": 1}, "from": "japan", "to": "peru"},
    ],
)
def test_the_hq_that_copied_least_goes_first(instruction: dict[str, Any]) -> None:
    """[Pacific 3.5] Of those the lowest id: the first HQ has copied more than the two that came because of it."""
    events, _ = done([place("japan", fish=1), place("japan", hq=1), instruction], "japan 1 hq")
    assert [event.hq_ids for event in events if isinstance(event, TokensMoved | TokensRemoved)] == [(2,)]


def test_a_path_is_put_on_the_mat_but_in_no_area() -> None:
    """[P-23] Grand Opening pays for it; HQs, Upgrade and Documentary do not see it."""
    words, active = "japan 1 hq / california 1 hq", "grand_opening upgrade documentary"
    events, end = played("direct_flight", player(words, active=active), "arrow japan_california")
    assert only(PathPlaced, events) == [PathPlaced(0, Arrow.JAPAN_CALIFORNIA)]
    assert (end.holdings.money, placed(events)) == (2, [])


def test_the_same_arrow_may_hold_two_paths() -> None:
    """[P-22] They are as one."""
    _, end = played("direct_flight", player("japan 1 hotel", paths="peru_polynesia"), "arrow peru_polynesia")
    assert (end.holdings.paths, end.holdings.money) == ((Arrow.PERU_POLYNESIA,) * 2, 1)


@pytest.mark.parametrize(
    ("words", "instruction", "gain"),
    [
        ("japan 2 balloon", {"op": "advance", "what": "balloon"}, 30),
        ("peru 1 balloon", {"op": "move", "what": "any", "count": "all", "from": "peru", "to": "california"}, 15),
        ("peru 1 balloon", {"op": "advance", "what": "balloon"}, 0),
        ("", place("california", balloon=1), 0),
    ],
)
def test_balloons_pay_when_they_move_into_california(words: str, instruction: dict[str, Any], gain: int) -> None:
    """[P-24] Each of them, by whatever movement; placing is not moving."""
    events, end = done([instruction], words)
    assert end.holdings.money == gain
    assert {event.cause for event in only(MoneyGained, events)} <= {GainCause.BALLOON}


@pytest.mark.parametrize(
    ("words", "instruction", "gain"),
    [
        ("japan 2 fish", {"op": "advance", "what": "fish"}, 4),
        ("japan 2 fish", {"op": "move", "what": "any", "count": "all", "from": "japan", "to": "peru"}, 4),
        ("japan 2 fish", {"op": "remove", "what": "any", "count": "all", "from": "anywhere"}, 4),
        ("japan 2 fish", {"op": "replace", "what": ["fish"], "count": "all", "at": "japan", "with": {"boat": 1}}, 4),
        ("japan 2 fish", place("japan", fish=1), 0),
        ("japan 1 hq", {"op": "remove", "what": "hq", "count": "all", "from": "japan"}, 2),
    ],
)
def test_documentary_pays_for_what_moves_or_leaves(words: str, instruction: dict[str, Any], gain: int) -> None:
    """[P-34] Every token, each time."""
    assert done([instruction], words, active="documentary")[1].holdings.money == gain


def test_documentary_pays_for_every_step_of_a_run() -> None:
    """[P-34] A Port's fetch, a Balloon's move, a factory's removals, and a fish in each area it swims through."""
    words = "japan 1 fish 1 port 1 balloon / california 1 factory 1 boat / coral_sea 1 hotel"
    block = [{"op": "run", "areas": {"each": {"not": ["coral_sea", "polynesia"]}}}]
    events, _ = done(block, words, "fetch hotel coral_sea", "factories 1 boat", active="documentary")
    gains = [event.amount for event in only(MoneyGained, events) if event.cause is GainCause.DEPARTURE]
    moves = [(event.kind.value, event.cause.value) for event in only(TokensMoved, events)]
    assert moves == [
        ("hotel", "port"),
        ("fish", "run"),
        ("balloon", "run"),
        ("fish", "run"),
        ("balloon", "run"),
        ("fish", "run"),
        ("balloon", "run"),
    ]
    assert gains == [2] * 8


@pytest.mark.parametrize(
    ("words", "instruction", "gain"),
    [
        ("", place("japan", fish=2, boat=1), 6),
        ("japan 1 fish 1 boat", {"op": "duplicate", "at": "japan"}, 4),
        ("japan 2 fish", {"op": "replace", "what": ["fish"], "count": "all", "at": "japan", "with": {"boat": 2}}, 8),
        ("japan 1 hq", place("japan", fish=1), 4),
        ("japan 1 hatchery", {"op": "run", "areas": {"each": {"has": "hatchery"}}}, 4),
        ("japan 2 fish", {"op": "advance", "what": "fish"}, 0),
    ],
)
def test_grand_opening_pays_for_what_is_put_on_the_mat(words: str, instruction: dict[str, Any], gain: int) -> None:
    """[P-35] Cards, replacements, doubling, HQ extras, Hatchery fish; moves do not count."""
    assert done([instruction], words, active="grand_opening")[1].holdings.money == gain


def test_grand_opening_pays_for_what_upgrade_brings() -> None:
    """[P-35] Two tokens, two hotels."""
    _, end = done([place("japan", fish=2)], "", active="grand_opening upgrade")
    assert outcome(end) == "$8 japan 2 fish 2 hotel"


@pytest.mark.parametrize(
    ("words", "instruction", "end"),
    [
        ("", place("japan", fish=1, boat=1), "japan 1 fish 2 hotel 1 boat"),
        ("", place("japan", hotel=1), "japan 2 hotel"),
        ("peru 1 hq", place("peru", fish=3), "peru 4 fish 6 hotel 1 hq"),
        ("japan 1 fish", {"op": "advance", "what": "fish"}, "california 1 fish"),
        (
            "japan 1 fish",
            {"op": "replace", "what": ["fish"], "count": "all", "at": "japan", "with": {"boat": 1}},
            "japan 1 hotel 1 boat",
        ),
    ],
)
def test_upgrade_brings_a_hotel_with_each_token_placed(words: str, instruction: dict[str, Any], end: str) -> None:
    """[P-36] By anything but Upgrade itself; an HQ's extra for its hotels brings one more."""
    assert outcome(done([instruction], words, active="upgrade")[1]) == f"$0 {end}"


def test_a_replacement_removes_and_places() -> None:
    """[P-43] Documentary pays for the old token, Grand Opening for the new one, and an HQ copies it."""
    block = [{"op": "replace", "what": ["fish"], "count": "all", "at": "peru", "with": {"boat": 1}}]
    events, end = done(block, "peru 2 fish 1 hq", active="documentary grand_opening")
    assert outcome(end) == "$10 peru 3 boat 1 hq"
    assert [(event.n, event.cause) for event in only(TokensRemoved, events)] == [(2, RemovalCause.REPLACE)]
    assert placed(events) == [(Tokens(boat=2), PlacingSource.REPLACE), (Tokens(boat=1), HQ)]


def test_replacements_go_area_by_area() -> None:
    """[Pacific 3.6] In ring order; what is placed for one area does not wait for the others."""
    block = [{"op": "replace", "what": ["fish", "boat"], "count": "all", "at": "anywhere", "with": {"hotel": 1}}]
    events, _ = done(block, "coral_sea 1 fish / japan 1 fish 2 boat")
    assert [type(event) for event in events[:-1]] == [
        TokensRemoved,
        TokensRemoved,
        TokensPlaced,
        TokensRemoved,
        TokensPlaced,
    ]


def test_moving_several_kinds_goes_in_ring_and_kind_order() -> None:
    """[Pacific 3.5] However the answer lists them."""
    events, _ = played(
        "reorganize",
        player("coral_sea 1 fish / japan 1 boat 1 fish"),
        "move 1 fish coral_sea, 1 boat japan, 1 fish japan",
    )
    moved = [(event.kind.value, event.source.value) for event in only(TokensMoved, events)]
    assert moved == [("fish", "japan"), ("boat", "japan"), ("fish", "coral_sea")]
    assert {event.cause for event in only(TokensMoved, events)} == {MoveCause.CARD}


def test_removing_goes_in_ring_and_kind_order() -> None:
    """[Pacific 3.6] However the answer lists them."""
    events, _ = played("liquidate", player("japan 1 boat / coral_sea 1 fish"), "remove 1 fish coral_sea, 1 boat japan")
    assert [event.kind.value for event in only(TokensRemoved, events)] == ["boat", "fish"]
