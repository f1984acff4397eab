"""What a bot's run says, line by line."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from promontory.client.bot_events import (
    BotEvent,
    BotResult,
    CommandRefused,
    MatchesLeftOpen,
    MatchLeft,
    MatchPlayed,
    MatchStarted,
    Narrator,
    QueueEntered,
    RatingSpan,
)
from promontory.codec.outcomes import CloseReason

POOL = "transcontinental.ranked"
REFUSED = CommandRefused(
    match_id="tc-1",
    version=12,
    phase="work",
    command="PlayMeld(seat=0, card_ids=('a', 'b'))",
    reason="NOT_A_MELD",
    message="the rules refuse it: NOT_A_MELD [Transcontinental 4.1]",
    metadata={"rule": "Transcontinental 4.1", "size": "2"},
    instead="EndWork(seat=0)",
)


def played(*, place: int, shared: bool = False, reason: CloseReason = CloseReason.PLAYED_OUT) -> MatchPlayed:
    return MatchPlayed(
        match_id="tc-1",
        seat=0,
        opponents=("bob",),
        place=place,
        shared=shared,
        scores=(98, 101) if place else (),
        reason=reason,
        commands=70,
        refused=0,
    )


def failing(commands: int, **reasons: int) -> MatchPlayed:
    """A match of so many commands, of which so many were refused for each reason."""
    refused = sum(reasons.values())
    return msgspec.structs.replace(played(place=2), commands=commands, refused=refused, reasons=reasons)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (MatchesLeftOpen(POOL, 0, 0), f"no match was left open in {POOL}"),
        (MatchesLeftOpen(POOL, 1, 1), f"1 match left open in {POOL}, going on with 1"),
        (
            MatchesLeftOpen(POOL, 3, 1),
            f"3 matches left open in {POOL}, going on with 1; --matches 3 goes on with all",
        ),
        (QueueEntered(POOL, 10.0), f"waiting in {POOL}; a house bot comes after 10 s"),
        (QueueEntered(POOL, None), f"waiting in {POOL} for another player"),
        (MatchStarted("tc-1", 1, ("ada",)), "tc-1: started in seat 1 against ada"),
        (
            REFUSED,
            "tc-1: version 12, phase work: PlayMeld(seat=0, card_ids=('a', 'b')) was refused: NOT_A_MELD"
            " [Transcontinental 4.1] (size 2); played EndWork(seat=0) instead",
        ),
        (
            msgspec.structs.replace(REFUSED, phase="", message="no such card", metadata={}),
            "tc-1: version 12: PlayMeld(seat=0, card_ids=('a', 'b')) was refused: NOT_A_MELD: no such card;"
            " played EndWork(seat=0) instead",
        ),
        (MatchLeft("tc-1", resigned=True), "tc-1: resigned, so that no opponent waits for a bot that is gone"),
        (MatchLeft("tc-1", resigned=False), "tc-1: still open; `promontory bot run --resume` goes on with it"),
        (played(place=1), "tc-1: won in seat 0 against bob, 98:101, 70 commands, 0 refused"),
        (played(place=1, shared=True), "tc-1: drawn in seat 0 against bob, 98:101, 70 commands, 0 refused"),
        (
            played(place=2, reason=CloseReason.RESIGNED),
            "tc-1: lost by resignation in seat 0 against bob, 98:101, 70 commands, 0 refused",
        ),
        (
            played(place=2, reason=CloseReason.TIMED_OUT),
            "tc-1: lost on time in seat 0 against bob, 98:101, 70 commands, 0 refused",
        ),
        (
            played(place=0, reason=CloseReason.ABORTED),
            "tc-1: no result (aborted) in seat 0 against bob, 70 commands, 0 refused",
        ),
        (
            msgspec.structs.replace(played(place=2), scores=(5, 7, 1), commands=1),
            "tc-1: place 2 of 3 in seat 0 against bob, 5:7:1, 1 command, 0 refused",
        ),
        (
            failing(70, CARD_NOT_IN_HAND=1, NOT_A_MELD=11),
            "tc-1: lost in seat 0 against bob, 98:101, 70 commands, 12 refused (11 NOT_A_MELD, 1 CARD_NOT_IN_HAND)",
        ),
    ],
)
def test_an_event_reads_as_a_line(event: BotEvent, line: str) -> None:
    assert str(event) == line


@pytest.mark.parametrize(
    ("matches", "rating", "line"),
    [
        (
            (played(place=1), played(place=2), played(place=2), played(place=1, shared=True)),
            None,
            f"4 matches in {POOL}: 1 won, 1 drawn, 2 lost; 0 refused; seed 5",
        ),
        (
            (played(place=1),),
            RatingSpan(1500, 1541.7, uncounted=0),
            f"1 match in {POOL}: 1 won, 0 drawn, 0 lost; 0 refused; rating 1500, now 1542; seed 5",
        ),
        (
            (failing(9, NOT_A_MELD=1), failing(9, NOT_A_MELD=2)),
            RatingSpan(1500, 1500, uncounted=1),
            f"2 matches in {POOL}: 0 won, 0 drawn, 2 lost; 3 refused (3 NOT_A_MELD); rating 1500, now 1500"
            " (1 match not rated yet); seed 5",
        ),
    ],
)
def test_a_result_reads_as_a_line(matches: tuple[MatchPlayed, ...], rating: RatingSpan | None, line: str) -> None:
    assert str(BotResult(POOL, 5, matches, rating)) == line


@pytest.mark.parametrize(("reasons", "never"), [({"NOT_A_MELD": 9}, True), ({"NOT_A_MELD": 8}, False), ({}, False)])
def test_a_bot_of_which_every_command_was_refused_never_played(reasons: Mapping[str, int], never: bool) -> None:
    assert BotResult(POOL, 5, (failing(9, **reasons),)).never_played is never


def test_a_run_of_no_command_did_not_fail() -> None:
    """The opponent may have resigned at once."""
    assert not BotResult(POOL, 5, (failing(0),)).never_played


def test_refusals_are_told_in_full_until_the_reader_knows() -> None:
    """The first three of each reason; the match's line has the counts."""
    lines: list[str] = []
    tell = Narrator(lines.append)
    other = msgspec.structs.replace(REFUSED, reason="WRONG_PHASE")
    [tell(event) for event in (*[REFUSED] * 20, other, played(place=1))]
    assert lines == [
        *[str(REFUSED)] * 3,
        "further refusals with NOT_A_MELD are only counted",
        str(other),
        str(played(place=1)),
    ]
