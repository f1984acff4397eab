"""The game a service referees: its codec, and the rules versions it knows with the data they are played with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from promontory.codec.port import GameCodec
from promontory.codec.registry import codec
from promontory.games import registry
from promontory.games.registry import AnyGame, Rules
from promontory.runtime.errors import Kind, Refusal


class Ruleset(msgspec.Struct, frozen=True):
    """One game with its codec; `code` begins its match ids.

    `games` holds its rules versions with each data they are played with, those of new matches first; `files` the data
    by hash.
    """

    code: str
    codec: GameCodec
    games: tuple[AnyGame, ...]
    files: Mapping[bytes, bytes]

    @property
    def game(self) -> AnyGame:
        """The rules that new matches are pinned to."""
        return self.games[0]

    def pinned(self, rules_version: str, data_hash: bytes) -> AnyGame:
        """Return the rules that a match is pinned to, or raise the refusal `RULES_VERSION_UNKNOWN`."""
        for game in self.games:
            if game.rules_version == rules_version and game.data_hash == data_hash:
                return game
        raise _unknown(rules_version, data_hash)

    def data(self, data_hash: bytes) -> bytes:
        """Return the data file with this hash, or raise the refusal `RULES_VERSION_UNKNOWN`."""
        if data_hash not in self.files:
            raise _unknown(self.game.rules_version, data_hash)
        return self.files[data_hash]

    def owns(self, match_id: str) -> bool:
        """Tell whether `match_id` has the form of this game's match ids: `tc-0a7-` and 26 of a-z, 2-7."""
        return re.fullmatch(rf"{self.code}-[0-9a-f]{{3}}-[a-z2-7]{{26}}", match_id) is not None


def load_ruleset(game_name: str, data: Sequence[bytes] = ()) -> Ruleset:
    """Return the game called `game_name` with its codec, all its rules versions, and the files `data`.

    New matches are played by the current rules with the first of `data`, or with the file that comes with them. The
    files that come with any of the versions are always there. A file need not be readable by every version: those of
    `data` after the first may be there for older ones alone.

    Raises:
        UnknownGameError: there is no such game.
        ValueError: the current rules cannot read the first file, or no rules another one; the message says which,
            counted from 1, and why.
    """
    entry = registry.entry(game_name)
    for number, file in enumerate(data, start=1):
        _check_readable(entry.rules[: 1 if number == 1 else None], file, called=f"data file {number} of {game_name}")
    files = dict.fromkeys((*data, *(rules.shipped_data() for rules in entry.rules)))
    games = tuple(game for rules in entry.rules for game in _readable(rules, files))
    return Ruleset(entry.code, codec(game_name), games, {hashlib.sha256(file).digest(): file for file in files})


def _check_readable(versions: Iterable[Rules], file: bytes, *, called: str) -> None:
    """Raise what the first of `versions` says against `file` if none of them can read it."""
    problems: list[ValueError] = []
    for rules in versions:
        try:
            rules.load(file)
        except ValueError as error:
            problems.append(error)
        else:
            return
    raise ValueError(f"{called}: {problems[0]}") from problems[0]


def _readable(rules: Rules, files: Iterable[bytes]) -> Iterator[AnyGame]:
    for file in files:
        with suppress(ValueError):
            yield rules.load(file)


def _unknown(rules_version: str, data_hash: bytes) -> Refusal:
    data = f"the data {data_hash.hex()[:12]}, a file that PROMONTORY_DATA_FILES can name"
    text = f"this server does not have the rules {rules_version} with {data}"
    metadata = {"rulesVersion": rules_version, "dataHash": data_hash.hex()}
    return Refusal(Kind.FORBIDDEN_NOW, "RULES_VERSION_UNKNOWN", text, metadata=metadata)
