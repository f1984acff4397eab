"""Start, homes, gray stations and the first passengers [Railroad Dice 2 3]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.commands import PlaceTile
from promontory.games.railroad_dice_2.events import (
    GrayPlaced,
    GrayPlacementEnded,
    HomePlaced,
    LayoutFixed,
    PassengersPlaced,
    StartPlayerDrawn,
    TilePlaced,
    TurnStarted,
)
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import Phase
from tests.support.railroad_dice_2 import (
    BLIND,
    GAME,
    VARIABLE,
    at,
    begun,
    beside,
    dice_in_bank,
    given,
    gray,
    home,
    money,
    passengers,
    state_after,
)
from tests.support.railroad_maps import A, B, C, D

HOMES = [home(A, 1, 1), home(B, 5, 1), home(C, 9, 2), home(D, 1, 5)]
GRAYS = [(2, 2), (6, 2), (10, 1), (2, 6), (5, 5), (6, 6), (9, 5), (10, 6)]


def with_homes(seats: int) -> State:
    """Return a game after all homes were placed."""
    return state_after(begun(seats), *HOMES[:seats], game=GAME)


def test_the_beginners_layout_is_laid_by_the_rules() -> None:
    """[Railroad Dice 2 3.2, R-2] Unturned; the first decision is the starting player's home."""
    assert GAME.begin(GAME.initial(2), BLIND, draw_start=False) == (
        StartPlayerDrawn(0),
        TilePlaced(None, "T1", at(0, 0), 0),
        TilePlaced(None, "T2", at(4, 0), 0),
        TilePlaced(None, "T3", at(8, 0), 0),
        TilePlaced(None, "T4", at(0, 4), 0),
        TilePlaced(None, "T5", at(4, 4), 0),
        TilePlaced(None, "T6", at(8, 4), 0),
        LayoutFixed(at(0, 0)),
    )
    assert (begun(2).phase, GAME.to_act(begun(2))) == (Phase.HOMES, (A,))


@pytest.mark.parametrize("draw_start", [False, True])
def test_the_starting_player_is_always_drawn(draw_start: bool) -> None:
    """[R-4] Whether the start is to be drawn or not: this game gives it to no seat otherwise."""
    rng = KeyedDraws(bytes(32), "railroad_dice_2")
    drawn = rng.integer(4, "start", 0, 0)
    state = GAME.initial(4)
    after = fold(GAME, state, GAME.begin(state, rng, draw_start=draw_start))
    assert drawn != 0
    assert (after.start_seat, GAME.to_act(after)) == (drawn, (drawn,))


@pytest.mark.parametrize(("seats", "bank", "grays"), [(2, 340, 4), (3, 330, 3), (4, 320, 2)])
def test_everybody_starts_with_10_dollars_and_gray_stations(seats: int, bank: int, grays: int) -> None:
    """[Railroad Dice 2 3.1, Railroad Dice 2 1.4, R-10] The bank has the rest of 360."""
    state = begun(seats)
    assert (money(state), state.bank, dice_in_bank(state)) == ([10] * seats, bank, (30, 20))
    assert [player.grays_left for player in state.players] == [grays] * seats


@pytest.mark.parametrize("seats", [1, 5])
def test_another_number_of_seats_is_an_error(seats: int) -> None:
    """[Railroad Dice 2 3.1] There is no state for it."""
    with pytest.raises(ValueError, match="2 to 4 seats"):
        GAME.initial(seats)


def test_homes_are_placed_clockwise_from_the_starting_player() -> None:
    """[Railroad Dice 2 3.1] And then the gray stations, again from the starting player."""
    start = GAME.initial(3)
    state = fold(GAME, start, [StartPlayerDrawn(2), *GAME.begin(start, BLIND, draw_start=False)[1:]])
    order = [GAME.to_act(state)]
    for command in (home(C, 1, 1), home(A, 5, 1), home(B, 9, 2)):
        state = state_after(state, command, game=GAME)
        order.append(GAME.to_act(state))
    assert order == [(C,), (A,), (B,), (C,)]
    assert state.phase is Phase.GRAYS


def test_a_home_may_stand_on_a_mountain() -> None:
    """[S-76, R-7] Free of charge."""
    after = (
        given(begun(2), game=GAME).when(HOMES[A], home(B, 6, 1)).then(HomePlaced(A, at(1, 1)), HomePlaced(B, at(6, 1)))
    )
    assert money(after) == [10, 10]


def test_stations_are_refused_where_they_may_not_stand() -> None:
    """[Railroad Dice 2 3.3, Railroad Dice 2 3.4] The track model tells why."""
    given(begun(2), game=GAME).when(home(A, 4, 1)).refused("TILE_EDGE", rule="R-6", x=4, y=1)
    given(with_homes(2), game=GAME).when(gray(A, 2, 1)).refused("TOO_CLOSE", rule="R-8", x=2, y=1, distance=1)


