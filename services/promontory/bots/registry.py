"""The policies of each game: the module `promontory.bots.<game>` lists what makes them as `POLICIES`.

Matches of older rules are played by the policies that were written for them, in `promontory.bots.<game>_v<number>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

from promontory.bots.port import Policy, UnknownPolicyError
from promontory.games import registry
from promontory.games.registry import AnyGame


def policy_names(game_name: str) -> tuple[str, ...]:
    """Return the names of a game's policies.

    Raises `promontory.games.registry.UnknownGameError` if there is no such game.
    """
    return tuple(_policies(f"promontory.bots.{registry.entry(game_name).name}"))


def policy(game: AnyGame, name: str) -> Policy:
    """Return the policy called `name` for `game`, whose rules version and data (cards, tiles) it plays with.

    Raises `UnknownPolicyError` if the game has none of this name.
    """
    policies = _policies(_module_of(game))
    if name not in policies:
        raise UnknownPolicyError(f"{game.name} has no policy {name!r}; there are: {', '.join(policies)}")
    return policies[name](game)


def house_player(policy_name: str, seat: int) -> str:
    """Return the player id of a house bot that no pool names, by its policy and its seat: `house-greedy-1`."""
    return f"house-{policy_name}-{seat}"


def _module_of(game: AnyGame) -> str:
    current = f"promontory.bots.{registry.entry(game.name).name}"
    older = f"{current}_v{game.rules_version.rpartition('/')[2]}"
    return older if find_spec(older) else current


def _policies(module: str) -> Mapping[str, Callable[[AnyGame], Policy]]:
    policies: Mapping[str, Callable[[AnyGame], Policy]] = import_module(module).POLICIES
    return policies
