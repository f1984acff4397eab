"""The one list of games, their data and their rules versions. A game more is one entry more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from promontory.games.kernel import Game
from promontory.games.pacific import cards as pacific_cards
from promontory.games.pacific.decider import Pacific
from promontory.games.railroad_dice_2.component_file import load_components, shipped_data
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.transcontinental.cards import load_deck, shipped_cards
from promontory.games.transcontinental.decider import Transcontinental

AnyGame: TypeAlias = Game[Any, Any, Any, Any, Any]


class UnknownGameError(LookupError):
    """No game has this name or code."""


class UnknownRulesError(LookupError):
    """The game has no such rules version."""


class Rules(msgspec.Struct, frozen=True):
    """One rules version, `<game>/<number>`.

    `load` makes the game from the bytes of a data file, or raises `ValueError`; `shipped_data` reads the data file that
    comes with these rules.
    """

    version: str
    load: Callable[[bytes], AnyGame]
    shipped_data: Callable[[], bytes]


class GameEntry(msgspec.Struct, frozen=True):
    """A game: its name, the code its match ids begin with, its gRPC service's full name, and its rules.

    `rules` holds the current version first; released ones stay, so that matches keep the rules they are pinned to.
    """

    name: str
    code: str
    service: str
    rules: tuple[Rules, ...]

    def shipped_data(self) -> bytes:
        """Return the data file that comes with the current rules."""
        return self.rules[0].shipped_data()

    def load(self, data: bytes | None = None, *, rules_version: str | None = None) -> AnyGame:
        """Return the game with `data`, or that shipped with them, under the current rules or `rules_version`.

        Raises:
            UnknownRulesError: there is no such version.
            ValueError: the data is malformed.
        """
        for rules in self.rules:
            if rules_version in (None, rules.version):
                return rules.load(rules.shipped_data() if data is None else data)
        versions = ", ".join(rules.version for rules in self.rules)
        raise UnknownRulesError(f"{self.name} has no rules {rules_version!r}, only {versions}")


GAMES: tuple[GameEntry, ...] = (
    GameEntry(
        name="transcontinental",
        code="tc",
        service="promontory.api.transcontinental.v1.TranscontinentalService",
        rules=(Rules("transcontinental/1", lambda data: Transcontinental(load_deck(data)), shipped_cards),),
    ),
    GameEntry(
        name="pacific",
        code="pc",
        service="promontory.api.pacific.v1.PacificService",
        rules=(Rules("pacific/1", lambda data: Pacific(pacific_cards.load_deck(data)), pacific_cards.shipped_deck),),
    ),
    GameEntry(
        name="railroad_dice_2",
        code="rd",
        service="promontory.api.railroad_dice_2.v1.RailroadDice2Service",
        rules=(Rules("railroad_dice_2/1", lambda data: RailroadDice2(load_components(data)), shipped_data),),
    ),
)


def entry(name: str) -> GameEntry:
    """Return the entry of the game called `name`, or raise `UnknownGameError`."""
    return _only(name, {game.name: game for game in GAMES})


def entry_by_code(code: str) -> GameEntry:
    """Return the entry of the game whose match ids begin with `code`, or raise `UnknownGameError`."""
    return _only(code, {game.code: game for game in GAMES})


def entry_of_match(match_id: str) -> GameEntry:
    """Return the entry of the game that a match is of, by its id: `tc-0a7-...`. Raises `UnknownGameError`."""
    return entry_by_code(match_id.partition("-")[0])


def game(name: str, data: bytes | None = None, *, rules_version: str | None = None) -> AnyGame:
    """Return the game called `name`, ready to play; see `GameEntry.load`.

    Raises `UnknownGameError` if there is none.
    """
    return entry(name).load(data, rules_version=rules_version)


def seat_counts(seats: range) -> str:
    """Return the numbers of seats that a game can be played with in words: `2`, or `2 to 4`."""
    return f"{seats.start} to {seats.stop - 1}" if len(seats) > 1 else str(seats.start)


def _only(key: str, games: dict[str, GameEntry]) -> GameEntry:
    if key not in games:
        raise UnknownGameError(f"no game {key!r}; there are: {', '.join(games)}")
    return games[key]
