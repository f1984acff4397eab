"""Who is absent, and who gives up [R-59]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.railroad_dice_2.commands import EndTurn, PlaceGray, PlaceHome, PlaceTile, Resign
from promontory.games.railroad_dice_2.events import (
    DiceReturned,
    GameOver,
    HomePlaced,
    SeatResigned,
    TilePlaced,
    TurnEnded,
    TurnStarted,
)
from promontory.games.railroad_dice_2.legal import LegalCommands
from promontory.games.railroad_dice_2.vocabulary import EndReason, Phase
from tests.support.railroad_dice_2 import (
    GAME,
    VARIABLE,
    at,
    begun,
    final,
    given,
    home,
    position,
    state_after,
)
from tests.support.railroad_maps import A, B, C

MAP = """
    ............
    .A─g........
    ......B..C..
    ............
    """


def test_an_absent_player_only_ends_turns() -> None:
    """[R-59] In both phases with turns."""
    turn = position(MAP, dice="straight locomotive", seats=3)
    assert [GAME.automatic(state, A) for state in (turn, final(turn))] == [EndTurn(A), EndTurn(A)]


def test_an_absent_player_sets_up_at_the_first_place() -> None:
    """[R-59] Tiles in the order of the file, squares by `y`, then `x`."""
    layout = begun(2, game=VARIABLE)
    assert VARIABLE.automatic(layout, A) == PlaceTile(A, "T1", at(0, 0), 0)
    second = state_after(layout, VARIABLE.automatic(layout, A), game=VARIABLE)
    assert VARIABLE.automatic(second, B) == PlaceTile(B, "T2", at(0, -4), 0)
    homes = begun(2)
    assert GAME.automatic(homes, A) == PlaceHome(A, at(1, 1))
    grays = state_after(homes, home(A, 1, 1), home(B, 5, 1), game=GAME)
    assert GAME.automatic(grays, A) == PlaceGray(A, at(10, 1))


@pytest.mark.parametrize(("leaver", "places"), [(A, (2, 1)), (B, (1, 2))])
def test_of_two_players_the_other_one_wins_at_once(leaver: int, places: tuple[int, ...]) -> None:
    """[R-59] On anybody's turn, whatever the money."""
    before = position(MAP, money=[30, 10] if leaver == A else [10, 30], dice="straight")
    money = tuple(player.money for player in before.players)
    after = (
        given(before).when(Resign(leaver)).then(SeatResigned(leaver), GameOver(EndReason.RESIGNATION, money, places))
    )
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert (outcome.reason, outcome.resigned, outcome.places) == ("resignation", True, places)


def test_while_others_play_on_the_rules_end_the_turns_of_a_seat_that_resigned() -> None:
    """[R-59] Dice return to the bank; track and locomotives stay."""
    before = position(MAP, seats=3, dice="straight curve", locomotives=["2"])
    after = (
        given(before)
        .when(Resign(A))
        .then(
            SeatResigned(A),
            DiceReturned(A, (1, 2)),
            TurnEnded(5, A, auto=True, stalled=1, idle=0),
            TurnStarted(6, B),
        )
    )
    assert after.players[A].locomotives == (2,)
    given(after).when(EndTurn(B), EndTurn(C)).then_last(
        TurnEnded(7, C, auto=False, stalled=3, idle=0),
        TurnStarted(8, A),
        TurnEnded(8, A, auto=True, stalled=4, idle=0),
        TurnStarted(9, B),
    )


def test_resigning_out_of_turn_leaves_the_turn_as_it_is() -> None:
    """[R-59] The active player goes on."""
    before = position(MAP, seats=3, dice="straight")
    assert given(before).when(Resign(C)).then(SeatResigned(C)).active == A


def test_the_rules_set_up_for_a_seat_that_resigned() -> None:
    """[R-59] Its home is on the first free square."""
    after = (
        given(begun(3), game=GAME)
        .when(Resign(B), home(A, 1, 1))
        .then(SeatResigned(B), HomePlaced(A, at(1, 1)), HomePlaced(B, at(5, 1)))
    )
    assert (after.phase, after.active) == (Phase.HOMES, C)


def test_the_rules_lay_tiles_for_a_seat_that_resigned() -> None:
    """[R-59]."""
    given(begun(3, game=VARIABLE), game=VARIABLE).when(Resign(A)).then(
        SeatResigned(A), TilePlaced(A, "T1", at(0, 0), 0)
    )


def test_who_resigned_can_do_nothing_any_more() -> None:
    """[R-59] Not even resign again."""
    state = state_after(position(MAP, seats=3), Resign(C))
    assert GAME.legal(state, C) == LegalCommands()
    given(state).when(Resign(C)).refused("SEAT_RESIGNED", rule="R-59")
    given(replace(state, active=C)).when(EndTurn(C)).refused("SEAT_RESIGNED", rule="R-59")


def test_the_last_one_left_wins_before_those_who_resigned_later() -> None:
    """[R-59] The first to resign comes last."""
    after = (
        given(position(MAP, seats=3, money=[9, 1, 99]))
        .when(Resign(C), Resign(A))
        .then_last(SeatResigned(A), GameOver(EndReason.RESIGNATION, (9, 1, 99), (2, 1, 3)))
    )
    assert GAME.to_act(after) == ()


def test_who_resigned_comes_last_in_a_game_that_is_played_out() -> None:
    """[R-59, Railroad Dice 2 5.4] However rich."""
    before = final(position(MAP, seats=3, money=[9, 1, 99], resigned=(C,)), idle=1)
    after = state_after(before, EndTurn(A), game=GAME)
    outcome = GAME.outcome(after)
    assert outcome is not None
    assert (outcome.resigned, outcome.places) == (False, (1, 2, 3))


def test_the_command_by_which_a_seat_gives_up() -> None:
    """[R-59]."""
    assert GAME.resign(B) == Resign(B)
    assert GAME.seat_of(Resign(B)) == B
