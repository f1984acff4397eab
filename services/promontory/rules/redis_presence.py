"""Presence in the event log's server, so that every replica knows who is connected to another.

| key | type | content |
|---|---|---|
| `{bucket}:m:<match id>:there` | sorted set | seats by ms since the epoch; expires |

A time only ever grows, so that a process that was cut off does not take back what another one has told meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from promontory.eventlog.port import EventLogUnavailable, bucket_of
from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import connect
from promontory.games.kernel import Seat

FLUSH_SECONDS = 1.0
KEPT_SECONDS = 31 * 86_400
"""Longer than anybody may be gone before a match can be claimed."""


class RedisPresence:
    """A `Presence` that tells the server, in one go now and then, whom this process has seen."""

    def __init__(self, server: Caller, clock: Callable[[], int]) -> None:
        self._server, self._clock = server, clock
        self._fresh: dict[tuple[str, Seat], int] = {}
        self._failed = False
        self.since_ms = clock()

    def seen(self, match_id: str, seat: Seat) -> None:
        """Note that the player of `seat` is there now."""
        self._fresh[match_id, seat] = self._clock()

    async def last_seen(self, match_id: str) -> Mapping[Seat, int]:
        """Return when the players of seats were last there; see `Presence.last_seen`."""
        await self._flush()
        (seen,) = await self._tell(("ZRANGE", _key(match_id), 0, -1, "WITHSCORES"))
        return {int(seat): int(ms) for seat, ms in zip(seen[::2], seen[1::2], strict=True)}

    async def run(self) -> None:
        """Tell the server again and again, until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            with suppress(EventLogUnavailable):  # the event log itself reports that the server is gone
                await self._flush()

    async def _flush(self) -> None:
        fresh, self._fresh = self._fresh, {}
        if not fresh:
            return
        notes = [("ZADD", _key(match_id), "GT", ms, seat) for (match_id, seat), ms in fresh.items()]
        lives = [("EXPIRE", key, KEPT_SECONDS) for key in {_key(match_id) for match_id, _ in fresh}]
        try:
            await self._tell(*notes, *lives)
        except EventLogUnavailable:
            self._fresh = fresh | self._fresh
            raise

    async def _tell(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Return the server's answers, and note since when it gives any."""
        try:
            answers = await self._server.pipeline(*commands)
        except EventLogUnavailable:
            self._failed = True
            raise
        if self._failed:
            self._failed, self.since_ms = False, self._clock()
        return answers


@asynccontextmanager
async def open_presence(url: str, *, clock: Callable[[], int]) -> AsyncIterator[RedisPresence]:
    """Give the presence kept in the server at `url`, and tell it there until the end."""
    async with connect(url) as connections:
        presence = RedisPresence(Caller(connections.commands, attempts=2, deadline_seconds=2.0), clock)
        telling = asyncio.create_task(presence.run())
        try:
            yield presence
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling


def _key(match_id: str) -> str:
    return f"{{{bucket_of(match_id)}}}:m:{match_id}:there"
