"""When tiles run empty [Railroad Dice 2 4.7]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.commands import RestockAll, UseLocomotive
from promontory.games.railroad_dice_2.events import (
    DiceReturned,
    EndTriggered,
    FinalRefill,
    LocomotiveFaceUsed,
    PassengersMoved,
    Restocked,
)
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import EndTrigger, Phase, RestockCause
from tests.support.railroad_dice_2 import (
    FILLING,
    at,
    beside,
    carry,
    decide,
    final,
    game_with,
    given,
    only,
    passengers,
    position,
)
from tests.support.railroad_maps import A

THREE = """
    ............
    .A─g.....g..
    ......B.....
    ............
    """
LAST = carry(2, by=3, start=(3, 1))
MOVED = PassengersMoved(A, at(3, 1), "T1", 3, 2, 1)


ROW = "    ............"


def below(row: str) -> str:
    """Return the map above with three more tiles south of it, whose second row is `row`."""
    return "\n".join([*THREE.splitlines()[1:5], ROW, row, ROW, ROW])


def nearly_empty(**fields: object) -> State:
    """Return a turn in which the last two passengers of three tiles can be carried."""
    return position(THREE, passengers="T1 2", locomotives=["3"], **fields)


def test_a_third_empty_tile_restocks_all_at_once() -> None:
    """[S-63, R-47] In the middle of the turn; what was used stays used."""
    after = (
        given(nearly_empty(bank=100))
        .when(LAST)
        .then(MOVED, Restocked(A, RestockCause.EMPTY_TILES, beside("T1 10, T2 5, T3 5")))
    )
    assert (passengers(after), after.bank) == ({"T1": 10, "T2": 5, "T3": 5}, 80)
    assert (after.active, after.turn.stations_used, after.turn.locomotives_used) == (A, (at(3, 1),), (3,))
    given(after).when(carry(1, by=3, start=(3, 1))).refused("STATION_USED", rule="Railroad Dice 2 4.5", x=3, y=1)


def test_a_restock_that_the_bank_cannot_pay_is_the_final_refill() -> None:
    """[S-64, R-50] It would leave the bank at 0, so it is made once, as the last one."""
    after = (
        given(nearly_empty(bank=20))
        .when(LAST)
        .then(MOVED, EndTriggered((EndTrigger.BANK_EMPTY,)), FinalRefill(beside("T1 10, T2 5, T3 5")))
    )
    assert (after.bank, after.phase, after.active) == (0, Phase.FINAL, A)


def test_a_bank_that_keeps_a_dollar_pays() -> None:
    """[Railroad Dice 2 4.7, R-50] 21 are enough for 20."""
    given(nearly_empty(bank=21)).when(LAST).then(
        MOVED, Restocked(A, RestockCause.EMPTY_TILES, beside("T1 10, T2 5, T3 5"))
    )


def test_a_dice_action_that_the_bank_cannot_pay_is_the_final_refill() -> None:
    """[R-50] Made in full, though the bank goes below 0."""
    after = (
        given(nearly_empty(bank=7))
        .when(RestockAll(A))
        .then(EndTriggered((EndTrigger.BANK_EMPTY,)), FinalRefill(beside("T1 10, T2 5, T3 5")))
    )
    assert after.bank == -13


def test_a_locomotive_face_that_the_bank_cannot_pay_is_spent() -> None:
    """[R-50, Railroad Dice 2 4.7] The final refill restocks all tiles instead of the one."""
    given(nearly_empty(bank=5, dice="locomotive curve")).when(UseLocomotive(A, 1, "T2")).then(
        LocomotiveFaceUsed(A, 1, "T2"),
        DiceReturned(A, (2,)),
        EndTriggered((EndTrigger.BANK_EMPTY,)),
        FinalRefill(beside("T1 10, T2 5, T3 5")),
    )


BARE = THREE.replace(".g..", "....")
"""As above, but the third tile has no station."""


def test_tiles_without_stations_do_not_count_as_empty() -> None:
    """[S-65, R-47] Two empty tiles are not three; but if only two have stations, both are enough."""
    six = below("    .g...g......")
    before = position(six, passengers="T1 2, T3 5, T4 5, T5 5", locomotives=["3"])
    given(before).when(LAST).then(MOVED)


def test_an_option_counts_tiles_without_stations_as_empty() -> None:
    """[R-47] `auto_restock_counts_bare_tiles: true`."""
    game = game_with(restocking__auto_restock_counts_bare_tiles=True, end__all_stations=False)
    before = position(BARE, passengers="T1 2", locomotives=["3"])
    given(before, game=game).when(LAST).then(MOVED, Restocked(A, RestockCause.EMPTY_TILES, beside("T1 10, T2 5")))
    partly = position(BARE, passengers="T1 2, T2 1", locomotives=["3"])
    given(partly, game=game).when(LAST).then(MOVED)


def test_fewer_than_three_tiles_with_stations_must_all_be_empty() -> None:
    """[Railroad Dice 2 4.7] Two of two."""
    before = position(BARE, passengers="T1 2", locomotives=["3"])
    given(before).when(LAST).then(MOVED, Restocked(A, RestockCause.EMPTY_TILES, beside("T1 10, T2 5")))
    partly = position(BARE, passengers="T1 2, T2 1", locomotives=["3"])
    given(partly).when(LAST).then(MOVED)


def test_a_mode_that_fills_up_gives_empty_tiles_the_same() -> None:
    """[R-17] And a tile that has some only what is missing."""
    six = below("    .g..........")
    before = position(six, passengers="T1 2, T4 3", locomotives=["3"])
    given(before, game=FILLING).when(LAST).then(
        MOVED, Restocked(A, RestockCause.EMPTY_TILES, beside("T1 10, T2 5, T3 5, T4 2"))
    )


def test_nothing_is_restocked_in_the_final_phase() -> None:
    """[S-71, R-52] Three empty tiles stay empty while others have passengers."""
    six = below("    .g..........")
    before = final(position(six, passengers="T1 2, T4 3", locomotives=["3"], money=[10, 10]))
    given(before).when(LAST).then(MOVED)


@pytest.mark.parametrize("option", ["add", "fill"])
def test_tiles_are_restocked_as_often_as_they_run_empty(option: str) -> None:
    """[R-47] Twice in this turn."""
    game = game_with(restocking__restock_mode=option, restocking__passengers_per_station=1, end__all_stations=False)
    before = position(
        """
        g.......
        │A─g....
        └┘......
        ........
        """,
        seats=1,
        passengers="T1 1",
        locomotives=["3 3"],
    )
    events, _ = decide(before, carry(1, by=3, start=(3, 1)), carry(3, by=3, start=(0, 0)), game=game)
    assert only(events, Restocked) == [Restocked(A, RestockCause.EMPTY_TILES, beside("T1 3"))] * 2
