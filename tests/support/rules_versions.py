"""The next rules version of each game beside the present one, made as a developer makes it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from promontory.games import registry
from promontory.games.kernel import Outcome
from promontory.games.registry import AnyGame, GameEntry, Rules
from tests.house.source import PACKAGE
from tools import rules_versions

NAMES = tuple(game.name for game in registry.GAMES)
LOADERS = {
    "transcontinental": ("cards", "load_deck", "shipped_cards", "Transcontinental"),
    "pacific": ("cards", "load_deck", "shipped_deck", "Pacific"),
    "railroad_dice_2": ("component_file", "load_components", "shipped_data", "RailroadDice2"),
}


def tree(directory: Path, *names: str) -> rules_versions.Rules:
    """Return the rules versions in a copy, in `directory`, of the games called `names` and their bots."""
    for name in names:
        source, target = PACKAGE / "games" / name, directory / "games" / name
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        (directory / "bots").mkdir(exist_ok=True)
        for file in (PACKAGE / "bots").glob(f"{name}*.py"):
            shutil.copy(file, directory / "bots" / file.name)
    return rules_versions.Rules(directory)


@contextmanager
def kept(directory: Path) -> Iterator[None]:
    """Make the rules that each game has into an older version, which can be imported while this lasts."""
    rules = tree(directory, *NAMES)
    for game in NAMES:
        rules.begin_next(game)
    packages = [import_module(f"promontory.games.{game}") for game in NAMES]
    added = [(package, str(directory / "games" / game)) for package, game in zip(packages, NAMES, strict=True)]
    added.append((import_module("promontory.bots"), str(directory / "bots")))
    before = set(sys.modules)
    for package, folder in added:
        package.__path__.append(folder)
    yield
    for package, folder in added:
        package.__path__.remove(folder)
    for name in set(sys.modules) - before:
        if name.startswith(("promontory.games.", "promontory.bots.")):
            del sys.modules[name]


def older(entry: GameEntry) -> Rules:
    """Return the rules that `kept` has made of the present ones of a game."""
    cards, load, shipped, decider = LOADERS[entry.name]
    module: Any = import_module(f"promontory.games.{entry.name}.v1.{cards}")
    kind = getattr(import_module(f"promontory.games.{entry.name}.v1.decider"), decider)
    return Rules(kind.rules_version, lambda data: kind(getattr(module, load)(data)), getattr(module, shipped))


def newer(entry: GameEntry, *, data: bytes | None = None) -> Rules:
    """Return rules that differ from the present ones of a game in one: scores count double. They come with `data`."""
    present: Any = type(entry.load())

    class Doubled(present):  # type: ignore[misc]
        rules_version = f"{entry.name}/2"

        def outcome(self, state: Any) -> Outcome | None:
            found: Outcome | None = super().outcome(state)
            return found and replace(found, scores=tuple(2 * score for score in found.scores))

    def load(file: bytes) -> AnyGame:
        game: AnyGame = entry.load(file)
        game.__class__ = Doubled
        return game

    return Rules(Doubled.rules_version, load, entry.shipped_data if data is None else lambda: data)


def both(entry: GameEntry, *, data: bytes | None = None) -> GameEntry:
    """Return a game's entry with the newer rules and, behind them, the older ones."""
    return replace(entry, rules=(newer(entry, data=data), older(entry)))
