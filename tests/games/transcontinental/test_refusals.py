"""Which refusal comes first, and what it tells [Transcontinental 9.1, 9.2]."""

from __future__ import annotations

import pytest

from promontory.games.kernel import Rejected
from promontory.games.transcontinental.commands import Command, DiscardCards, EndWork, PlayMeld, Resign, TrimHand
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.transcontinental import (
    BLIND,
    CP,
    GAME,
    UP,
    card,
    cards,
    discard,
    draw,
    end_work,
    given,
    in_phase,
    meld,
    resign,
    table,
    trim,
)

DECISIONS = [Phase.PLANNING, Phase.WORK, Phase.SURVEYORS, Phase.LOGISTICS]
BY_PHASE: dict[Phase, list[Command]] = {
    Phase.PLANNING: [draw(CP)],
    Phase.WORK: [meld(CP, "W1 W2 W3 W4"), end_work(CP)],
    Phase.SURVEYORS: [discard(CP)],
    Phase.LOGISTICS: [trim(CP, "W1")],
}
OUT_OF_PHASE = [
    (phase, command) for phase in DECISIONS for other in DECISIONS if other is not phase for command in BY_PHASE[other]
]


@pytest.mark.parametrize(("phase", "command"), OUT_OF_PHASE)
def test_a_command_belongs_to_its_phase(phase: Phase, command: Command) -> None:
    """[Transcontinental 9.1] Every command has one, except to resign."""
    given(in_phase(phase, "W1 W2 W3 W4")).when(command).refused(
        "WRONG_PHASE", rule="Transcontinental 3.1", phase=phase.value
    )


@pytest.mark.parametrize("seat", [-1, 2, 7])
def test_a_seat_that_does_not_exist_is_refused(seat: int) -> None:
    """[Transcontinental 2] There are the seats 0 and 1."""
    given(table("D1")).when(Resign(seat)).refused("SEAT_OUT_OF_RANGE", rule="Transcontinental 2", seat=seat)


@pytest.mark.parametrize("command", [PlayMeld, DiscardCards, TrimHand])
@pytest.mark.parametrize("card_id", ["", "W1", "Filling", "promontory", "é"])
def test_an_unknown_card_is_refused_before_turn_and_phase(command: type[PlayMeld], card_id: str) -> None:
    """[Transcontinental 9.2] Only ids name cards, not codes or names."""
    given(table("W1")).when(command(1, (*cards("W1"), card_id))).refused(
        "UNKNOWN_CARD", rule="Transcontinental 9.2", cardId=card_id
    )


def test_a_long_unknown_card_is_quoted_in_part() -> None:
    """[Transcontinental 9.2] 64 characters are enough to recognise it."""
    given(table("W1")).when(DiscardCards(0, ("x" * 1000,))).refused(
        "UNKNOWN_CARD", rule="Transcontinental 9.2", cardId="x" * 64
    )


