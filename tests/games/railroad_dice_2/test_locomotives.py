"""The stack of locomotives, and buying them [Railroad Dice 2 1.5, 4.4]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.commands import BuyLocomotive, EndTurn
from promontory.games.railroad_dice_2.events import LocomotiveBought, LocomotivesScrapped, PassengersMoved
from promontory.games.railroad_dice_2.state import State
from tests.support.railroad_dice_2 import at, begun, carry, given, money, position
from tests.support.railroad_maps import A, B

MAP = """
    ........
    .A─g....
    ......B.
    ........
    """


def owned(state: State) -> list[tuple[int, ...]]:
    """Return the locomotives of every seat."""
    return [player.locomotives for player in state.players]


def test_the_stack_of_two_players_lacks_one_of_each_value() -> None:
    """[S-51, Railroad Dice 2 1.5] Smallest on top, and no 6."""
    assert begun(2).stack == (2, 2, 2, 2, 3, 3, 3, 4, 4, 5)


@pytest.mark.parametrize("seats", [3, 4])
def test_more_players_have_all_fifteen(seats: int) -> None:
    """[Railroad Dice 2 1.5, R-39] 5, 4, 3, 2, 1 of them."""
    assert begun(seats).stack == (2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6)


@pytest.mark.parametrize(("value", "price"), [(2, 5), (3, 10), (4, 15), (5, 20), (6, 25)])
def test_prices_rise_with_the_value(value: int, price: int) -> None:
    """[R-39] The price goes to the bank."""
    before = position(MAP, money=25, stack=(value,), has_scrapped=True)
    after = given(before).when(BuyLocomotive(A, value)).then(LocomotiveBought(A, value, price))
    assert (money(after), after.bank, owned(after), after.stack) == ([25 - price, 25], 300 + price, [(value,), ()], ())


def test_only_the_top_of_the_stack_can_be_bought() -> None:
    """[S-52, Railroad Dice 2 4.4] 3s are sold after the last 2."""
    given(position(MAP, money=30)).when(BuyLocomotive(A, 3)).refused(
        "NOT_TOP_OF_STACK", rule="Railroad Dice 2 4.4", top=2
    )


def test_an_empty_stack_sells_nothing() -> None:
    """[Railroad Dice 2 4.4]."""
    given(position(MAP, stack=())).when(BuyLocomotive(A, 2)).refused("STACK_EMPTY", rule="Railroad Dice 2 4.4")


def test_a_locomotive_must_be_paid_for() -> None:
    """[Railroad Dice 2 4.4]."""
    given(position(MAP, money=4)).when(BuyLocomotive(A, 2)).refused(
        "CANNOT_AFFORD", rule="Railroad Dice 2 4.4", cost=5, money=4
    )


def test_any_number_may_be_bought_in_a_turn_and_owned() -> None:
    """[R-41] As long as the money lasts."""
    buying = [BuyLocomotive(A, 2)] * 4 + [BuyLocomotive(A, 3)]
    assert given(position(MAP, money=30)).when(*buying).then_state(owned) == [(2, 2, 2, 2, 3), ()]


FIRST_4 = {
    "seats": 4,
    "money": [16, 10, 10, 10],
    "bank": 100,
    "stack": (4, 4, 5),
    "locomotives": ["2 3", "2 2", "3", "2 2 3 3"],
}


def test_the_first_4_takes_all_2s_out_of_the_game() -> None:
    """[S-53, R-40] The buyer's too, and without compensation."""
    after = (
        given(position(MAP, **FIRST_4))
        .when(BuyLocomotive(A, 4))
        .then(LocomotiveBought(A, 4, 15), LocomotivesScrapped(2, (1, 2, 0, 2)))
    )
    assert (owned(after), money(after)[A], after.bank) == ([(3, 4), (), (3,), (3, 3)], 1, 115)


def test_what_a_2_has_carried_this_turn_stays() -> None:
    """[S-53, R-40] Money and the used station."""
    after = (
        given(position(MAP, **FIRST_4))
        .when(carry(2, by=2, start=(3, 1)), BuyLocomotive(A, 4))
        .then_state(lambda state: (money(state)[A], state.turn.stations_used))
    )
    assert after == (16 + 2 - 15, (at(3, 1),))


def test_a_second_4_takes_nothing() -> None:
    """[S-54, R-40] Only the first one sold in the game does."""
    before = position(MAP, money=15, stack=(4, 5), has_scrapped=True, locomotives=["", "3"])
    after = given(before).when(BuyLocomotive(A, 4)).then(LocomotiveBought(A, 4, 15))
    assert owned(after) == [(4,), (3,)]


def test_the_first_4_counts_by_whomever_it_is_bought() -> None:
    """[R-40] After A's, B's is the second."""
    before = position(MAP, money=15, stack=(4, 4, 5), locomotives=["2", "2"])
    given(before).when(BuyLocomotive(A, 4), EndTurn(A), BuyLocomotive(B, 4)).then_last(LocomotiveBought(B, 4, 15))


def test_a_locomotive_may_run_in_the_turn_in_which_it_was_bought() -> None:
    """[S-55, Railroad Dice 2 4.4]."""
    before = position(MAP, stack=(3,), passengers="T1 9, T2 5")
    given(before).when(BuyLocomotive(A, 3), carry(3, by=3, start=(3, 1))).then_last(
        PassengersMoved(A, at(3, 1), "T1", 3, 3, 1)
    )
