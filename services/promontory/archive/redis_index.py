"""The archive's index in Redis: sorted sets of match ids, scored by the time a match ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promontory.archive.port import Entry, Listed
from promontory.eventlog.redis_calls import Caller
from promontory.games.registry import GAMES

GAME_KEY = "{archive}:game:"
PLAYER_KEY = "{archive}:player:"
SCAN_PAGE = 500


class RedisArchiveIndex:
    """An `ArchiveIndex` in the server that `caller` calls. About 100 bytes for a match and for each of its players."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def add(self, entry: Entry) -> None:
        """Note a match."""
        keys = [GAME_KEY + entry.game, *(PLAYER_KEY + player for player in set(entry.players))]
        await self._caller.pipeline(*(("ZADD", key, entry.ended_at_ms, entry.match_id) for key in keys))

    async def holds(self, match_id: str) -> bool:
        """Tell whether `match_id` was noted."""
        game = match_id.partition("-")[0]
        return await self._caller.command("ZSCORE", GAME_KEY + game, match_id) is not None

    async def is_empty(self) -> bool:
        """Tell whether no match was noted."""
        found: int = await self._caller.command("EXISTS", *(GAME_KEY + game.code for game in GAMES))
        return found == 0

    async def of_game(self, code: str, *, limit: int) -> Sequence[Listed]:
        """Return the latest matches of a game; see `ArchiveIndex.of_game`."""
        return await self._latest(GAME_KEY + code, limit)

    async def of_player(self, player_id: str, *, limit: int) -> Sequence[Listed]:
        """Return the latest matches of a player; see `ArchiveIndex.of_player`."""
        return await self._latest(PLAYER_KEY + player_id, limit)

    async def _latest(self, key: str, limit: int) -> Sequence[Listed]:
        flat: Any = await self._caller.command("ZREVRANGE", key, 0, limit - 1, "WITHSCORES")
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [Listed(match_id.decode(), int(float(score))) for match_id, score in pairs]

    async def clear(self) -> None:
        """Forget everything."""
        async for keys in self._caller.keys("{archive}:*", page=SCAN_PAGE):
            if keys:
                await self._caller.command("UNLINK", *keys)