def test_the_first_turn_begins_when_all_gray_stations_stand() -> None:
    """[Railroad Dice 2 3.4, Railroad Dice 2 3.5] One each in turn, eight with two players."""
    squares = [(2, 2), (6, 2), (5, 5), (6, 6), (9, 5), (10, 6), (1, 5), (10, 2)]
    commands = [gray(number % 2, *square) for number, square in enumerate(squares)]
    after = (
        given(with_homes(2), game=GAME)
        .when(*commands)
        .then_last(
            GrayPlaced(B, at(10, 2)),
            PassengersPlaced(beside("T1 10, T2 10, T3 5, T4 5, T5 10, T6 10")),
            TurnStarted(1, A),
        )
    )
    assert (after.phase, after.bank, after.turn.number) == (Phase.TURN, 340 - 50, 1)


def test_gray_placement_ends_for_all_when_no_square_is_left() -> None:
    """[S-78, R-9] Two gray stations stay out of the game; their players need not pass."""
    state = with_homes(4)
    state = replace(state, board=begun(4).map)
    for seat, square in [(A, (1, 1)), (B, (5, 1)), (C, (10, 2)), (D, (1, 5))]:
        state = replace(state, board=state.map.with_station(at(*square), seat))
    placed = [(2, 2), (6, 2), (5, 5), (6, 6), (9, 5)]
    for square in placed:
        state = replace(state, board=state.map.with_station(at(*square), None))
    players = [replace(player, grays_left=int(seat in {B, C, D})) for seat, player in enumerate(state.players)]
    state = replace(state, players=tuple(players), active=B)
    after = (
        given(state, game=GAME)
        .when(gray(B, 10, 6))
        .then(
            GrayPlaced(B, at(10, 6)),
            GrayPlacementEnded(2),
            PassengersPlaced(beside("T1 10, T2 10, T3 5, T4 5, T5 10, T6 10")),
            TurnStarted(1, A),
        )
    )
    assert (after.bank, [player.grays_left for player in after.players]) == (270, [0, 0, 0, 0])


def test_homes_attract_passengers_and_passengers_belong_to_the_tile() -> None:
    """[R-11, R-12] T1 has a home and a gray station: one stack of ten."""
    state = state_after(
        with_homes(2),
        *[
            gray(number % 2, *square)
            for number, square in enumerate([(2, 2), (6, 2), (5, 5), (6, 6), (9, 5), (10, 6), (1, 5), (10, 2)])
        ],
        game=GAME,
    )
    assert passengers(state)["T1"] == 10


def test_tiles_of_a_variable_layout_are_laid_in_turn() -> None:
    """[Railroad Dice 2 3.2, R-3] From the starting player on; the last one fixes the layout and shifts it."""
    places = [(0, 0), (-4, 0), (0, -4), (-4, -4), (4, 0), (4, -4)]
    commands = [PlaceTile(n % 2, f"T{n + 1}", at(*place), n % 4) for n, place in enumerate(places)]
    state = begun(2, game=VARIABLE)
    assert (state.phase, VARIABLE.to_act(state)) == (Phase.LAYOUT, (A,))
    after = (
        given(state, game=VARIABLE).when(*commands).then_last(TilePlaced(B, "T6", at(4, -4), 1), LayoutFixed(at(4, 4)))
    )
    assert [laid.square for laid in after.layout[:3]] == [at(4, 4), at(0, 4), at(4, 0)]
    assert (after.phase, after.active, after.map.plan.width, after.map.plan.height) == (Phase.HOMES, A, 12, 8)


def test_the_first_tile_goes_to_the_origin() -> None:
    """[Railroad Dice 2 3.2]."""
    command = PlaceTile(A, "T1", at(1, 0), 0)
    given(begun(2, game=VARIABLE), game=VARIABLE).when(command).refused(
        "BAD_REQUEST", rule="Railroad Dice 2 3.2", field="square"
    )


@pytest.mark.parametrize("tile_id", ["T1", "T7"])
def test_only_a_tile_that_does_not_lie_can_be_laid(tile_id: str) -> None:
    """[Railroad Dice 2 3.2]."""
    commands = PlaceTile(A, "T1", at(0, 0), 0), PlaceTile(B, tile_id, at(4, 0), 0)
    given(begun(2, game=VARIABLE), game=VARIABLE).when(*commands).refused(
        "NO_SUCH_TILE", rule="Railroad Dice 2 3.2", tileId=tile_id
    )


def test_a_tile_is_refused_where_it_may_not_lie() -> None:
    """[R-1, Railroad Dice 2 3.2] The layout tells why."""
    commands = PlaceTile(A, "T1", at(0, 0), 0), PlaceTile(B, "T2", at(3, 0), 0)
    given(begun(2, game=VARIABLE), game=VARIABLE).when(*commands).refused(
        "OVERLAP", rule="Railroad Dice 2 1.2", overlappedTileId="T1"
    )


def test_a_rotation_that_does_not_exist_is_malformed() -> None:
    """[Railroad Dice 2 6.2, R-2]."""
    given(begun(2, game=VARIABLE), game=VARIABLE).when(PlaceTile(A, "T1", at(0, 0), 4)).refused(
        "BAD_REQUEST", rule="Railroad Dice 2 6.2", field="rotation"
    )
