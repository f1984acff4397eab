"""Running areas: when, in which order, and what is asked [Pacific 4]."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.games.kernel import Rejected
from promontory.games.pacific.answers import all_answers
from promontory.games.pacific.commands import AnswerDecision, SetExplicitRuns
from promontory.games.pacific.decisions import FactoryRun, Ports, RunArea, Step, SteppedRun, TokenChoice
from promontory.games.pacific.events import AreaRunEnded, AreaRunStarted, MoneyGained, TokensMoved, TokensPlaced
from promontory.games.pacific.state import State
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import Area, GainCause, Kind, MoveCause
from tests.support.pacific import (
    BENCH,
    answers,
    executing,
    given,
    only,
    open_decision,
    outcome,
    picks,
    played,
    player,
    state_after,
)


def running(area: str, words: str, **fields: Any) -> State:
    """Return a game in which seat 0 runs an area of the mat `words`, at its first decision."""
    return executing([f"run_{area}"], player(words, **fields), game=BENCH)


def question(area: str, words: str, **fields: Any) -> Any:
    """Return what is asked first when an area is run."""
    decision = open_decision(running(area, words, **fields))
    return None if decision is None else decision.question


def end(area: str, words: str, *said: str, **fields: Any) -> str:
    """Return money and mat after the run of an area."""
    return outcome(played(f"run {area}", player(words, **fields), *said)[1])


# When an area is run


def test_areas_run_in_ring_order_and_tokens_act_again_where_they_arrive() -> None:
    """[Pacific 4.1] Fish can swim through several areas in one turn; Coral Sea's come to a Japan that has run."""
    events, mat = played("seagulls", player("coral_sea 1 fish", paths="japan_california california_peru"), "move")
    assert [event.area for event in only(AreaRunStarted, events)] == ["japan", "california", "peru", "coral_sea"]
    assert outcome(mat) == "$1 japan 1 fish / california 1 boat / polynesia 1 fish"


def test_a_run_is_framed_by_events() -> None:
    """[Pacific 4.2] Also one of an area without tokens."""
    events, _ = played("run peru", player())
    assert events[:2] == [AreaRunStarted(0, Area.PERU), AreaRunEnded(0, Area.PERU)]


@pytest.mark.parametrize(
    ("cards", "areas"),
    [("make_the_rounds octopus", ["japan", "peru", "coral_sea"]), ("oversee spas", ["peru", "japan", "polynesia"])],
)
def test_an_area_runs_once_a_turn(cards: str, areas: list[str]) -> None:
    """[P-30] Whatever else would run it."""
    said = ["run peru japan"] if cards.startswith("oversee") else []
    words = "japan 1 hotel / peru 1 hotel" if said else "japan 3 hotel / peru 3 hotel"
    events, _ = played(cards, player(words, active="make_the_rounds"), *said)
    assert [event.area for event in only(AreaRunStarted, events)] == areas


def test_each_area_is_judged_when_its_turn_comes() -> None:
    """[P-30] Fish that swim on make the next area eligible."""
    events, _ = played("make_the_rounds", player("japan 1 fish"))
    assert [event.area for event in only(AreaRunStarted, events)] == list(Area)


@pytest.mark.parametrize(
    ("cards", "words", "result"),
    [
        ("island_resort", "polynesia 1 hotel", "$0 polynesia 4 hotel"),
        ("bottling_factory make_the_rounds", "peru 1 hotel", "$0 peru 1 hotel 2 factory"),
        ("bottling_factory oversee", "peru 1 hotel", "$0 peru 1 hotel 2 factory"),
    ],
)
def test_a_skipped_area_is_not_run_by_whatever_cause(cards: str, words: str, result: str) -> None:
    """[P-32] For the rest of the turn."""
    said = ["run japan california"] if "oversee" in cards else []
    active = "make_the_rounds" if " " in cards else ""
    assert outcome(played(cards, player(words, active=active, paths="california_peru"), *said)[1]) == result


