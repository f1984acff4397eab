"""What follows from placing a die, one by one or in a batch [Railroad Dice 2 2.5, 6.2]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.commands import Build, EndTurn, PlaceDie
from promontory.games.railroad_dice_2.events import DiePlaced, HandDie, IncomePaid, Linked
from promontory.games.railroad_dice_2.vocabulary import DieKind
from tests.support.railroad_dice_2 import (
    at,
    dice_in_bank,
    given,
    hand,
    money,
    place,
    position,
    step,
    take,
)
from tests.support.railroad_maps import A, B

SIMPLE, COMPLEX = DieKind.SIMPLE, DieKind.COMPLEX


def test_a_die_that_links_nothing_causes_one_event() -> None:
    """[Railroad Dice 2 2.5, S-01] It costs nothing on plain, and leaves the hand."""
    before = position(
        """
        ........
        .A......
        ......B.
        ........
        """,
        dice="straight",
    )
    after = (
        given(before).when(place(1, "straight", 1, to=(2, 1))).then(DiePlaced(A, 1, SIMPLE, "straight", 1, at(2, 1), 0))
    )
    assert (after.turn.hand, money(after), after.bank) == ((), [10, 10], 300)


def test_the_builder_pays_for_the_terrain() -> None:
    """[R-33, S-06] A mountain costs 1, to the bank."""
    before = position(
        """
        ........
        .A─.....
        ......B.
        ........
        """,
        dice="straight",
        terrain={(3, 1): "^"},
    )
    after = (
        given(before).when(place(1, "straight", 1, to=(3, 1))).then(DiePlaced(A, 1, SIMPLE, "straight", 1, at(3, 1), 1))
    )
    assert (money(after), after.bank) == ([9, 10], 301)


def test_a_die_that_cannot_be_paid_for_is_refused() -> None:
    """[Railroad Dice 2 2.4, S-07] Water costs 2, and A has 1."""
    before = position(
        """
        ........
        .A─.....
        ......B.
        ........
        """,
        dice="straight",
        terrain={(3, 1): "~"},
        money=1,
    )
    given(before).when(place(1, "straight", 1, to=(3, 1))).refused("CANNOT_AFFORD", rule="R-33", cost=2, money=1)


def test_a_replacement_is_free_and_brings_the_simple_die_into_the_hand() -> None:
    """[R-33, R-20, S-13] Its face is fixed; the terrain below costs nothing again."""
    before = position(
        """
        ........
        .A──....
        ......B.
        ........
        """,
        dice="switch_right curve",
        terrain={(2, 1): "~"},
        money=0,
    )
    returned = HandDie(3, SIMPLE, "straight", fixed=True)
    after = (
        given(before)
        .when(place(1, "switch_right", 1, to=(2, 1)))
        .then(DiePlaced(A, 1, COMPLEX, "switch_right", 1, at(2, 1), 0, returned=returned))
    )
    assert after.turn.hand == (*hand("straight curve")[1:], returned)
    assert dice_in_bank(after) == (20, 15)


def test_a_first_link_to_a_gray_station_earns_5() -> None:
    """[S-29, R-35] Only the builder earns."""
    before = position(
        """
        ........
        .A─.g...
        ......B.
        ........
        """,
        dice="straight",
    )
    after = (
        given(before)
        .when(place(1, "straight", 1, to=(3, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(3, 1), 0),
            Linked(A, at(4, 1), by=A),
            IncomePaid(A, at(4, 1), 5),
        )
    )
    assert (money(after), after.bank) == ([15, 10], 295)


def test_a_second_line_to_the_same_station_earns_nothing() -> None:
    """[S-30, R-35] Only the first connection counts."""
    before = position(
        """
        ........
        .A─g....
        .└─.....
        ......B.
        """,
        dice="curve",
    )
    given(before).when(place(1, "curve", 3, to=(3, 2))).then(DiePlaced(A, 1, SIMPLE, "curve", 3, at(3, 2), 0))


def test_a_link_to_another_home_earns_5_for_both() -> None:
    """[S-31, R-35] The owner gets its 5 directly after the builder."""
    before = position(
        """
        ........
        .A──.B..
        ........
        ........
        """,
        dice="straight",
    )
    after = (
        given(before)
        .when(place(1, "straight", 1, to=(4, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(4, 1), 0),
            Linked(A, at(5, 1), by=A),
            Linked(B, at(1, 1), by=A),
            IncomePaid(A, at(5, 1), 5),
            IncomePaid(B, at(5, 1), 5),
        )
    )
    assert money(after) == [15, 15]


def test_two_homes_pay_once_only() -> None:
    """[S-32, R-37] Not again when B builds to A."""
    before = position(
        """
        ........
        .A───B..
        .└───...
        ........
        """,
        dice="curve",
        active=B,
    )
    given(before).when(place(1, "curve", 3, to=(5, 2), seat=B)).then(DiePlaced(B, 1, SIMPLE, "curve", 3, at(5, 2), 0))


def test_joining_a_network_links_only_what_a_train_can_reach() -> None:
    """[S-33, R-24] A comes from W and can only go on to E."""
    before = position(
        """
        ............
        .A──.8──B...
        .....└─g....
        ............
        """,
        dice="straight",
    )
    after = given(before).when(place(1, "straight", 1, to=(4, 1))).then_state(money)
    assert after == [15, 15]


def test_joining_a_network_may_link_several_stations() -> None:
    """[S-34] In the order of `y`, then `x`, 5 for each; B still does not reach the gray station."""
    before = position(
        """
        ............
        .A──.3──B...
        .....└─g....
        ............
        """,
        dice="straight",
    )
    after = (
        given(before)
        .when(place(1, "straight", 1, to=(4, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(4, 1), 0),
            Linked(A, at(8, 1), by=A),
            Linked(A, at(7, 2), by=A),
            Linked(B, at(1, 1), by=A),
            IncomePaid(A, at(8, 1), 5),
            IncomePaid(B, at(8, 1), 5),
            IncomePaid(A, at(7, 2), 5),
        )
    )
    assert money(after) == [20, 15]


PASSIVE = """
    ............
    .A─8──.─B...
    ...└g.......
    ............
    """


def test_links_of_others_pay_nobody() -> None:
    """[S-35, R-36] B is linked to the gray station through what A built; A is not."""
    after = (
        given(position(PASSIVE, dice="straight"))
        .when(place(1, "straight", 1, to=(6, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(6, 1), 0),
            Linked(A, at(8, 1), by=A),
            Linked(B, at(1, 1), by=A),
            Linked(B, at(4, 2), by=A),
            IncomePaid(A, at(8, 1), 5),
            IncomePaid(B, at(8, 1), 5),
        )
    )
    assert after.players[A].linked == {at(8, 1)}


def test_links_of_others_are_not_paid_later_either() -> None:
    """[S-36, R-36] B finishes a line of its own to a station that it is linked to already."""
    before = position(
        """
        ............
        .A─8────B...
        ...└g.──┘...
        ............
        """,
        dice="straight",
        active=B,
    )
    given(before).when(place(1, "straight", 1, to=(5, 2), seat=B)).then(
        DiePlaced(B, 1, SIMPLE, "straight", 1, at(5, 2), 0)
    )


def test_the_rotation_is_recorded_as_the_smallest_with_the_same_tracks() -> None:
    """[Railroad Dice 2 2.1] A straight turned three times is one turned once."""
    before = position(
        """
        ........
        .A......
        ......B.
        ........
        """,
        dice="straight",
    )
    given(before).when(place(1, "straight", 3, to=(2, 1))).then(DiePlaced(A, 1, SIMPLE, "straight", 1, at(2, 1), 0))


BATCH = """
    ........
    .A......
    ......B.
    ........
    """


def test_a_batch_is_refused_as_a_whole() -> None:
    """[S-49, Railroad Dice 2 6.2] The refusal names the step: the curve has no W end."""
    steps = (
        step(1, "straight", 1, to=(2, 1)),
        step(2, "curve", 1, to=(3, 1)),
        step(3, "straight", 0, to=(3, 2)),
    )
    before = position(BATCH, dice="straight curve straight")
    given(before).when(Build(A, steps)).refused("NOT_CONNECTED", rule="R-22", x=3, y=1, step=1)


def test_a_batch_places_its_dice_in_order() -> None:
    """[S-50, Railroad Dice 2 6.2] Three events; the line has an open S end."""
    steps = (
        step(1, "straight", 1, to=(2, 1)),
        step(2, "curve", 2, to=(3, 1)),
        step(3, "straight", 0, to=(3, 2)),
    )
    before = position(BATCH, dice="straight curve straight")
    given(before).when(Build(A, steps)).then(
        DiePlaced(A, 1, SIMPLE, "straight", 1, at(2, 1), 0),
        DiePlaced(A, 2, SIMPLE, "curve", 2, at(3, 1), 0),
        DiePlaced(A, 3, SIMPLE, "straight", 0, at(3, 2), 0),
    )
    given(before).when(Build(A, steps)).then_map(
        """
        ........
        .A─┐....
        ...│..B.
        ........
        """
    )


def test_income_of_a_step_may_pay_for_a_later_one() -> None:
    """[Railroad Dice 2 6.2] The link earns 5, the water costs 2."""
    before = position(
        """
        ........
        .A─.g...
        ......B.
        ........
        """,
        dice="straight straight",
        terrain={(1, 2): "~"},
        money=0,
    )
    link, water = step(1, "straight", 1, to=(3, 1)), step(2, "straight", 0, to=(1, 2))
    assert given(before).when(Build(A, (link, water))).then_state(money) == [3, 0]
    given(before).when(Build(A, (water, link))).refused("CANNOT_AFFORD", rule="R-33", cost=2, money=0, step=0)


def test_a_die_returned_by_a_step_may_be_used_in_a_later_one() -> None:
    """[Railroad Dice 2 6.2] Its number is predictable: the next free one of the turn."""
    before = position(
        """
        ........
        .A─.....
        ......B.
        ........
        """,
        dice="switch_right",
    )
    steps = (step(1, "switch_right", 1, to=(2, 1)), step(2, "straight", 0, to=(2, 2)))
    given(before).when(Build(A, steps)).then_map(
        """
        ........
        .A3.....
        ..│...B.
        ........
        """
    )


@pytest.mark.parametrize("numbers", [(), (1, 1, 1, 1, 1)], ids=["none", "five"])
def test_a_batch_has_one_to_four_steps(numbers: tuple[int, ...]) -> None:
    """[Railroad Dice 2 6.1] A hand never holds more dice."""
    steps = tuple(step(number, "straight", 1, to=(2, 1)) for number in numbers)
    before = position(BATCH, dice="straight")
    given(before).when(Build(A, steps)).refused("BAD_REQUEST", rule="Railroad Dice 2 6.2", field="steps")


def test_a_batch_with_a_malformed_step_is_refused_before_any_step() -> None:
    """[Railroad Dice 2 6.2] Without the number of a step, though the first one would fail."""
    steps = (step(9, "straight", 1, to=(2, 1)), step(1, "straight", 4, to=(2, 1)))
    before = position(BATCH, dice="straight")
    given(before).when(Build(A, steps)).refused("BAD_REQUEST", rule="Railroad Dice 2 6.2", field="steps[1].rotation")


def test_nothing_is_taken_back() -> None:
    """[R-58] What lies on the map is in no hand any more."""
    before = position(BATCH, dice="straight")
    there = place(1, "straight", 1, to=(2, 1))
    given(before).when(there, there).refused("NO_SUCH_DIE", rule="Railroad Dice 2 4.3", die=1)


def test_placing_may_be_interrupted() -> None:
    """[Railroad Dice 2 4.1, R-19] By buying, for example, and ends with the turn."""
    before = position(BATCH, dice="straight straight")
    given(before).when(place(1, "straight", 1, to=(2, 1)), EndTurn(A), place(2, "straight", 1, to=(3, 1))).refused(
        "NOT_YOUR_TURN", rule="Railroad Dice 2 6.1", toAct=B
    )


def test_anybodys_simple_dice_may_be_replaced() -> None:
    """[R-28, R-23] Here one that only B's trains run on, by a crossing that A's line feeds."""
    before = position(
        """
        ........
        A─│.....
        ..│.....
        ..B.....
        """,
        dice="crossing",
    )
    given(before).when(place(1, "crossing", 0, to=(2, 1))).then_map(
        """
        ........
        A─┼.....
        ..│.....
        ..B.....
        """
    )


def test_a_taken_die_pays_income_too() -> None:
    """[Railroad Dice 2 4.2, R-35] The switch leads to a gray station."""
    before = position(
        """
        ........
        .A──....
        ..g...B.
        ........
        """
    )
    assert given(before).when(take("switch_right", 1, to=(2, 1))).then_state(money) == [15, 10]


def test_the_face_may_be_left_out_where_the_die_shows_track() -> None:
    """[Railroad Dice 2 4.3]."""
    before = position(BATCH, dice="straight ?")
    given(before).when(PlaceDie(A, 1, at(2, 1), 1)).then(DiePlaced(A, 1, SIMPLE, "straight", 1, at(2, 1), 0))
    given(before).when(PlaceDie(A, 2, at(2, 1), 1)).refused(
        "FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=2, face="question"
    )
