"""The instruction set: areas, filters, numbers, conditions and what each op does [Pacific 3.1 to 3.3]."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.games.pacific.cards import load_deck
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.decisions import (
    MoveSource,
    PickArea,
    PickMoves,
    PickOrder,
    PickRemovals,
    PickReplacements,
    PickRunAreas,
    TokenChoice,
)
from promontory.games.pacific.events import AreaRunStarted, Event, TokensMoved, TokensPlaced, TokensRemoved
from promontory.games.pacific.state import Player
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import AREAS, Area, Kind, MoveCause, Per, PlacingSource
from tests.support.pacific import (
    deck_with,
    executing,
    house_card,
    only,
    open_decision,
    outcome,
    picks,
    played,
    player,
)

MAT = "japan 2 fish 1 boat / california 3 hotel / peru 1 hq 1 fish / coral_sea 4 fish"


def house(*instructions: dict[str, Any]) -> Pacific:
    """Return the game with a card `house` that runs nothing after these instructions."""
    return Pacific(load_deck(deck_with(house_card("house", instructions))))


def done(instructions: list[dict[str, Any]], words: str = MAT, *said: str, **fields: Any) -> tuple[list[Event], Player]:
    """Let a player with the mat `words` execute these instructions and nothing else."""
    return played("house", player(words, **fields), *said, game=house(*instructions))


def gained(amount: Any, words: str = MAT, **fields: Any) -> int:
    """Return what a number comes to on the mat `words`."""
    before = fields.get("money", 0)
    return done([{"op": "gain", "amount": amount}], words, **fields)[1].holdings.money - before


def question(instructions: list[dict[str, Any]], words: str = MAT) -> Any:
    """Return what these instructions ask first, or None if they ask nothing."""
    decision = open_decision(executing(["house"], player(words), game=house(*instructions)))
    return None if decision is None else decision.question


def passing(where: dict[str, Any], words: str = MAT) -> str:
    """Return the areas that pass a filter."""
    placed = only(TokensPlaced, done([{"op": "place", "at": {"each": where}, "tokens": {"port": 1}}], words)[0])
    return " ".join(event.area for event in placed if event.source is PlacingSource.CARD)


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        (7, 7),
        ({"count": "fish", "at": "all"}, 7),
        ({"count": "any", "at": "all"}, 12),
        ({"count": "hotel", "at": "california"}, 3),
        ({"count": "any", "at": "japan"}, 3),
        ({"count": "fish", "at": {"where": {"has": "boat"}}}, 2),
        ({"count": "any", "at": {"where": {"not": ["japan"], "has": "fish"}}}, 6),
        ({"kinds_at": "peru"}, 2),
        ({"kinds_at": "polynesia"}, 0),
        ({"areas": {"has": "fish"}}, 3),
        ({"fewest": "any"}, 0),
        ({"min": [4, {"count": "hq", "at": "all"}, 2]}, 1),
        ({"times": [3, {"count": "hotel", "at": "all"}]}, 9),
        ({"times": [2, {"times": [3, {"min": [5]}]}]}, 30),
    ],
)
def test_a_number_is_worked_out(amount: Any, value: int) -> None:
    """[Pacific 3.2] All forms of NUM that read the mat."""
    assert gained(amount) == value


def test_the_fewest_are_those_of_the_emptiest_area() -> None:
    """[P-39] Of a kind, or of all tokens; one area without makes it none."""
    words = "japan 3 fish / california 2 fish / peru 5 fish / polynesia 2 fish 2 boat / coral_sea 9 fish"
    assert (gained({"fewest": "fish"}, words), gained({"fewest": "any"}, words), gained({"fewest": "boat"}, words)) == (
        2,
        2,
        0,
    )


@pytest.mark.parametrize(("money", "value"), [(0, 0), (8, 8)])
def test_a_number_may_be_the_players_money(money: int, value: int) -> None:
    """[Pacific 3.2] As it is now."""
    assert gained({"money": True}, money=money) == value


@pytest.mark.parametrize(
    ("where", "areas"),
    [
        ({}, "japan california peru polynesia coral_sea"),
        ({"not": ["japan", "peru"]}, "california polynesia coral_sea"),
        ({"empty": True}, "polynesia"),
        ({"has": "fish"}, "japan peru coral_sea"),
        ({"has": "any"}, "japan california peru coral_sea"),
        ({"tokens": {"of": "fish", "min": 2}}, "japan coral_sea"),
        ({"tokens": {"of": "any", "min": 2, "max": 3}}, "japan california peru"),
        ({"tokens": {"of": "any", "max": 2}}, "peru polynesia"),
        ({"kinds": {"min": 2}}, "japan peru"),
        ({"only": "fish"}, "coral_sea"),
        ({"only": "boat"}, ""),
        ({"has": "fish", "not": ["japan"], "kinds": {"min": 2}}, "peru"),
    ],
)
def test_a_filter_lets_areas_pass(where: dict[str, Any], areas: str) -> None:
    """[Pacific 3.2] All that is given must hold."""
    assert passing(where) == areas


def test_special_tokens_count_as_tokens_and_kinds() -> None:
    """[P-19] All eight kinds do; a Path does not."""
    words = "japan 1 fish 1 hotel 1 factory 1 boat 1 hatchery 1 port 1 balloon 1 hq"
    assert [gained({"kinds_at": "japan"}, words), gained({"count": "any", "at": "all"}, words)] == [8, 8]
    assert gained({"areas": {"empty": True}}, "", paths="japan_california") == 5


def test_you_have_means_the_tokens_of_the_own_mat() -> None:
    """[P-18] They are counted, not used up."""
    _, end = played("aquarium", player("japan 1 fish / peru 1 fish"))
    assert outcome(end) == "$3 japan 1 fish / peru 1 fish / polynesia 3 hotel"


@pytest.mark.parametrize(
    ("cond", "money", "holds"),
    [
        ({"at_least": [{"count": "fish", "at": "all"}, 7]}, 0, True),
        ({"at_least": [{"count": "fish", "at": "all"}, 8]}, 0, False),
        ({"at_least": [{"money": True}, 5]}, 5, True),
        ({"at_least": [{"money": True}, 5]}, 4, False),
        ({"sole_pick": True}, 0, True),
    ],
)
def test_nested_instructions_run_if_the_condition_holds(cond: dict[str, Any], money: int, holds: bool) -> None:
    """[Pacific 3.3] At the moment when the line is reached."""
    block = [{"op": "if", "cond": cond, "then": [{"op": "place", "at": "polynesia", "tokens": {"boat": 1}}]}]
    _, end = done(block, money=money)
    assert end.holdings.mat[Area.POLYNESIA.place].boat == holds


def test_having_money_is_a_check_and_no_price() -> None:
    """[P-38] Nothing is paid, and money made by the run comes too late (S-62)."""
    _, end = played("spas", player(money=5))
    assert outcome(end) == "$5 peru 3 hotel"


def test_a_chosen_area_is_what_later_lines_mean() -> None:
    """[Pacific 3.1] The name is bound for the rest of the card."""
    block = [
        {"op": "choose_area", "bind": "x"},
        {"op": "place", "at": "$x", "tokens": {"boat": 1}},
        {"op": "place", "at": {"each": {"not": ["$x"]}}, "tokens": {"fish": 1}},
    ]
    _, end = done(block, "", "area peru")
    assert outcome(end) == "$0 japan 1 fish / california 1 fish / peru 1 boat / polynesia 1 fish / coral_sea 1 fish"


def test_another_area_excludes_the_one_named_before() -> None:
    """[P-17] Giant Squid's fish go elsewhere."""
    asked = open_decision(executing(["giant_squid"], player()))
    assert asked is not None
    assert asked.question == PickArea(AREAS)
    _, end = played("giant_squid", player(), "area peru", "area california")
    assert outcome(end) == "$0 california 2 fish / peru 1 boat"