# What tokens do


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("japan 3 hotel", "$3 japan 3 hotel"),
        ("japan 3 fish", "$0 california 3 fish"),
        ("japan 2 fish 3 boat", "$6 japan 3 boat / california 2 fish"),
        ("japan 1 factory", "$0 japan 1 factory"),
        ("japan 1 hatchery", "$0 japan 1 hatchery / california 2 fish"),
        ("japan 2 hatchery 1 boat", "$4 japan 1 boat 2 hatchery / california 4 fish"),
        ("japan 1 balloon", "$15 california 1 balloon"),
        ("japan 2 port", "$0 japan 2 port"),
        ("japan 2 hq", "$0 japan 2 hq"),
    ],
)
def test_a_kind_acts_when_its_area_is_run(words: str, result: str) -> None:
    """[Pacific 4.4] Every token once; Ports without anything to fetch and HQs do nothing."""
    assert end("japan", words) == result


def test_the_default_order_makes_the_most_money() -> None:
    """[Pacific 4.3] Ports, Hatcheries, hotels, boats, factories, fish, Balloons."""
    words = "japan 1 fish 1 hotel 1 factory 1 boat 1 hatchery 1 port 1 balloon / peru 1 boat"
    events, _ = played("run japan", player(words), "fetch boat peru", "factories")
    gains = [(event.cause, event.amount) for event in only(MoneyGained, events)]
    assert gains == [(GainCause.HOTEL, 1), (GainCause.BOAT, 6), (GainCause.BALLOON, 15)]
    moved = [(event.kind, event.n, event.cause) for event in only(TokensMoved, events)]
    assert moved == [(Kind.BOAT, 1, MoveCause.PORT), (Kind.FISH, 3, MoveCause.RUN), (Kind.BALLOON, 1, MoveCause.RUN)]


def test_newcomers_act_in_the_same_run() -> None:
    """[P-27] Hatchery fish, HQ extras, hotels of Upgrade, and what a Port fetches; each token once."""
    words = "japan 1 hatchery 1 port 1 hq / peru 1 hotel"
    assert end("japan", words, "fetch hotel peru", active="upgrade") == (
        "$6 japan 6 hotel 1 hatchery 1 port 1 hq / california 3 fish"
    )


def test_an_hq_gives_one_extra_fish_and_not_one_per_hatchery() -> None:
    """[P-26] The extra fish swims on as well."""
    assert end("japan", "japan 2 hatchery 1 hq") == "$0 japan 2 hatchery 1 hq / california 5 fish"


# Ports


@pytest.mark.parametrize(
    ("words", "options", "most"),
    [
        ("japan 1 port / peru 2 fish 1 hq", "2 fish peru", 1),
        ("japan 3 port / peru 1 fish / california 2 hotel", "2 hotel california, 1 fish peru", 3),
        ("japan 3 port / peru 1 fish", "1 fish peru", 1),
        ("japan 2 port 3 boat / peru 1 factory 1 boat", "1 factory peru, 1 boat peru", 2),
    ],
)
def test_each_port_may_fetch_one_basic_token(words: str, options: str, most: int) -> None:
    """[P-25] From any of the four other areas; it may be declined."""
    assert question("japan", words) == Ports(Area.JAPAN, TokenChoice(picks(options), 0, most))


@pytest.mark.parametrize("words", ["japan 1 port 2 fish", "japan 1 port / peru 1 hatchery 1 port 1 balloon 1 hq"])
def test_a_port_with_nothing_to_fetch_is_not_asked(words: str) -> None:
    """[P-25] Special tokens cannot be fetched."""
    assert question("japan", words) is None


def test_ports_come_before_all_other_abilities() -> None:
    """[P-25] Even before Hatcheries; what they fetch is moved, not placed."""
    seat = player("japan 1 port 1 hatchery 1 hq / peru 1 hotel")
    events, mat = played("run japan", seat, "fetch hotel peru")
    kinds = [type(event) for event in events]
    assert kinds.index(TokensMoved) < kinds.index(TokensPlaced)
    assert outcome(mat) == "$1 japan 1 hotel 1 hatchery 1 port 1 hq / california 3 fish"


