"""A view as text."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promontory.games.pacific.commands import Choose, PutOut, SetupPlace
from promontory.games.pacific.decisions import (
    MoveSource,
    OrderCards,
    PickArea,
    PickArrow,
    PickMoves,
    PickOrder,
    PickRemovals,
    PickReplacements,
    PickRunAreas,
    Ports,
    Question,
    RunArea,
    TokenChoice,
)
from promontory.games.pacific.drawing import draw
from promontory.games.pacific.state import Result, State
from promontory.games.pacific.vocabulary import Area, Arrow, EndReason, Per, Phase
from promontory.games.pacific.wording import question_in_words
from tests.support.pacific import DECK, GAME, begun, choosing, picks, player, putting_out, state_after, tokens
from tests.support.pacific_play import SEATS, played

CHOOSING = choosing(
    player(
        "japan 2 fish 1 boat / peru 1 hq",
        money=12,
        hand="port spas",
        active="casinos",
        pending="upgrade",
        paths="japan_california",
    ),
    player("california 3 hotel", money=7, hand="disperse"),
    player(),
    table="migration direct_flight head_west",
)
SOME = TokenChoice(picks("2 fish japan, 1 hq peru"), 0, 2, Per.AREA)


def drawn(state: State, seat: int | None) -> str:
    """Return what `seat`, or a spectator, is shown."""
    return draw(GAME, GAME.view(state, seat))


def lines_of(state: State, seat: int | None) -> list[str]:
    """Return the lines of the drawing."""
    return drawn(state, seat).splitlines()


def test_a_seat_sees_every_mat_the_table_and_its_hand() -> None:
    """[Pacific 7] Money, tokens, Paths and effects are public, hands are not."""
    expected = """
        turn 5 of 10, phase choose
        draw deck: 0 cards
        on the table
          slot 0  seat 0  Migration (green)
          slot 1  seat 1  Direct Flight (green)
          slot 2  seat 2  Head West (green)

        seat 0 (you): $12, 2 cards in hand; is to choose what to execute
                      fish  hotel  factory  boat  hatchery  port  balloon  hq
          japan          2      .        .     1         .     .        .   .
          california     .      .        .     .         .     .        .   .
          peru           .      .        .     .         .     .        .   1
          polynesia      .      .        .     .         .     .        .   .
          coral sea      .      .        .     .         .     .        .   .
          paths: japan to california
          this turn: own card only (Casinos)
          next turn: place per placement 1 hotel (Upgrade)

        seat 1: $7, 1 card in hand; is to choose what to execute
                      fish  hotel  factory  boat  hatchery  port  balloon  hq
          japan          .      .        .     .         .     .        .   .
          california     .      3        .     .         .     .        .   .
          peru           .      .        .     .         .     .        .   .
          polynesia      .      .        .     .         .     .        .   .
          coral sea      .      .        .     .         .     .        .   .

        seat 2: $0, 0 cards in hand; is to choose what to execute
                      fish  hotel  factory  boat  hatchery  port  balloon  hq
          japan          .      .        .     .         .     .        .   .
          california     .      .        .     .         .     .        .   .
          peru           .      .        .     .         .     .        .   .
          polynesia      .      .        .     .         .     .        .   .
          coral sea      .      .        .     .         .     .        .   .

        your hand (2): Port (green), Spas (blue)
        """
    assert drawn(CHOOSING, 0) == dedent(expected).strip()


def test_a_spectator_sees_no_hand() -> None:
    """[Pacific 7] And is nobody."""
    assert "you" not in drawn(CHOOSING, None)


def test_a_secret_choice_is_shown_to_its_seat_alone() -> None:
    """[Pacific 2.2] The others see that it has been made."""
    state = state_after(CHOOSING, Choose(1, (2,)))
    assert lines_of(state, 1)[-1] == "you have chosen: Head West (green)"
    assert "seat 1: $7, 1 card in hand; has chosen what to execute" in lines_of(state, 0)
    assert "have chosen" not in drawn(state, 0)


def test_a_card_put_out_lies_face_down() -> None:
    """[Pacific 2.1] In the slot of its seat; the dummies' slots are empty until all are out."""
    state = state_after(putting_out(player(hand="port spas"), player(hand="disperse")), PutOut(0, "port"))
    assert lines_of(state, 1)[3:7] == [
        "  slot 0  seat 0  face down",
        "  slot 1  seat 1  -",
        "  slot 2  dummy   -",
        "  slot 3  dummy   -",
    ]
    assert lines_of(state, 0)[-1] == "you have put out Port (green)"


