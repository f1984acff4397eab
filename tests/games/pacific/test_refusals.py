"""Refusals: what forbids a command, in which words [Pacific 7], and that nothing has changed then."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.api.match.v1 import errors_pb2 as shared
from promontory.api.pacific.v1 import errors_pb2
from promontory.games.kernel import Rejected
from promontory.games.pacific.commands import AnswerDecision, Choose, Command, PutOut, SetExplicitRuns, SetupPlace
from promontory.games.pacific.decisions import AreaPick, FactoryRun, Moves, Removals, Step, SteppedRun
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.tokens import TokenPick, Tokens
from promontory.games.pacific.vocabulary import Area, Kind
from tests.support.pacific import (
    BENCH,
    BLIND,
    GAME,
    answer,
    answers,
    begun,
    choosing,
    decide,
    executing,
    given,
    open_decision,
    player,
    putting_out,
    resign,
    set_up,
    state_after,
)


def three(hand: str = "spas port") -> State:
    """Return a game for three in which cards are to be put out."""
    return putting_out(player(hand=hand), player(hand="dugongs"), player(hand="sharks"))


def asking(card_id: str, words: str = "", *said: str, **fields: str) -> State:
    """Return a game in which seat 0, with the mat `words`, executes a card and has answered so far."""
    state = executing([card_id], player(words, **fields), game=BENCH)
    return answers(state, *said, game=BENCH)[1]


@pytest.mark.parametrize(
    ("state", "command", "phase"),
    [
        (begun(2), PutOut(0, "spas"), "setup_place"),
        (begun(3), set_up(0, "japan", "peru"), "put_out_first"),
        (begun(3), Choose(0, (0,)), "put_out_first"),
        (begun(3), AnswerDecision(0, 1, AreaPick(Area.PERU)), "put_out_first"),
        (choosing(Player(), Player(), Player(), table="spas port dugongs"), PutOut(0, "spas"), "choose"),
        (asking("fishing"), Choose(1, (0,)), "execute"),
    ],
)
def test_a_command_of_another_phase(state: State, command: Command, phase: str) -> None:
    """[Pacific 2.1] `wrong_phase`."""
    given(state).when(command).refused("WRONG_PHASE", rule="Pacific 2.1", phase=phase)


def test_a_card_that_does_not_exist() -> None:
    """[Pacific 7] `unknown_card`, whatever the phase; a long name is cut short."""
    given(begun(2)).when(PutOut(0, "x" * 100)).refused("UNKNOWN_CARD", rule="Pacific 2.2", cardId="x" * 64)


def test_a_card_of_somebody_else() -> None:
    """[Pacific 7] `not_in_hand`: the same for a card of another hand and one of the deck."""
    for card_id in ("dugongs", "octopus"):
        given(three()).when(PutOut(0, card_id)).refused("NOT_IN_HAND", rule="Pacific 2.2", cardId=card_id)


@pytest.mark.parametrize("seat", [-1, 3])
def test_a_seat_that_does_not_exist(seat: int) -> None:
    """[Pacific 1.4] There are as many as players."""
    given(three()).when(PutOut(seat, "spas")).refused("SEAT_OUT_OF_RANGE", rule="Pacific 1.4", seat=seat)


@pytest.mark.parametrize("number", [0, 2])
def test_another_decision_than_the_open_one(number: int) -> None:
    """[Pacific 3.7] `not_your_decision`, also for one that was answered before."""
    state = asking("giant_squid", "", "area japan") if number == 0 else asking("giant_squid")
    command = AnswerDecision(0, 1 if number == 0 else number, AreaPick(Area.PERU))
    given(state).when(command).refused("NOT_YOUR_DECISION", rule="Pacific 3.7")


def test_a_seat_without_a_decision() -> None:
    """[Pacific 3.7] `not_your_decision`: who has executed everything is asked nothing."""
    given(asking("fishing", "", "area peru")).when(AnswerDecision(0, 1, AreaPick(Area.PERU))).refused(
        "NOT_YOUR_DECISION", rule="Pacific 2.1"
    )


@pytest.mark.parametrize(
    ("state", "said", "refusal"),
    [
        (asking("fishing"), "arrow japan_california", ("MALFORMED", "Pacific 3.7", {"expected": "AreaPick"})),
        (asking("direct_flight"), "area japan", ("MALFORMED", "Pacific 3.7", {"expected": "ArrowPick"})),
        (
            asking("run_japan", "japan 1 factory 1 fish"),
            "fetch",
            ("MALFORMED", "Pacific 3.7", {"expected": "FactoryRun"}),
        ),
        (asking("tokyo_branch"), "area japan", ("AREA_NOT_ALLOWED", "Pacific 3.2", {"area": "japan"})),
        (asking("disperse", "", "area japan"), "order 0 0", ("MALFORMED", "Pacific 3.7", {})),
        (asking("disperse", "", "area japan"), "order 0", ("MALFORMED", "Pacific 3.7", {})),
        (asking("disperse", "", "area japan"), "order 0 2", ("MALFORMED", "Pacific 3.7", {})),
        (asking("oversee"), "run japan", ("WRONG_NUMBER", "Pacific 3.3", {"required": 2})),
        (asking("oversee"), "run japan japan", ("SAME_AREA", "Pacific 3.3", {"area": "japan"})),
        (asking("oversee"), "run japan peru coral_sea", ("WRONG_NUMBER", "Pacific 3.3", {"required": 2})),
    ],
)
def test_an_answer_that_does_not_fit_its_question(state: State, said: str, refusal: Any) -> None:
    """[Pacific 3.7] `malformed`, `area_not_allowed`, `wrong_number`, `same_area`."""
    reason, rule, details = refusal
    given(state, game=BENCH).said(said).refused(reason, rule=rule, **details)


RELOCATE = ("relocate", "japan 2 fish / peru 1 hotel")


@pytest.mark.parametrize(
    ("state", "said", "refusal"),
    [
        (asking(*RELOCATE), "move 1 fish japan from japan to japan", ("SAME_AREA", {"area": "japan"})),
        (asking(*RELOCATE), "move 1 hotel peru from japan to peru", ("AREA_NOT_ALLOWED", {"area": "peru"})),
        (
            asking(*RELOCATE),
            "move 3 fish japan from japan to peru",
            ("NOT_ENOUGH_TOKENS", {"kind": "fish", "area": "japan"}),
        ),
        (
            asking(*RELOCATE),
            "move 1 hq japan from japan to peru",
            ("NOT_ENOUGH_TOKENS", {"kind": "hq", "area": "japan"}),
        ),
        (asking("migration", "japan 1 fish", "area peru"), "move from peru", ("AREA_NOT_ALLOWED", {"area": "peru"})),
        (asking("seagulls", "japan 1 fish 1 boat"), "move 1 boat japan", ("KIND_NOT_ALLOWED", {"kind": "boat"})),
        (asking("seagulls", "japan 1 fish"), "move 1 fish california", ("AREA_NOT_ALLOWED", {"area": "california"})),
        (asking("head_west", "japan 2 fish"), "move 2 fish japan", ("TOO_MANY", {"most": 1})),
        (asking("yachts", "japan 1 fish / peru 1 fish"), "move 1 fish japan, 1 fish peru", ("TOO_MANY", {"most": 1})),
        (asking("run_japan", "japan 1 port / peru 1 hq 1 fish"), "fetch hq peru", ("KIND_NOT_ALLOWED", {"kind": "hq"})),
        (
            asking("run_japan", "japan 1 port 1 fish / peru 1 fish"),
            "fetch fish japan",
            ("AREA_NOT_ALLOWED", {"area": "japan"}),
        ),
    ],
)
def test_tokens_that_may_not_be_taken(state: State, said: str, refusal: Any) -> None:
    """[Pacific 3.5] `same_area`, `area_not_allowed`, `kind_not_allowed`, `not_enough_tokens`, `too_many`."""
    reason, details = refusal
    given(state, game=BENCH).said(said).refused(reason, rule="Pacific 3.5", **details)


@pytest.mark.parametrize(
    ("state", "said", "refusal"),
    [
        (asking("relocate", "japan 4 fish"), "move 4 fish japan from japan to peru", ("TOO_MANY", {"most": 3})),
        (asking("pet_rocks", "japan 2 fish 1 boat"), "remove 2 fish japan", ("TOO_MANY", {"most": 1})),
        (asking("pet_rocks", "japan 2 fish 1 boat"), "remove", ("TOO_FEW", {"fewest": 1})),
        (asking("run_japan", "japan 1 port / peru 2 fish"), "fetch fish peru, fish peru", ("TOO_MANY", {"most": 1})),
    ],
)
def test_too_many_or_too_few_tokens(state: State, said: str, refusal: Any) -> None:
    """[Pacific 3.1] `too_many`, `too_few`."""
    reason, details = refusal
    given(state, game=BENCH).said(said).refused(reason, rule="Pacific 3.1", **details)


@pytest.mark.parametrize("said", ["move 1 fish japan", "move 1 fish japan from japan", "move 1 fish japan to peru"])
def test_ends_of_a_move_must_be_named(said: str) -> None:
    """[Pacific 3.7] They may be left out only when nothing moves."""
    given(asking(*RELOCATE)).said(said).refused("MALFORMED", rule="Pacific 3.7")


@pytest.mark.parametrize("said", ["move 1 fish japan from japan", "move 1 fish japan to california"])
def test_ends_that_are_fixed_must_not_be_named(said: str) -> None:
    """[Pacific 3.7] Seagulls brings fish from anywhere to California."""
    given(asking("seagulls", "japan 1 fish")).said(said).refused("MALFORMED", rule="Pacific 3.7")


@pytest.mark.parametrize(
    "picked",
    [
        (TokenPick(Kind.FISH, Area.JAPAN, 0),),
        (TokenPick(Kind.FISH, Area.JAPAN, -1), TokenPick(Kind.BOAT, Area.JAPAN, 1)),
        (TokenPick(Kind.FISH, Area.JAPAN, 1), TokenPick(Kind.FISH, Area.JAPAN, 1)),
    ],
)
def test_tokens_are_named_once_and_by_one_or_more(picked: tuple[TokenPick, ...]) -> None:
    """[Pacific 3.7] `malformed`."""
    for card_id, said in (("liquidate", Removals(picked)), ("seagulls", Moves(picked))):
        state = asking(card_id, "japan 3 fish 1 boat")
        given(state).when(AnswerDecision(0, 1, said)).refused("MALFORMED", rule="Pacific 3.7")


@pytest.mark.parametrize(
    ("steps", "refusal"),
    [
        ((Step(Kind.HOTEL, 3),), ("NOTHING_PENDING", {"kind": "hotel"})),
        ((Step(Kind.HOTEL, 2), Step(Kind.HOTEL, 1)), ("NOTHING_PENDING", {"kind": "hotel"})),
        ((Step(Kind.FACTORY), Step(Kind.FACTORY)), ("NOTHING_PENDING", {"kind": "factory"})),
        ((Step(Kind.FACTORY, 1, Tokens(hotel=2)), Step(Kind.HOTEL)), ("NOTHING_PENDING", {"kind": "hotel"})),
        ((Step(Kind.HATCHERY),), ("NOTHING_PENDING", {"kind": "hatchery"})),
        ((Step(Kind.PORT),), ("KIND_NOT_ALLOWED", {"kind": "port"})),
        ((Step(Kind.HQ),), ("KIND_NOT_ALLOWED", {"kind": "hq"})),
        ((Step(Kind.HOTEL, 0),), ("MALFORMED", {})),
        ((Step(Kind.FACTORY, 2),), ("MALFORMED", {})),
        ((Step(Kind.HOTEL, 1, Tokens()),), ("MALFORMED", {})),
        ((Step(Kind.FACTORY, 1, Tokens(fish=-1, hotel=1)),), ("MALFORMED", {})),
    ],
)
def test_steps_that_cannot_be_done(steps: tuple[Step, ...], refusal: Any) -> None:
    """[Pacific 4.3] `nothing_pending`, `kind_not_allowed`, `malformed`."""
    reason, details = refusal
    state = asking("run_japan", "japan 2 hotel 1 factory 1 hq")
    given(state, game=BENCH).when(AnswerDecision(0, 1, SteppedRun(steps))).refused(
        reason, rule="Pacific 4.3", **details
    )


def test_removals_of_less_than_nothing() -> None:
    """[Pacific 4.3] `malformed`, so that no money can be made with them."""
    state = asking("run_japan", "japan 2 hotel 1 factory")
    said = FactoryRun((Tokens(hotel=2, fish=-2),))
    given(state, game=BENCH).when(AnswerDecision(0, 1, said)).refused("MALFORMED", rule="Pacific 4.3")


def test_cards_that_were_not_chosen_cannot_be_ordered() -> None:
    """[Pacific 3.7] `malformed`."""
    state = executing(["dugongs", "spas"], player(active="make_the_rounds"))
    for said in ("cards dugongs", "cards dugongs port", "cards dugongs dugongs"):
        given(state).said(said).refused("MALFORMED", rule="Pacific 3.7")


def test_a_refused_answer_changes_nothing() -> None:
    """[Pacific 3.7] It is checked as a whole: the good part of it is not done either."""
    state = asking("liquidate", "japan 2 fish / peru 1 fish")
    decision = open_decision(state)
    assert decision is not None
    command = AnswerDecision(0, decision.decision_id, answer("remove 1 fish japan, 1 boat peru"))
    with pytest.raises(Rejected):
        decide(state, command)
    assert (open_decision(state), state.players[0].holdings.mat[0].fish) == (decision, 2)


REASONS = {value.removeprefix("REFUSAL_REASON_") for value in errors_pb2.RefusalReason.DESCRIPTOR.values_by_name} - {
    "UNSPECIFIED"
}
SHARED = {value.removeprefix("ERROR_REASON_") for value in shared.ErrorReason.DESCRIPTOR.values_by_name}


def test_the_reasons_of_the_sheet_are_all_there() -> None:
    """[Pacific 7] And one for seats that have resigned."""
    sheet = (
        "wrong_phase not_your_decision unknown_card not_in_hand bad_slot own_card_required wrong_number same_area "
        "area_not_allowed kind_not_allowed not_enough_tokens too_many too_few nothing_pending unused_removal_list "
        "malformed"
    )
    assert {*sheet.upper().split(), "SEAT_RESIGNED"} == REASONS


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (three(), PutOut(0, "octopus")),
        (three(), PutOut(9, "spas")),
        (state_after(begun(3), resign(0)), SetExplicitRuns(0, on=True)),
        (state_after(begun(2), resign(0)), SetupPlace(1, Area.JAPAN, Area.PERU)),
    ],
)
def test_every_reason_is_listed_for_clients(state: State, command: Command) -> None:
    """[Pacific 7] In the game's own list or in the one that all games share."""
    with pytest.raises(Rejected) as refusal:
        GAME.decide(state, command, BLIND)
    assert refusal.value.reason in REASONS | SHARED