def test_a_port_may_bring_back_a_fish_that_has_just_swum_away() -> None:
    """[Pacific 4.4] And it swims again."""
    seat = player("japan 1 fish / california 1 port 1 boat", paths="japan_california california_peru")
    _, mat = played("killer_whales", seat, "fetch")
    assert mat.holdings.mat[Area.POLYNESIA.place].fish == 3
    _, mat = played("run california", player("california 1 port 1 boat / peru 1 fish"), "fetch fish peru")
    assert outcome(mat) == "$1 california 1 boat 1 port / peru 1 fish"


def test_a_port_does_not_fetch_what_another_has_fetched() -> None:
    """[P-25] Two Ports, one token: it can be named once."""
    state = running("japan", "japan 2 port / peru 1 fish")
    given(state, game=BENCH).said("fetch fish peru, fish peru").refused(
        "NOT_ENOUGH_TOKENS", rule="Pacific 3.5", kind="fish", area="peru"
    )


# Factories


@pytest.mark.parametrize(
    ("words", "answer", "result"),
    [
        ("japan 1 factory 3 hotel", "factories 3 hotel", "$9 japan 1 factory"),
        ("japan 1 factory 1 fish", "factories 1 fish", "$2 japan 1 factory"),
        ("japan 1 factory 1 hatchery", "factories 2 fish 1 hatchery", "$6 japan 1 factory"),
        ("japan 1 factory 1 port 1 balloon 1 hq", "factories 1 port 1 balloon 1 hq", "$6 japan 1 factory"),
        ("japan 2 factory", "factories 1 factory", "$2 japan 1 factory"),
        ("japan 3 factory", "factories 2 factory", "$4 japan 1 factory"),
        ("japan 3 factory", "factories - / 1 factory / 1 factory", "$4 japan 1 factory"),
        ("japan 3 factory", "factories 1 factory / 1 factory", "$4 japan 1 factory"),
        ("japan 2 factory 1 hotel", "factories", "$1 japan 1 hotel 2 factory"),
    ],
)
def test_a_factory_removes_up_to_three_other_tokens(words: str, answer: str, result: str) -> None:
    """[P-28] Of any kind, acted or not, other factories too; one that is removed before it acted does not act."""
    assert end("japan", words, answer) == result


@pytest.mark.parametrize(
    ("words", "answer", "refusal"),
    [
        ("japan 1 factory 4 hotel", "factories 4 hotel", ("TOO_MANY", {"most": 3})),
        ("japan 1 factory 1 hotel", "factories 1 factory", ("NOT_ENOUGH_TOKENS", {"kind": "factory", "area": "japan"})),
        ("japan 1 factory 1 hotel", "factories 2 hotel", ("NOT_ENOUGH_TOKENS", {"kind": "hotel", "area": "japan"})),
    ],
)
def test_a_factory_removes_neither_more_nor_itself(words: str, answer: str, refusal: tuple[str, Any]) -> None:
    """[P-28] Three at most, of what the area holds."""
    reason, details = refusal
    given(running("japan", words), game=BENCH).said(answer).refused(reason, rule="Pacific 4.2", **details)


@pytest.mark.parametrize(
    ("answer", "acting"),
    [("factories 1 factory / -", 1), ("factories - / - / -", 2), ("factories 1 hotel / 1 factory / 1 hotel", 2)],
)
def test_every_list_of_removals_needs_a_factory_that_acts(answer: str, acting: int) -> None:
    """[Pacific 4.3] One for a factory that was removed makes the answer illegal, even an empty one."""
    given(running("japan", "japan 2 factory 3 hotel"), game=BENCH).said(answer).refused(
        "UNUSED_REMOVAL_LIST", rule="Pacific 4.3", factories=acting
    )


def test_a_token_that_has_acted_is_removed_first() -> None:
    """[Pacific 4.2] Never to the player's disadvantage: the second hotel still earns."""
    assert end("japan", "japan 1 factory 2 hotel", "steps 1 hotel, factory 1 hotel") == "$4 japan 1 hotel 1 factory"


