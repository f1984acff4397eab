"""A view as text: the map and all that lies beside it."""

from __future__ import annotations

from textwrap import dedent

import pytest
from msgspec.structs import replace

from promontory.games.railroad_dice_2.commands import PlaceTile, Resign
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.drawing import draw, drawing_of
from promontory.games.railroad_dice_2.state import Result, State, Turn
from promontory.games.railroad_dice_2.vocabulary import EndReason, EndTrigger, Phase
from tests.support.railroad_dice_2 import GAME, VARIABLE, at, begun, final, position, state_after
from tests.support.railroad_dice_2_play import GAMES, SEATS, played

BUILDING = position(
    """
    ............
    .A─8────B...
    ...└g.......
    ............
    """,
    seats=3,
    money=[12, 0, 7],
    dice="straight ? orange? =curve",
    locomotives=["2 3", "", "2"],
    passengers="T1 5, T2 0, T3 15",
    stalled=1,
)


def drawn(state: State, seat: int | None = None, *, game: RailroadDice2 = GAME) -> str:
    """Return what `seat`, or a spectator, is shown."""
    return draw(game, game.view(state, seat))


def test_everything_on_the_table_is_shown() -> None:
    """[Railroad Dice 2 7.1] Map, dice, money, locomotives, passengers, stack and dice bank are public."""
    expected = """
        turn 5: seat 0 to act; 1 turn in a row without effect

            x from 0  012345678901
                 y 0  .....^^..~..
                 y 1  .A─8────B~..
                 y 2  ...└g......^
                 y 3  .^^.^.....^.
        signs: . plain, ^ mountain, ~ water, A to C homes, g gray stations
        complex dice: 8 E-S and E-W

        seat  home  money  linked  gray left  locomotives
        0     A       $12  1 of 2          0  2, 3         you
        1     B        $0  2 of 2          0  none
        2     C        $7  0 of 2          0  2

        tiles to be laid, unturned
          T4 River  T5 Pass  T6 Coast
          ...~      ..^.     ..^.
          ...~      .^^.     ^...
          ..~~      ^^..     ...~
          ^...      ....     ..~~
        passengers
          T1 Meadow     at (0,0)   5
          T2 Foothills  at (4,0)   0
          T3 Lake       at (8,0)  15
        bank: $300, 20 simple dice, 15 complex
        locomotives to buy, in this order: 5 of value 2 for $5, 4 of value 3 for $10, 3 of value 4 for $15,
            2 of value 5 for $20, 1 of value 6 for $25
        dice action: used
        dice in hand: 1 simple straight, 2 simple question, 3 complex question, 4 simple curve (came back)
        """
    assert drawn(BUILDING, 0) == dedent(expected).strip()


def test_a_spectator_is_nobody() -> None:
    """[Railroad Dice 2 7.1] All else is the same."""
    assert drawn(BUILDING) == drawn(BUILDING, 0).replace("2, 3         you", "2, 3")


def test_what_has_run_this_turn_is_listed() -> None:
    """[Railroad Dice 2 4.5] Each station departs once, each locomotive runs once."""
    turn = Turn(5, stations_used=(at(4, 2),), locomotives_used=(2, 3))
    assert drawn(replace(BUILDING, turn=turn)).splitlines()[-4:] == [
        "dice action: not used yet",
        "dice in hand: none",
        "stations departed from: (4,2)",
        "locomotives that have run: 2, 3",
    ]


def test_the_final_phase_says_what_brought_it_on() -> None:
    """[Railroad Dice 2 5.3] No dice any more; the idle turns in a row end the game."""
    state = replace(final(BUILDING, idle=2), triggers=(EndTrigger.BANK_EMPTY, EndTrigger.DICE))
    lines = drawn(state).splitlines()
    assert lines[0] == (
        "turn 5, final phase since turn 3: seat 0 to act (brought on by bank empty and dice);"
        " 2 turns in a row without purchase and transport"
    )
    assert lines[-1].startswith("    2 of value 5")


def test_a_finished_game_shows_the_places() -> None:
    """[Railroad Dice 2 5.4] Shared ones too."""
    state = replace(BUILDING, phase=Phase.OVER, result=Result(EndReason.NO_PASSENGERS, (1, 3, 1)))
    lines = drawn(state, 1).splitlines()
    assert lines[0] == "over (no passengers): won by seats 0 and 2"
    assert [line.split("  ")[-1].strip() for line in lines if line[:1] in {"0", "1", "2"}] == [
        "place 1",
        "you, place 3",
        "place 1",
    ]


def test_no_map_lies_before_the_first_tile() -> None:
    """[Railroad Dice 2 3.2] Who is to lay one sees all that are left."""
    lines = drawn(begun(2, game=VARIABLE), game=VARIABLE).splitlines()
    assert lines[0] == "laying the map: seat 0 to act"
    assert "no tile lies yet" in lines
    assert lines[lines.index("tiles to be laid, unturned") + 1 :][:3] == [
        "  T1 Meadow  T2 Foothills  T3 Lake  T4 River  T5 Pass  T6 Coast",
        "  ....       .^^.          .~..     ...~      ..^.     ..^.",
        "  ...^       ..^.          ~~..     ...~      .^^.     ^...",
    ]


def test_a_map_that_is_being_laid_may_begin_anywhere() -> None:
    """[Railroad Dice 2 3.2] Squares west and north of the first tile have negative numbers."""
    laid = state_after(
        begun(2, game=VARIABLE), PlaceTile(0, "T1", at(0, 0), 0), PlaceTile(1, "T2", at(-4, 0), 1), game=VARIABLE
    )
    assert drawn(laid, game=VARIABLE).splitlines()[2:5] == [
        "   x from -4  43210123",
        "         y 0  ^.......",
        "         y 1  ...^...^",
    ]


def test_a_seat_that_gave_up_is_marked() -> None:
    """[R-59] The rules act for it."""
    lines = drawn(state_after(BUILDING, Resign(2)), 0).splitlines()
    assert "2     C        $7  0 of 2          0  2            has resigned" in lines


@pytest.mark.parametrize("layout", GAMES)
@pytest.mark.parametrize("seats", SEATS)
def test_every_view_of_a_game_is_drawn(layout: str, seats: int) -> None:
    """In lines that fit a wide terminal, with the same map that a board is drawn as."""
    states = [commit.after for commit in played("plain", layout, seats, 1)[::3]]
    drawings = [drawn(state, 0, game=GAMES[layout]) for state in states]
    assert max(len(line) for drawing in drawings for line in drawing.splitlines()) <= 130
    with_boards = [(state.board, text) for state, text in zip(states, drawings, strict=True) if state.board]
    assert all(is_map_in(drawing_of(board), text) for board, text in with_boards)


def is_map_in(board: str, text: str) -> bool:
    """Tell whether the rows of a board are those beside the numbers of `y`."""
    rows = [line[14:] for line in text.splitlines() if line.lstrip().startswith("y ")]
    return rows == board.splitlines()