@pytest.mark.parametrize(
    "follow_up",
    [
        {"op": "place", "at": "$x", "tokens": {"fish": 2}},
        {"op": "move", "what": "any", "count": "all", "from": "$x", "to": "japan"},
        {"op": "move", "what": "any", "count": "all", "from": "elsewhere", "to": "$x"},
        {"op": "remove", "what": "any", "count": "all", "from": "$x"},
        {"op": "replace", "what": ["fish"], "count": "all", "at": "$x", "with": {"boat": 1}},
        {"op": "duplicate", "at": "$x"},
        {"op": "skip_run", "area": "$x"},
        {"op": "gain", "amount": {"count": "any", "at": "$x"}},
        {"op": "gain", "amount": {"kinds_at": "$x"}},
    ],
)
def test_a_name_bound_to_nothing_skips_what_uses_it(follow_up: dict[str, Any]) -> None:
    """[P-14] Numbers that count there are 0; the following lines are still done."""
    block = [{"op": "choose_area", "bind": "x", "where": {"empty": True, "has": "fish"}}, follow_up]
    events, end = done([*block, {"op": "gain", "amount": 1}])
    assert (end.holdings.money, len(events)) == (1, 2)


def test_a_filter_ignores_names_bound_to_nothing() -> None:
    """[Pacific 3.2] `not` then excludes nobody."""
    block = [
        {"op": "choose_area", "bind": "x", "where": {"has": "port"}},
        {"op": "place", "at": {"each": {"not": ["$x"]}}, "tokens": {"port": 1}},
    ]
    assert len(only(TokensPlaced, done(block, "")[0])) == 5


