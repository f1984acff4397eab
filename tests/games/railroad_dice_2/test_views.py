"""What everybody may know, which is everything [Railroad Dice 2 7.1]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.railroad_dice_2.commands import BuyLocomotive
from promontory.games.railroad_dice_2.events import DiceRolled
from promontory.games.railroad_dice_2.state import Result
from promontory.games.railroad_dice_2.view import GameView, PlayerView, StationView, TileView, TrackView, TurnView
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, Phase
from tests.support.railroad_dice_2 import (
    BLIND,
    GAME,
    VARIABLE,
    at,
    begun,
    carry,
    final,
    hand,
    position,
    state_after,
)
from tests.support.railroad_maps import A, B

MAP = """
    ........
    .A3g....
    ..└─..B.
    ........
    """


def test_a_view_shows_all_there_is() -> None:
    """[Railroad Dice 2 7.1, R-57, Railroad Dice 2 6.5] Stations in the order placed, other squares by `y`, then `x`."""
    state = position(MAP, dice="straight ?", locomotives=["2 3"], money=[10, 7], rolls=3, stalled=2)
    state = state_after(state, carry(1, by=3, start=(3, 1)))
    assert GAME.view(state, None) == GameView(
        seat=None,
        phase=Phase.TURN,
        start_seat=A,
        active=A,
        players=(
            PlayerView(11, (2, 3), at(1, 1), 0, (at(3, 1),)),
            PlayerView(7, (), at(6, 2), 0, ()),
        ),
        tiles=(
            TileView("T1", at(0, 0), 0, tile_rows("T1"), 9),
            TileView("T2", at(4, 0), 0, tile_rows("T2"), 5),
        ),
        tile_ids=("T3", "T4", "T5", "T6"),
        stations=(
            StationView(at(1, 1), "T1", A),
            StationView(at(6, 2), "T2", B),
            StationView(at(3, 1), "T1", None),
        ),
        track=(
            TrackView(at(2, 1), DieKind.COMPLEX, "switch_right", 1),
            TrackView(at(2, 2), DieKind.SIMPLE, "curve", 0),
            TrackView(at(3, 2), DieKind.SIMPLE, "straight", 1),
        ),
        bank=300,
        simple_dice=20,
        complex_dice=15,
        stack=(2, 2, 2, 2, 3, 3, 3, 4, 4, 5),
        has_scrapped=False,
        turn=TurnView(5, True, hand("straight ?"), 3, (at(3, 1),), (3,), had_effect=True),
        rolls=3,
        stalled=2,
        idle=0,
        triggers=(),
        triggered_turn=0,
        resigned=(),
    )


def tile_rows(tile_id: str) -> tuple[str, ...]:
    """Return the terrain of a tile, unturned."""
    tile = GAME.box.components.tile(tile_id)
    assert tile is not None
    return tile.rows


@pytest.mark.parametrize("seat", [A, B])
def test_a_seat_sees_the_same_and_what_it_may_do(seat: int) -> None:
    """[R-57] Nothing is hidden from anybody."""
    state = position(MAP, dice="straight ?", locomotives=["2 3"])
    view = GAME.view(state, seat)
    assert replace(view, seat=None, legal=None) == GAME.view(state, None)
    assert (view.seat, view.legal) == (seat, GAME.legal(state, seat))


def test_tiles_show_their_terrain_as_they_lie() -> None:
    """[Railroad Dice 2 3.2, R-2] Turned with the tile; those not yet laid are named."""
    state = begun(2, game=VARIABLE)
    assert (GAME.view(state, None).tiles, len(GAME.view(state, None).tile_ids)) == ((), 6)
    after = state_after(state, VARIABLE.automatic(state, A), game=VARIABLE)
    shown = VARIABLE.view(after, None)
    assert shown.tiles == (TileView("T1", at(0, 0), 0, ("....", "...^", "....", ".^^."), 0),)
    assert shown.tile_ids == ("T2", "T3", "T4", "T5", "T6")


def test_a_view_tells_how_the_game_ended() -> None:
    """[Railroad Dice 2 5.4]."""
    before = final(position(MAP, passengers="T1 1", locomotives=["2"]))
    view = GAME.view(state_after(before, carry(1, by=2, start=(3, 1)), game=GAME), A)
    assert (view.result, view.phase) == (Result(EndReason.NO_PASSENGERS, (1, 2)), Phase.OVER)


def test_a_seat_that_does_not_exist_has_no_view() -> None:
    """[Railroad Dice 2 3.1]."""
    with pytest.raises(ValueError, match="no seat 2"):
        GAME.view(position(MAP), 2)


@pytest.mark.parametrize("seat", [A, B, None])
def test_events_are_shown_to_everybody_as_they_are(seat: int | None) -> None:
    """[Railroad Dice 2 7.1] Dice, money, everything."""
    state = position(MAP, money=5)
    events = (*GAME.decide(state, BuyLocomotive(A, 2), BLIND), DiceRolled(A, 1, hand("? ?")))
    assert [GAME.redact(state, event, seat) for event in events] == list(events)
