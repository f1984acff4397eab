"""The policies of each game: the module `promontory.bots.<game>` lists what makes them as `POLICIES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from promontory.bots.port import Policy, UnknownPolicyError
from promontory.games import registry
from promontory.games.registry import AnyGame


def policy_names(game_name: str) -> tuple[str, ...]:
    """Return the names of a game's policies.

    Raises `promontory.games.registry.UnknownGameError` if there is no such game.
    """
    return tuple(_policies(game_name))


def policy(game: AnyGame, name: str) -> Policy:
    """Return the policy called `name` for `game`, whose data (cards, tiles) it plays with.

    Raises `UnknownPolicyError` if the game has none of this name.
    """
    policies = _policies(game.name)
    if name not in policies:
        raise UnknownPolicyError(f"{game.name} has no policy {name!r}; there are: {', '.join(policies)}")
    return policies[name](game)


def _policies(game_name: str) -> Mapping[str, Callable[[AnyGame], Policy]]:
    module = import_module(f"promontory.bots.{registry.entry(game_name).name}")
    policies: Mapping[str, Callable[[AnyGame], Policy]] = module.POLICIES
    return policies