def test_an_only_area_is_taken_without_asking() -> None:
    """[Pacific 3.7] A decision with one legal answer is not shown."""
    block = [{"op": "choose_area", "bind": "x", "where": {"has": "hotel"}}, {"op": "duplicate", "at": "$x"}]
    assert question(block) is None
    assert outcome(done(block, "peru 1 hotel 2 fish")[1]) == "$0 peru 3 fish 2 hotel"


def test_amounts_and_areas_are_fixed_before_the_first_token() -> None:
    """[P-16] HQs do not feed a line back into itself."""
    block = [{"op": "place", "at": {"each": {"has": "fish"}}, "tokens": {"fish": {"count": "fish", "at": "all"}}}]
    _, end = done(block, "japan 1 fish 1 hq / peru 1 fish")
    assert outcome(end) == "$0 japan 4 fish 1 hq / peru 3 fish"


def test_here_is_the_area_being_served() -> None:
    """[Pacific 3.2] In amounts under `each`."""
    block = [{"op": "place", "at": {"each": {"has": "boat"}}, "tokens": {"hotel": {"kinds_at": "here"}}}]
    _, end = done(block, "japan 1 boat / peru 2 boat 1 fish 1 port")
    assert outcome(end) == "$0 japan 1 hotel 1 boat / peru 1 fish 3 hotel 2 boat 1 port"


def test_placing_nothing_triggers_nothing() -> None:
    """[Pacific 3.1] Not even an HQ, and the HQ still copies the kind later."""
    block = [
        {"op": "place", "at": "japan", "tokens": {"fish": {"count": "balloon", "at": "all"}}},
        {"op": "place", "at": "japan", "tokens": {"fish": 1}},
    ]
    _, end = done(block, "japan 1 hq", active="grand_opening")
    assert outcome(end) == "$4 japan 2 fish 1 hq"


def test_a_bound_set_counts_the_areas_found() -> None:
    """[P-45] Those of the line before, not those that would pass now."""
    block = [
        {"op": "place", "at": {"each": {"empty": True}}, "tokens": {"fish": 1}, "bind": "s"},
        {"op": "gain", "amount": {"times": [10, {"size_of": "s"}]}},
    ]
    assert done(block, "japan 1 fish")[1].holdings.money == 40


def test_there_is_judged_after_the_placement() -> None:
    """[P-45] Widget Factory counts the new factory and what an HQ adds to it."""
    _, end = played("widget_factory", player("california 1 hq"), "area california", "factories")
    assert outcome(end) == "$2 california 2 factory 1 hq"


def test_lose_one_may_be_a_token_just_placed() -> None:
    """[P-44] Wherever no narrower range is named."""
    _, end = played("car_factory", player("peru 1 hotel"), "remove 1 factory japan")
    assert outcome(end) == "$1 japan 1 factory / peru 1 hotel"


@pytest.mark.parametrize(
    ("card_id", "words", "said", "end"),
    [
        ("migration", "japan 1 hotel / peru 1 fish", ("area japan", "move from california"), "$1 japan 1 hotel 1 boat"),
        ("casinos", "peru 1 hotel", ("area japan",), "$0"),
        ("crunch_time", "japan 1 hotel", ("area california",), "$0 japan 1 hotel"),
        ("more_of_the_same", "japan 1 hotel", ("area california",), "$0 japan 1 hotel"),
    ],
)
def test_an_area_may_be_chosen_in_which_nothing_happens(card_id: str, words: str, said: Any, end: str) -> None:
    """[P-47] The area is chosen, the rest is as much as can be."""
    assert outcome(played(card_id, player(words), *said)[1]).startswith(end)


def test_parts_are_done_in_the_players_order() -> None:
    """[P-42] The area first, then the two halves of Disperse, either one before the other."""
    place = {"op": "place", "at": "japan", "tokens": {"boat": 1}}
    block = [{"op": "any_order", "parts": [[place], [{"op": "gain", "amount": {"count": "boat", "at": "all"}}]]}]
    assert question(block) == PickOrder(2)
    assert [done(block, "", said)[1].holdings.money for said in ("order 0 1", "order 1 0")] == [1, 0]
    _, end = played("disperse", player(), "area japan", "order 1 0")
    assert outcome(end) == "$0 japan 1 boat"


