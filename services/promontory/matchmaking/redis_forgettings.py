"""Forgettings in the server that `redis_tickets` uses too."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from promontory.matchmaking.forgetting import Forgetting
from promontory.matchmaking.redis_records import read
from promontory.matchmaking.redis_tickets import Server, key

DUE = key("forget", "due")
"""Players by when their forgettings are to be gone on with (sorted set)."""

_decode = msgspec.json.Decoder(Forgetting).decode


class RedisForgettings:
    """The port `Forgettings`; those that are done are kept for `retention_seconds`."""

    def __init__(self, server: Server, *, retention_seconds: float) -> None:
        self._server, self._retention_ms = server, int(1000 * retention_seconds)

    async def find(self, player: str) -> Forgetting | None:
        """Return the last forgetting of `player`, or None."""
        row = await self._server.command("GET", key("forgotten", player))
        return read(_decode, row)

    async def save(self, forgetting: Forgetting, *, due_ms: int) -> None:
        """Keep a forgetting; see `Forgettings.save`. A crash in between leaves it due, so that it is gone on with."""
        player, row = forgetting.player, msgspec.json.encode(forgetting)
        kept = ("PX", self._retention_ms) if forgetting.is_done else ()
        await self._server.command("SET", key("forgotten", player), row, *kept)
        if forgetting.is_done:
            await self._server.command("ZREM", DUE, player)
        else:
            await self._server.command("ZADD", DUE, due_ms, player)

    async def due(self, now_ms: int, *, limit: int) -> Sequence[str]:
        """Return players whose forgettings are to be gone on with."""
        rows = await self._server.command("ZRANGEBYSCORE", DUE, "-inf", now_ms, "LIMIT", 0, limit)
        return [row.decode() for row in rows]
