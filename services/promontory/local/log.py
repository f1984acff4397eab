"""The event log as operators' commands open it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from promontory.eventlog.port import Commit, LogCorrupt, StreamArchived, StreamStatus
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


async def closed_logs(log: RedisEventLog) -> AsyncIterator[tuple[str, Sequence[Commit] | None]]:
    """Yield the closed matches in the log with their commits, None where these do not verify.

    Those that are given up to the archive just now are left out; the other streams there are ratings.
    """
    codes = {game.code for game in GAMES}
    async for stream in log.closed_streams():
        if stream.partition("-")[0] in codes:
            commits = await _commits(log, stream)
            if commits or not await _is_given_up(log, stream):
                yield stream, commits


async def _commits(log: RedisEventLog, stream: str) -> Sequence[Commit] | None:
    try:
        return await log.read(stream)
    except (StreamArchived, LogCorrupt):
        return None


async def _is_given_up(log: RedisEventLog, stream: str) -> bool:
    """Tell whether the log has no more of `stream` than its head, without which it may have seemed torn."""
    head = await log.head(stream)
    return head is None or head.status is StreamStatus.ARCHIVED