def test_a_token_removed_before_it_acted_does_not_act() -> None:
    """[P-28] Nothing else is owed for it."""
    assert end("japan", "japan 1 factory 2 hotel", "steps factory 2 hotel") == "$4 japan 1 factory"


def test_what_factories_will_find_is_told() -> None:
    """[Pacific 4.3] The tokens when they begin to act, after Hatcheries, HQs and Upgrade, and how many act."""
    words = "japan 1 fish 2 factory 1 hatchery 1 hq"
    assert question("japan", words, active="upgrade") == RunArea(
        area=Area.JAPAN,
        pending=Tokens(fish=1, factory=2, hatchery=1),
        removable=Tokens(fish=4, hotel=5, factory=2, hatchery=1, hq=1),
        factories=2,
        fish_stay=False,
    )


def test_a_factory_fetched_by_a_port_acts_in_its_new_area() -> None:
    """[Pacific 4.4] At once, and its decision comes after the Ports'."""
    assert end("japan", "japan 1 port 2 hotel / peru 1 factory", "fetch factory peru", "factories 2 hotel") == (
        "$6 japan 1 factory 1 port"
    )


@pytest.mark.parametrize("words", ["japan 1 factory", "japan 2 hotel 2 boat 2 fish", "japan 1 hatchery 1 balloon"])
def test_nothing_is_asked_when_no_factory_can_remove_anything(words: str) -> None:
    """[Pacific 4.3] The default order makes the most of it."""
    assert question("japan", words) is None


# Step by step


def explicit(area: str, words: str) -> State:
    """Return a game in which a player runs an area and is asked for every run."""
    return executing([f"run_{area}"], replace(player(words), explicit_runs=True), game=BENCH)


@pytest.mark.parametrize(
    ("words", "asked"),
    [("japan 1 hotel", True), ("japan 2 hq", False), ("japan 1 factory", True), ("japan 1 port", False), ("", False)],
)
def test_with_explicit_runs_every_run_in_which_something_acts_is_asked(words: str, asked: bool) -> None:
    """[Pacific 4.3] A personal setting, not a rule."""
    assert (open_decision(explicit("japan", words)) is not None) == asked


@pytest.mark.parametrize(
    ("words", "answer", "result"),
    [
        ("japan 2 fish 1 boat", "steps 2 fish, 1 boat", "$0 japan 1 boat / california 2 fish"),
        ("japan 2 fish 1 boat", "steps 1 fish, 1 boat", "$1 japan 1 boat / california 2 fish"),
        ("japan 1 boat 1 hatchery", "steps 1 boat", "$0 japan 1 boat 1 hatchery / california 2 fish"),
        ("japan 1 boat 1 hatchery", "factories", "$2 japan 1 boat 1 hatchery / california 2 fish"),
        ("japan 2 hatchery", "steps 1 hatchery, 2 fish", "$0 japan 2 hatchery / california 4 fish"),
        ("japan 1 balloon 1 hotel", "steps 1 balloon", "$16 japan 1 hotel / california 1 balloon"),
    ],
)
def test_steps_are_carried_out_in_the_order_given(words: str, answer: str, result: str) -> None:
    """[Pacific 4.3] What is then still pending is done in the default order."""
    _, state = answers(explicit("japan", words), answer, game=BENCH)
    assert outcome(state.players[0]) == result


def test_the_setting_holds_from_the_next_area_on() -> None:
    """[Pacific 4.3] A decision that is open stays so; switching on does not reopen an area."""
    state = executing(["oversee"], player("japan 1 hotel / peru 1 hotel"), game=BENCH)
    state = state_after(state, SetExplicitRuns(0, on=True))
    _, state = answers(state, "run japan peru", game=BENCH)
    assert question_area(state) is Area.JAPAN
    state = state_after(state, SetExplicitRuns(0, on=False))
    assert question_area(state) is Area.JAPAN
    _, state = answers(state, "factories", game=BENCH)
    assert (open_decision(state), outcome(state.players[0])) == (None, "$2 japan 1 hotel / peru 1 hotel")