def test_all_kinds_are_noted_before_they_are_doubled() -> None:
    """[P-48] One batch with one token of each kind present."""
    events, end = played("more_of_the_same", player("japan 3 fish 1 balloon 1 hq"), "area japan")
    assert only(TokensPlaced, events)[0].tokens == Tokens(fish=1, balloon=1, hq=1)
    assert outcome(end) == "$0 japan 5 fish 3 balloon 3 hq"


@pytest.mark.parametrize(
    ("count", "options", "bounds"),
    [
        ({"exactly": 2}, "2 fish japan, 1 boat japan", (2, 2)),
        ({"exactly": 9}, None, None),
        ({"up_to": 2}, "2 fish japan, 1 boat japan", (0, 2)),
        ({"up_to": 9}, "2 fish japan, 1 boat japan", (0, 3)),
        ("any", "2 fish japan, 1 boat japan", (0, 3)),
        ("all", None, None),
    ],
)
def test_a_count_says_how_many(count: Any, options: str | None, bounds: tuple[int, int] | None) -> None:
    """[P-15] Only `up_to` and `any` may be declined; what leaves no choice is not asked."""
    asked = question([{"op": "remove", "what": "any", "count": count, "from": "japan"}])
    expected = None if options is None or bounds is None else PickRemovals(TokenChoice(picks(options), *bounds))
    assert asked == expected


@pytest.mark.parametrize("count", [{"exactly": 9}, "all"])
def test_what_leaves_no_choice_is_done(count: Any) -> None:
    """[P-14] As much as there is."""
    events, _ = done([{"op": "remove", "what": "any", "count": count, "from": "japan"}])
    assert [(event.kind, event.n) for event in only(TokensRemoved, events)] == [(Kind.FISH, 2), (Kind.BOAT, 1)]


@pytest.mark.parametrize("op", ["remove", "move", "replace"])
def test_nothing_is_asked_where_there_is_nothing(op: str) -> None:
    """[P-14] Not even whether to decline."""
    fields: dict[str, dict[str, Any]] = {
        "remove": {"what": "balloon", "count": "any", "from": "anywhere"},
        "move": {"what": "balloon", "count": "any", "from": {"choose": {}}, "to": "japan"},
        "replace": {"what": ["balloon"], "count": "any", "at": "anywhere", "with": {"fish": 1}},
    }
    assert question([{"op": op, **fields[op]}]) is None


def test_a_removed_number_can_be_counted() -> None:
    """[Pacific 3.3] `bind` on `remove`; what was not there does not count."""
    block = [
        {"op": "remove", "what": "fish", "count": {"exactly": 9}, "from": "anywhere", "bind": "r"},
        {"op": "gain", "amount": {"size_of": "r"}},
    ]
    assert outcome(done(block)[1]) == "$7 japan 1 boat / california 3 hotel / peru 1 hq"


def test_one_removal_per_area() -> None:
    """[Pacific 3.6] Any kind, at most one of each area."""
    asked = question([{"op": "remove", "what": "fish", "count": "any", "per": "area", "from": "anywhere"}])
    assert asked == PickRemovals(TokenChoice(picks("2 fish japan, 1 fish peru, 4 fish coral_sea"), 0, 3, Per.AREA))


def test_moves_from_elsewhere_take_from_every_other_area() -> None:
    """[P-17] All but the destination."""
    asked = question([{"op": "move", "what": "fish", "count": {"up_to": 3}, "from": "elsewhere", "to": "japan"}])
    choice = TokenChoice(picks("1 fish peru, 4 fish coral_sea"), 0, 3)
    assert asked == PickMoves((MoveSource(None, choice),), (Area.JAPAN,), False, False, True)


def test_a_move_with_one_way_is_not_asked() -> None:
    """[Pacific 3.7] One source, one destination, all tokens."""
    block = [{"op": "move", "what": "fish", "count": {"exactly": 2}, "from": "japan", "to": "peru"}]
    events, _ = done(block)
    assert [(event.kind, event.n, event.destination) for event in only(TokensMoved, events)] == [
        (Kind.FISH, 2, Area.PERU)
    ]


def test_source_and_destination_always_differ() -> None:
    """[Pacific 3.5] A fixed move to the area itself moves nothing; a chosen one is refused."""
    assert question([{"op": "move", "what": "any", "count": "any", "from": "japan", "to": "japan"}]) is None
    asked = question([{"op": "move", "what": "fish", "count": "all", "from": {"choose": {}}, "to": "japan"}])
    assert [source.area for source in asked.sources] == [area for area in AREAS if area is not Area.JAPAN]


