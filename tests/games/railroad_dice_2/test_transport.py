"""Carrying passengers home [Railroad Dice 2 4.5]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.commands import EndTurn
from promontory.games.railroad_dice_2.events import PassengersMoved, TurnEnded, TurnStarted
from tests.support.railroad_dice_2 import at, carry, given, money, passengers, position
from tests.support.railroad_maps import A, B

NEAR = """
    ........
    .A─g....
    ......B.
    ........
    """
RULE = "Railroad Dice 2 4.5"


def test_passengers_become_dollars() -> None:
    """[Railroad Dice 2 4.5] The bank has nothing to do with it."""
    before = position(NEAR, locomotives=["3"])
    after = given(before).when(carry(3, by=3, start=(3, 1))).then(PassengersMoved(A, at(3, 1), "T1", 3, 3, 1))
    assert (money(after), passengers(after), after.bank) == ([13, 10], {"T1": 7, "T2": 5}, 300)


def test_the_speed_limits_the_tiles() -> None:
    """[S-56, R-42] Three tiles are too far for a 2, whatever the number of dice."""
    before = position(
        """
        ............
        .A───────g..
        ......B.....
        ............
        """,
        locomotives=["2 3"],
    )
    given(before).when(carry(2, by=2, start=(9, 1))).refused("TOO_FAR", rule="R-42", tiles=3, locomotive=2)
    after = given(before).when(carry(3, by=3, start=(9, 1))).then(PassengersMoved(A, at(9, 1), "T3", 3, 3, 3))
    assert (passengers(after)["T3"], money(after)[A]) == (2, 13)


def test_the_best_route_counts() -> None:
    """[S-57, R-43] Two tiles in the west; that the east line crosses four is irrelevant."""
    before = position(
        """
        ........
        ┌─A─┐...
        │...│...
        │...│...
        │...│...
        └─g─┘...
        ......B.
        ........
        """,
        locomotives=["2"],
    )
    given(before).when(carry(2, by=2, start=(2, 5))).then(PassengersMoved(A, at(2, 5), "T3", 2, 2, 2))


def test_a_tile_that_is_entered_twice_counts_once() -> None:
    """[S-58, R-42] West, east, west again."""
    before = position(
        """
        ........
        .A──┐...
        ..g─┘.B.
        ........
        """,
        locomotives=["2"],
    )
    given(before).when(carry(2, by=2, start=(2, 2))).then(PassengersMoved(A, at(2, 2), "T1", 2, 2, 2))


def test_capacity_and_stock_limit_the_passengers() -> None:
    """[S-59, Railroad Dice 2 4.5] And at least one must be carried."""
    before = given(position(NEAR, locomotives=["3 4"], passengers="T1 2, T2 5"))
    before.when(carry(4, by=3, start=(3, 1))).refused("OVER_CAPACITY", rule=RULE, count=4, locomotive=3)
    before.when(carry(3, by=3, start=(3, 1))).refused("NOT_ENOUGH_PASSENGERS", rule=RULE, count=3, passengers=2)
    before.when(carry(0, by=3, start=(3, 1))).refused("BAD_COUNT", rule=RULE, count=0)
    after = before.when(carry(2, by=3, start=(3, 1))).then(PassengersMoved(A, at(3, 1), "T1", 3, 2, 1))
    assert (money(after)[A], passengers(after)["T1"]) == (12, 0)


TWO_STATIONS = """
    g.......
    │A─g....
    └┘....B.
    ........
    """


def test_a_station_departs_once_a_turn_and_so_does_a_locomotive() -> None:
    """[S-60, R-12, R-44] Two stations of a tile share its stack, but depart each on their own."""
    first = carry(1, by=3, start=(3, 1))
    before = given(position(TWO_STATIONS, locomotives=["3 3"], passengers="T1 15, T2 5"))
    before.when(first, carry(2, by=3, start=(3, 1))).refused("STATION_USED", rule=RULE, x=3, y=1)
    second = carry(2, by=3, start=(0, 0))
    assert before.when(first, second).then_state(passengers) == {"T1": 12, "T2": 5}


def test_a_locomotive_that_ran_is_refused() -> None:
    """[S-60, R-44] One departure uses exactly one locomotive."""
    before = given(position(TWO_STATIONS, locomotives=["3"], passengers="T1 15, T2 5"))
    before.when(carry(1, by=3, start=(3, 1)), carry(1, by=3, start=(0, 0))).refused(
        "LOCOMOTIVE_USED", rule="R-44", locomotive=3
    )


def test_a_locomotive_must_be_owned() -> None:
    """[Railroad Dice 2 4.5] By the player."""
    given(position(NEAR, locomotives=["3", "2"])).when(carry(1, by=2, start=(3, 1))).refused(
        "NO_SUCH_LOCOMOTIVE", rule=RULE, locomotive=2
    )


def test_the_own_home_is_no_departure_station() -> None:
    """[S-61, R-45] The passengers of its tile can be fetched through another station."""
    before = given(position(NEAR, locomotives=["2"]))
    before.when(carry(1, by=2, start=(1, 1))).refused("OWN_HOME", rule="R-45")
    before.when(carry(1, by=2, start=(3, 1))).then(PassengersMoved(A, at(3, 1), "T1", 2, 1, 1))


def test_a_departure_station_must_be_linked() -> None:
    """[S-62, R-45]."""
    given(position(NEAR, locomotives=["2"])).when(carry(1, by=2, start=(6, 2))).refused(
        "NOT_LINKED", rule="R-45", x=6, y=2
    )


def test_passengers_wait_at_stations_only() -> None:
    """[Railroad Dice 2 4.5]."""
    given(position(NEAR, locomotives=["2"])).when(carry(1, by=2, start=(2, 1))).refused(
        "NO_SUCH_STATION", rule=RULE, x=2, y=1
    )


def test_another_players_home_serves_without_leave_or_fee() -> None:
    """[R-45, R-46] B gets nothing."""
    before = position(
        """
        ........
        .A───B..
        ........
        ........
        """,
        locomotives=["2"],
    )
    assert given(before).when(carry(2, by=2, start=(5, 1))).then_state(money) == [12, 10]


def test_fewer_passengers_than_possible_may_be_carried_or_none() -> None:
    """[R-44, R-54] There is no duty to transport."""
    before = position(NEAR, locomotives=["3"])
    given(before).when(carry(1, by=3, start=(3, 1))).then(PassengersMoved(A, at(3, 1), "T1", 3, 1, 1))
    given(before).when(EndTurn(A)).then(TurnEnded(5, A, auto=False, stalled=1, idle=0), TurnStarted(6, B))


@pytest.mark.parametrize("start", [(3, 1), (0, 0)])
def test_stations_and_locomotives_are_fresh_in_the_next_turn(start: tuple[int, int]) -> None:
    """[Railroad Dice 2 4.1] Both are used for this turn only."""
    before = position(TWO_STATIONS, locomotives=["3"], passengers="T1 15, T2 5")
    run = carry(1, by=3, start=start)
    given(before).when(run, EndTurn(A), EndTurn(B), run).then_last(PassengersMoved(A, at(*start), "T1", 3, 1, 1))
