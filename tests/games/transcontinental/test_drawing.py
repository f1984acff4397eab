"""A view as text."""

from __future__ import annotations

from textwrap import dedent

import pytest
from msgspec.structs import replace

from promontory.games.transcontinental.drawing import draw
from promontory.games.transcontinental.state import Result, State
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Side
from tests.support.random_play import PLAYERS, played
from tests.support.transcontinental import CP, GAME, UP, at_work, held, in_phase, table


def drawn(state: State, seat: int | None) -> str:
    """Return what `seat`, or a spectator, is shown."""
    return draw(GAME, GAME.view(state, seat))


def text(lines: str) -> str:
    """Return the lines of a drawing as the test writes it."""
    return dedent(lines).strip()


WORKING = table(
    "W1 W2 W3 W4 E1 D1 T6",
    "S1 S2",
    discard="J3 J4 J5",
    totals=(23, 17),
    drew_discard=(False, True),
    phase=Phase.WORK,
    turn=9,
    idle=2,
)


def test_a_seat_sees_its_hand_by_suits_and_what_it_may_meld() -> None:
    """[Transcontinental 10.1] Both sides' points, the piles, and what only the seat knows."""
    assert drawn(WORKING, 0) == text(
        """
        turn 9, work phase: CP to act, 0 melds played; 2 turns in a row without a meld
        side  seat  points  cards
        CP       0      23      7  you
        UP       1      17      2  drew from the discard pile last
        draw pile: 65 cards
        discard pile: 3 cards; on top J5 Surveyors; below it: J4, J3
        your hand (7)
          work: W1 Filling, W2 Cutting, W3 Blasting & Drilling, W4 Scraping & Shoveling
          ethnicities: E1 Chinese (CP only)
          towns: T6 Omaha (UP only)
          difficulty: D1 Indian Attacks
        you may end your work, or play one of 2 melds
          4 points  rail, line, rail line  W1 W2 W3 W4
          2 points  rail                   W2 W3 W4 E1
        """
    )


def test_a_spectator_sees_the_table() -> None:
    """[Transcontinental 10.1] No card of either hand."""
    assert drawn(WORKING, None) == text(
        """
        turn 9, work phase: CP to act, 0 melds played; 2 turns in a row without a meld
        side  seat  points  cards
        CP       0      23      7
        UP       1      17      2  drew from the discard pile last
        draw pile: 65 cards
        discard pile: 3 cards; on top J5 Surveyors; below it: J4, J3
        """
    )


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (Result(EndReason.VICTORY, UP), "over in turn 31 (victory): UP has won"),
        (Result(EndReason.NO_PROGRESS, None), "over in turn 31 (no progress): a draw"),
    ],
)
def test_a_finished_game_says_who_has_won(result: Result, line: str) -> None:
    """[Transcontinental 7] And why."""
    assert drawn(table(phase=Phase.OVER, turn=31, result=result), None).splitlines()[0] == line


def test_the_pile_of_one_card_and_the_empty_pile() -> None:
    """[Transcontinental 1] Only the top card's name is written out."""
    assert "\ndiscard pile: 1 card; on top J3 Tracklayers" in drawn(table(discard="J3"), None)
    assert "\ndiscard pile: empty" in drawn(table(), None)


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (table(), "you may draw from: deck"),
        (table(discard="J3"), "you may draw from: deck, discard"),
        (at_work(CP, "W1 E5"), "you may end your work; no cards of your hand are a meld"),
        (in_phase(Phase.SURVEYORS, "W1 E5 T3"), "you may discard 0 to 3 of your cards"),
        (
            in_phase(Phase.LOGISTICS, "W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 E1 E2"),
            "you may discard, to keep 10, 2 of your cards",
        ),
    ],
)
def test_a_seat_is_told_what_it_may_do(state: State, line: str) -> None:
    """[Transcontinental 9.5] In each phase."""
    assert drawn(state, 0).splitlines()[-1] == line


def test_of_many_melds_the_best_are_listed() -> None:
    """[Transcontinental 4.2] Ten of them, with their points."""
    lines = drawn(at_work(CP, "W1 W2 W3 W4 W5 W6 W7"), 0).splitlines()
    assert "you may end your work, or play one of 64 melds; the 10 best" in lines
    assert lines[-10].split()[:2] == ["24", "points"]


def test_cards_that_a_seat_knows_of_are_named() -> None:
    """[Transcontinental 10.1] Those seen going into the other hand."""
    state = table("W1", "S4 S5")
    state = replace(state, up=replace(state.up, seen=held("S4")))
    assert "known to be in UP's hand: S4 Depots" in drawn(state, 0).splitlines()


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("seat", [0, 1, None])
def test_every_view_of_a_game_is_drawn(players: str, seat: int | None) -> None:
    """In lines that fit a wide terminal."""
    drawings = [drawn(commit.after, seat) for commit in played(players, 1)[:200]]
    assert max(len(line) for drawing in drawings for line in drawing.splitlines()) <= 120


def test_sides_are_shown_with_the_seats_that_play_them() -> None:
    """[T-4] CP comes first, whatever its seat."""
    lines = drawn(table(cp_seat=1), 0).splitlines()
    assert [line.split()[:2] for line in lines[2:4]] == [[Side.CP, "1"], [Side.UP, "0"]]