def test_one_token_of_each_kind_may_move() -> None:
    """[Pacific 3.5] `per: kind`, from whichever area."""
    block = [{"op": "move", "what": "any", "count": "all", "per": "kind", "from": "elsewhere", "to": "polynesia"}]
    _, end = done(block, "japan 2 fish / california 1 fish 1 boat", "move 1 fish california, 1 boat california")
    assert outcome(end) == "$0 japan 2 fish / polynesia 1 fish 1 boat"


def test_tokens_advance_all_at_once() -> None:
    """[Pacific 3.3] None moves twice."""
    events, end = done([{"op": "advance", "what": "fish"}], "japan 1 fish / california 2 fish / coral_sea 3 fish")
    assert outcome(end) == "$0 japan 3 fish / california 1 fish / peru 2 fish"
    assert {event.cause for event in only(TokensMoved, events)} == {MoveCause.ADVANCE}


def test_hqs_advance_with_what_they_remember() -> None:
    """[Pacific 3.5] Each one area, none of them twice."""
    block = [{"op": "place", "at": "california", "tokens": {"fish": 1}}, {"op": "advance", "what": "hq"}]
    _, end = done(block, "japan 1 hq / california 1 hq")
    assert [(hq.area, hq.used) for hq in end.holdings.hqs] == [
        (Area.CALIFORNIA, ()),
        (Area.PERU, (Kind.FISH,)),
    ]


def test_frozen_fish_do_not_advance() -> None:
    """[P-31] Breeding Program before Trade Winds: no fish swim at all."""
    seat = player("japan 2 fish", active="make_the_rounds")
    _, end = played("breeding_program trade_winds", seat)
    assert outcome(end) == "$0 japan 3 fish / california 1 fish / peru 1 fish / polynesia 1 fish / coral_sea 1 fish"


def test_frozen_fish_may_be_moved_by_cards() -> None:
    """[P-31] The cards speak of what fish do by themselves."""
    block = [{"op": "freeze_fish"}, {"op": "move", "what": "fish", "count": "all", "from": "japan", "to": "peru"}]
    assert outcome(done(block, "japan 2 fish")[1]) == "$0 peru 2 fish"


def test_picked_areas_are_run_in_the_order_named() -> None:
    """[Pacific 3.3] Out of those neither skipped nor run before."""
    block = [{"op": "skip_run", "area": "peru"}, {"op": "run", "areas": {"pick": 2}}]
    assert question(block) == PickRunAreas((Area.JAPAN, Area.CALIFORNIA, Area.POLYNESIA, Area.CORAL_SEA), 2)
    events, _ = done(block, MAT, "run coral_sea japan")
    assert [event.area for event in only(AreaRunStarted, events)] == ["coral_sea", "japan"]


def test_when_fewer_areas_are_left_all_are_run() -> None:
    """[Pacific 3.7] In an order that the player names, unless one is left."""
    skips = [{"op": "skip_run", "area": area} for area in ("japan", "peru", "polynesia")]
    run = {"op": "run", "areas": {"pick": 3}}
    assert question([*skips, run]) == PickRunAreas((Area.CALIFORNIA, Area.CORAL_SEA), 2)
    skips.append({"op": "skip_run", "area": "coral_sea"})
    assert [event.area for event in only(AreaRunStarted, done([*skips, run])[0])] == ["california"]
    skips.append({"op": "skip_run", "area": "california"})
    assert only(AreaRunStarted, done([*skips, run])[0]) == []


def test_replacing_any_number_may_be_declined() -> None:
    """[P-15] All kinds listed may be named, in all areas."""
    block = [{"op": "replace", "what": ["fish", "boat"], "count": "any", "at": "anywhere", "with": {"hotel": 2}}]
    options = picks("2 fish japan, 1 boat japan, 1 fish peru, 4 fish coral_sea")
    assert question(block) == PickReplacements(TokenChoice(options, 0, 8), Tokens(hotel=2))
    assert outcome(done(block, "japan 1 fish", "replace")[1]) == "$0 japan 1 fish"


def test_replacing_all_is_not_asked() -> None:
    """[Pacific 3.6] Area by area, each with one batch."""
    block = [{"op": "replace", "what": ["fish"], "count": "all", "at": "anywhere", "with": {"hotel": 1, "boat": 1}}]
    events, end = done(block, "japan 2 fish / peru 1 fish")
    assert [event.tokens for event in only(TokensPlaced, events)] == [Tokens(hotel=2, boat=2), Tokens(hotel=1, boat=1)]
    assert outcome(end) == "$0 japan 2 hotel 2 boat / peru 1 hotel 1 boat"
