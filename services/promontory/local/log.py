"""The event log as operators' commands open it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from promontory.eventlog.redis_server import check_policy, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.registry import GAMES
from promontory.runtime import clock


@asynccontextmanager
async def operators_log(redis_url: str) -> AsyncIterator[RedisEventLog]:
    """Give the log in the server at `redis_url`, also before a rollout has loaded this release's functions there.

    Raises `ServerUnreachable`, or `UnsafeServer` for a server that the services would refuse in any case.
    """
    async with connect(redis_url) as connections:
        await check_policy(connections.commands, require_aof=False)
        yield RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)


async def closed_matches(log: RedisEventLog) -> AsyncIterator[str]:
    """Yield the ids of the closed matches in the log; the other streams there are ratings."""
    codes = {game.code for game in GAMES}
    async for stream in log.closed_streams():
        if stream.partition("-")[0] in codes:
            yield stream
