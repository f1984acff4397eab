"""Views as text: each game draws its own, in its module `drawing`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from promontory.games.registry import AnyGame


def draw(game: AnyGame, view: Any) -> str:
    """Return a view of `game`, a seat's or a spectator's, as lines for people to read."""
    text: str = import_module(f"promontory.games.{game.name}.drawing").draw(game, view)
    return text
