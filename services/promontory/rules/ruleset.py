"""The game a service referees: its codec, and the rules versions it knows with the data they are played with."""

from __future__ import annotations

import re

import msgspec

from promontory.codec.port import GameCodec
from promontory.games.registry import AnyGame
from promontory.runtime.errors import Kind, Refusal


class Ruleset(msgspec.Struct, frozen=True):
    """One game with its codec; `code` begins its match ids, `games` holds its rules versions, the current one first."""

    code: str
    codec: GameCodec
    games: tuple[AnyGame, ...]

    @property
    def game(self) -> AnyGame:
        """The rules that new matches are pinned to."""
        return self.games[0]

    def pinned(self, rules_version: str, data_hash: bytes) -> AnyGame:
        """Return the rules that a match is pinned to, or raise the refusal `RULES_VERSION_UNKNOWN`."""
        for game in self.games:
            if game.rules_version == rules_version and game.data_hash == data_hash:
                return game
        text = f"this server does not have the rules {rules_version} with the match's data"
        metadata = {"rulesVersion": rules_version, "dataHash": data_hash.hex()}
        raise Refusal(Kind.FORBIDDEN_NOW, "RULES_VERSION_UNKNOWN", text, metadata=metadata)

    def owns(self, match_id: str) -> bool:
        """Tell whether `match_id` has the form of this game's match ids: `tc-0a7-` and 26 of a-z, 2-7."""
        return re.fullmatch(rf"{self.code}-[0-9a-f]{{3}}-[a-z2-7]{{26}}", match_id) is not None