@pytest.mark.parametrize(
    ("state", "command", "reason"),
    [
        (in_phase(Phase.OVER, "W1"), PlayMeld(5, ("nothing",)), "MATCH_OVER"),
        (table("W1"), PlayMeld(5, ("nothing",)), "SEAT_OUT_OF_RANGE"),
        (table("W1"), PlayMeld(1, ("nothing",)), "UNKNOWN_CARD"),
        (table("W1"), meld(UP, "W1"), "NOT_YOUR_TURN"),
        (table("W1"), meld(CP, "W1"), "WRONG_PHASE"),
        (in_phase(Phase.WORK, "T6 D1"), meld(CP, "T6 T6 D1 M9"), "DUPLICATE_CARD"),
        (in_phase(Phase.WORK, "T6 D1"), meld(CP, "T6 D1 M9"), "CARD_NOT_IN_HAND"),
        (in_phase(Phase.WORK, "T6 D1"), meld(CP, "T6 D1"), "DIFFICULTY_IN_MELD"),
        (in_phase(Phase.WORK, "T6 W1"), meld(CP, "T6 W1"), "RESTRICTED_CARD"),
        (in_phase(Phase.WORK, "W2 W1"), meld(CP, "W2 W1"), "NOT_A_MELD"),
        (in_phase(Phase.SURVEYORS, "W1"), discard(CP, "W1 W1 M1 M2 M3 M4"), "DUPLICATE_CARD"),
        (in_phase(Phase.SURVEYORS, "W1"), discard(CP, "W1 M1 M2 M3 M4 M5"), "CARD_NOT_IN_HAND"),
        (in_phase(Phase.SURVEYORS, "W1 W2 W3 W4 W5 W6"), discard(CP, "W1 W2 W3 W4 W5 W6"), "TOO_MANY_DISCARDS"),
        (in_phase(Phase.LOGISTICS, "W1"), trim(CP, "W1 W1"), "DUPLICATE_CARD"),
        (in_phase(Phase.LOGISTICS, "W1"), trim(CP, "M1 M2"), "CARD_NOT_IN_HAND"),
        (in_phase(Phase.LOGISTICS, "W1 W2"), trim(CP, "W1 W2"), "WRONG_DISCARD_COUNT"),
    ],
)
def test_the_first_failing_check_is_reported(state: State, command: Command, reason: str) -> None:
    """[Transcontinental 9.2] Match over, bad request, turn, phase, then the checks of the command in their order."""
    with pytest.raises(Rejected) as refusal:
        GAME.decide(state, command, BLIND)
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("command", "reason", "card_code"),
    [
        (meld(CP, "W2 W1 W2 W1"), "DUPLICATE_CARD", "W2"),
        (meld(CP, "W1 M9 M8"), "CARD_NOT_IN_HAND", "M9"),
    ],
)
def test_a_refusal_names_the_first_card_at_fault(command: Command, reason: str, card_code: str) -> None:
    """[Transcontinental 9.2] In the order of the command."""
    given(in_phase(Phase.WORK, "W1 W2")).when(command).refused(
        reason, rule="Transcontinental 9.2", cardId=card(card_code).id
    )


@pytest.mark.parametrize("held", [{"up": "M9"}, {"deck": "M9"}, {"discard": "M9"}])
def test_a_refusal_does_not_tell_where_a_card_is(held: dict[str, str]) -> None:
    """[Transcontinental 9.2] In the other hand, in the deck or on the discard pile: the same words."""
    given(in_phase(Phase.WORK, "W1 W2", **held)).when(meld(CP, "W1 W2 M9")).refused(
        "CARD_NOT_IN_HAND", rule="Transcontinental 9.2", cardId=card("M9").id
    )


@pytest.mark.parametrize("phase", DECISIONS)
def test_resigning_is_bound_to_neither_turn_nor_phase(phase: Phase) -> None:
    """[Transcontinental 9.2] The two checks are not for it."""
    assert given(in_phase(phase, "W1")).when(resign(UP)).then_state(lambda end: end.phase) is Phase.OVER


def test_the_seat_to_act_is_told_where_cp_sits_on_seat_1() -> None:
    """[Transcontinental 3.1] Commands carry seats, not sides."""
    given(table("W1", cp_seat=1)).when(EndWork(0)).refused("NOT_YOUR_TURN", rule="Transcontinental 3.1", toAct=1)


@pytest.mark.parametrize("command", [draw(CP), meld(UP, "W1"), end_work(CP), discard(UP), trim(CP, "W1"), resign(UP)])
def test_a_command_knows_its_seat(command: Command) -> None:
    """[Transcontinental 9.1] Every request carries a seat."""
    assert GAME.seat_of(command) == command.seat


def test_the_game_makes_the_command_to_resign() -> None:
    """[T-28] Which is the same for every seat."""
    assert [GAME.resign(0), GAME.resign(1)] == [Resign(0), Resign(1)]