def question_area(state: State) -> Area | None:
    """Return the area whose run is asked for."""
    decision = open_decision(state)
    return decision.question.area if decision and isinstance(decision.question, RunArea) else None


# Fish that stay


def test_in_a_run_where_fish_stay_all_else_acts() -> None:
    """[P-31] Ports still move fish, Balloons and Hatcheries act as usual; then all fish swim one step."""
    words = "japan 2 fish 1 port 1 boat 1 hatchery 1 balloon / peru 1 fish"
    _, mat = played("trade_winds", player(words), "fetch fish peru")
    assert outcome(mat) == "$20 japan 1 boat 1 hatchery 1 port / california 5 fish 1 balloon"


def test_factories_may_remove_fish_that_stay() -> None:
    """[P-51] Removal is not movement."""
    _, mat = played("trade_winds", player("japan 3 fish 2 factory"), "factories 1 fish / 1 fish")
    assert outcome(mat) == "$4 japan 2 factory / california 1 fish"


def test_fish_that_stay_are_not_pending() -> None:
    """[Pacific 4.2] They cannot be made to act step by step."""
    state = executing(["trade_winds"], player("japan 3 fish 1 factory"))
    decision = open_decision(state)
    assert decision is not None
    assert decision.question == RunArea(
        Area.JAPAN, Tokens(factory=1), Tokens(fish=3, factory=1), factories=1, fish_stay=True
    )
    given(state).said("steps 1 fish").refused("NOTHING_PENDING", rule="Pacific 4.3", kind="fish")


def test_frozen_fish_stay_in_every_run_of_the_turn() -> None:
    """[P-31] Breeding Program; the boats still count them."""
    _, mat = played("breeding_program", player("coral_sea 2 boat 1 hatchery"))
    assert mat.holdings.money == 6
    assert mat.holdings.mat[Area.CORAL_SEA.place] == Tokens(fish=3, boat=2, hatchery=1)


# The default order is enough


SMALL = [
    "japan 1 fish 1 factory 1 boat",
    "japan 1 fish 1 hotel 1 factory 1 boat",
    "japan 2 factory 1 hotel",
    "japan 1 factory 1 balloon 1 hotel",
    "japan 1 factory 1 boat 2 fish",
]


@pytest.mark.parametrize("active", ["", "documentary"])
@pytest.mark.parametrize("words", SMALL)
def test_no_order_makes_more_than_the_default_one(words: str, active: str) -> None:
    """[P-33] Whatever mat an order reaches, the default order reaches too, with at least as much money."""
    state = running("japan", words, active=active)
    asked = question("japan", words, active=active)
    best: dict[str, int] = {}
    for answer in all_answers(asked):
        money, mat = result_of(state, answer) or (0, "")
        best[mat] = max(money, best.get(mat, 0))
    for steps in every_order(asked):
        reached = result_of(state, steps)
        assert reached is None or reached[0] <= best[reached[1]]


def every_order(asked: RunArea) -> set[SteppedRun]:
    """Return every order of the pending tokens, in which factories remove up to two tokens of one kind."""
    waiting = [kind for kind, number in asked.pending.present() for _ in range(number)]
    kinds = [kind for kind, _ in asked.removable.present() if kind is not Kind.FACTORY]
    removals = [None, *(Tokens(**{kind.value: 1}) for kind in kinds)]
    return {
        SteppedRun(tuple(Step(kind, 1, removed if kind is Kind.FACTORY else None) for kind in order))
        for order in permutations(waiting)
        for removed in removals
    }


def result_of(state: State, answer: FactoryRun | SteppedRun) -> tuple[int, str] | None:
    """Return money and mat after an answer, None if it is refused: a token is named that was removed before."""
    decision = open_decision(state)
    assert decision is not None
    try:
        after = state_after(state, AnswerDecision(0, decision.decision_id, answer), game=BENCH)
    except Rejected:
        return None
    money, _, mat = outcome(after.players[0]).partition(" ")
    return int(money[1:]), mat
