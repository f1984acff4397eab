"""Policies by the names of their games and their own."""

from __future__ import annotations

import pytest

from promontory.bots.port import UnknownPolicyError
from promontory.bots.registry import policy, policy_names
from promontory.games.registry import GAMES, GameEntry, UnknownGameError

EVERY_GAME = pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)


@EVERY_GAME
def test_every_game_has_a_greedy_and_a_random_policy(entry: GameEntry) -> None:
    """A game in the list of games needs its module in `bots/`."""
    assert {"greedy", "random"} <= set(policy_names(entry.name))


@EVERY_GAME
def test_every_named_policy_can_be_made(entry: GameEntry) -> None:
    """A policy plays with the data of the game it is made for."""
    assert all(callable(policy(entry.load(), name)) for name in policy_names(entry.name))


@EVERY_GAME
def test_an_unknown_policy_is_refused_with_the_known_ones(entry: GameEntry) -> None:
    """The message says what there is."""
    with pytest.raises(UnknownPolicyError, match=r"has no policy 'perfect'; there are: .*greedy"):
        policy(entry.load(), "perfect")


def test_an_unknown_game_has_no_policies() -> None:
    """The name comes from outside, so it is looked up before a module is."""
    with pytest.raises(UnknownGameError, match="no game 'arena'"):
        policy_names("arena")
