"""How the demonstration spreads its matches."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from promontory.local.demo import demo_pools, spread
from promontory.matchmaking.domain import Pool
from tests.support.matchmaking import pool

DUEL, TWO, THREE, FOUR = (
    pool(id=f"{game}.{seats}", game=game, seats=seats)
    for game, seats in [("transcontinental", 2), ("pacific", 2), ("pacific", 3), ("pacific", 4)]
)


@pytest.mark.parametrize(
    ("pools", "matches", "expected"),
    [
        ([DUEL, TWO, THREE, FOUR], 20, [10, 4, 3, 3]),
        ([TWO, DUEL, THREE], 5, [2, 1, 2]),
        ([DUEL, TWO, THREE], 1, [1, 0, 0]),
        ([TWO, THREE, FOUR], 11, [4, 4, 3]),
    ],
)
def test_every_game_gets_as_many_matches_and_then_every_number_of_seats(
    pools: Sequence[Pool], matches: int, expected: list[int]
) -> None:
    """However many pools a game has; a game's pools stand together."""
    planned = spread(pools, matches)
    assert [n for _, n in planned] == expected
    assert sorted(each.id for each, _ in planned) == sorted(each.id for each in pools)


def test_only_the_games_asked_for_are_played() -> None:
    assert {pool.game for pool in demo_pools(["pacific"])} == {"pacific"}


def test_a_game_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no pool of chess; there are the games transcontinental, "):
        demo_pools(["chess"])
