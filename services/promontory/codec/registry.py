"""The codec of each game, found by the game's name: the module `promontory.codec.<name>` holds it as `CODEC`."""

from __future__ import annotations

from importlib import import_module

from promontory.codec.port import GameCodec
from promontory.games import registry


def codec(game_name: str) -> GameCodec:
    """Return the codec of the game called `game_name`.

    Raises `promontory.games.registry.UnknownGameError` if there is no such game.
    """
    found: GameCodec = import_module(f"promontory.codec.{registry.entry(game_name).name}").CODEC
    return found
