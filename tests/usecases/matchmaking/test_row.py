"""Thousands of tickets in their order."""

from __future__ import annotations

from random import Random

import pytest

from promontory.matchmaking.domain import Entrant, Place
from promontory.matchmaking.row import BLOCK, Row
from promontory.matchmaking.stretch import Entry


def entry(rating: float, number: int) -> Entry:
    return rating, number % 7, f"tk-{number}", Place(Entrant(f"p{number}"))


def entries(count: int, *, seed: int = 1) -> list[Entry]:
    """Return entries in no order, many of the same rating."""
    rng = Random(seed)
    return [entry(float(rng.randrange(count // 3 + 1)), number) for number in range(count)]


def all_of(row: Row) -> list[Entry]:
    return row.between(float("-inf"), float("inf"))


@pytest.mark.parametrize("at_once", [1, 50, 5000])
def test_entries_stand_in_order_however_many_come_at_once(at_once: int) -> None:
    come, row = entries(10 * BLOCK), Row()
    for first in range(0, len(come), at_once):
        row.add(come[first : first + at_once])
    assert all_of(row) == sorted(come)
    assert len(row) == len(come)


def test_whoever_is_removed_is_gone() -> None:
    come, row = entries(5 * BLOCK), Row()
    row.add(come)
    for each in come[::2]:
        row.remove(each)
    row.remove(come[0])
    assert all_of(row) == sorted(come[1::2])
    for each in come[1::2]:
        row.remove(each)
    assert (all_of(row), len(row)) == ([], 0)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (3, 4), (100, 101), (20, 400), (-5, 9999)])
def test_a_part_can_be_told_and_replaced(low: float, high: float) -> None:
    come, row = entries(5 * BLOCK), Row()
    row.add(come)
    part = sorted(each for each in come if low <= each[0] < high)
    assert row.between(low, high) == part
    row.replace(low, high, part[1::2])
    assert all_of(row) == sorted([*part[1::2], *(each for each in come if not low <= each[0] < high)])
    assert len(row) == len(all_of(row))


def test_neighbours_are_told_from_the_nearest_on() -> None:
    come, row = entries(5 * BLOCK), Row()
    row.add(come)
    at = 2 * BLOCK
    middle = sorted(come)[at]
    assert list(row.below(middle)) == sorted(come)[:at][::-1]
    assert list(row.above(middle)) == sorted(come)[at + 1 :]


def test_an_empty_row_has_no_part() -> None:
    row = Row()
    row.replace(0, 1, [])
    row.remove(entry(1, 1))
    assert (all_of(row), len(row)) == ([], 0)