def test_only_those_who_are_late_are_waited_for_in_the_late_phase() -> None:
    """[Pacific 2.1] Whoever put a card out before owes nothing."""
    state = putting_out(player(hand="port", active="dolphin_spy_network"), player(hand="disperse"), player(), late=True)
    assert [line for line in lines_of(state, None) if line.startswith("seat")] == [
        "seat 0: $0, 1 card in hand; is to put a card out",
        "seat 1: $0, 1 card in hand",
        "seat 2: $0, 0 cards in hand",
    ]


def test_the_set_up_of_a_game_for_two() -> None:
    """[Pacific 1.5] The own choice is shown until both are."""
    lines = lines_of(state_after(begun(2), SetupPlace(0, Area.JAPAN, Area.PERU)), 0)
    assert lines[0] == "set-up, before turn 1"
    assert lines[3] == "seat 0 (you): $0, 10 cards in hand; has chosen two areas"
    assert lines[-1] == "your first hotel goes to japan, your first factory to peru"


def test_open_decisions_are_asked_for_everybody() -> None:
    """[Pacific 7] How cards are executed is public."""
    lines = lines_of(state_after(CHOOSING, Choose(0, (0,)), Choose(1, (0,)), Choose(2, (1,))), None)
    assert lines[3:5] == [
        "  slot 0  seat 0  Migration (green), executed by seats 0 and 1",
        "  slot 1  seat 1  Direct Flight (green), executed by seat 2",
    ]
    assert lines.count("  to decide for Migration: an area: japan, california, peru, polynesia, coral sea") == 2


@pytest.mark.parametrize(
    ("winners", "line"),
    [
        ((1,), "over in turn 10 (tenth turn): won by seat 1"),
        ((0, 2), "over in turn 10 (tenth turn): won by seats 0 and 2"),
    ],
)
def test_a_finished_game_says_who_has_won(winners: tuple[int, ...], line: str) -> None:
    """[P-12] Several may share the victory."""
    state = State(players=(player(),) * 3, turn=10, phase=Phase.OVER, result=Result(EndReason.TENTH_TURN, winners))
    assert lines_of(state, None)[0] == line


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (OrderCards(("port", "spas")), "the order of Port, Spas"),
        (PickArea((Area.PERU, Area.CORAL_SEA)), "an area: peru, coral sea"),
        (PickArrow((Arrow.CORAL_SEA_JAPAN,)), "an arrow for a path: coral sea to japan"),
        (PickOrder(3), "the order of 3 parts"),
        (
            PickMoves(
                (MoveSource(Area.PERU, TokenChoice(picks("1 boat peru"), 1, 1)),), (Area.JAPAN,), False, True, False
            ),
            "moves to japan; from peru 1 of 1 boat in peru",
        ),
        (
            PickMoves((MoveSource(None, SOME),), (Area.JAPAN, Area.PERU), True, False, True),
            "moves to japan, peru; 0 to 2 of 2 fish in japan, 1 HQ in peru, one per area",
        ),
        (PickRemovals(SOME), "what to remove, 0 to 2 of 2 fish in japan, 1 HQ in peru, one per area"),
        (
            PickReplacements(TokenChoice(picks("2 factory peru"), 0, 2), tokens("1 hotel 3 fish")),
            "what to replace by 3 fish, 1 hotel each, 0 to 2 of 2 factories in peru",
        ),
        (PickRunAreas((Area.PERU, Area.JAPAN), 2), "2 areas to run, in order: peru, japan"),
        (Ports(Area.PERU, TokenChoice((), 0, 0)), "what ports fetch to peru, 0 of nothing"),
        (
            RunArea(Area.PERU, tokens("2 hatchery 1 balloon"), tokens("1 fish"), 0, fish_stay=True),
            "how peru runs, where 2 hatcheries, 1 balloon act; fish stay",
        ),
        (
            RunArea(Area.PERU, tokens("2 factory"), tokens("9 boat"), 2, fish_stay=False),
            "how peru runs, where 2 factories act; factories that act: 2, removing up to 3 each of 9 boats",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_every_kind_of_question_is_put_into_words(question: Question, asked: str) -> None:
    """[Pacific 3.7] With all there is to choose from."""
    assert question_in_words(DECK, question) == asked


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("seat", [0, None])
def test_every_view_of_a_game_is_drawn(seats: int, seat: int | None) -> None:
    """In lines that fit a wide terminal."""
    drawings = [drawn(commit.after, seat) for commit in played("fickle", seats, 1)[::3]]
    assert max(len(line) for drawing in drawings for line in drawing.splitlines()) <= 120


def test_a_seat_that_gave_up_is_marked() -> None:
    """[P-52] The rules answer for it while others play on."""
    state = next(commit.after for seed in range(9) for commit in played("quitter", 5, seed) if commit.after.resigned)
    assert sum(line.endswith("; has resigned") for line in lines_of(state, None)) == len(state.resigned)
