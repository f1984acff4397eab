"""How the demonstration spreads its matches."""

from __future__ import annotations

import pytest

from promontory.local.demo import demo_pools, shares


@pytest.mark.parametrize(
    ("total", "parts", "expected"), [(20, 2, [10, 10]), (11, 4, [3, 3, 3, 2]), (1, 3, [1, 0, 0]), (0, 2, [0, 0])]
)
def test_matches_are_shared_as_evenly_as_can_be(total: int, parts: int, expected: list[int]) -> None:
    assert shares(total, parts) == expected


def test_only_the_games_asked_for_are_played() -> None:
    assert {pool.game for pool in demo_pools(["pacific"])} == {"pacific"}


def test_a_game_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no pool of chess; there are the games transcontinental, pacific"):
        demo_pools(["chess"])
