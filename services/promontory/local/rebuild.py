"""Recomputing a pool's ratings against the server that holds the logs."""

from __future__ import annotations

from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime import clock
from promontory.scoring.rebuild import Rebuilt, rebuild_pool


async def rebuild(redis_url: str, pool: str) -> Rebuilt:
    """Return what recomputing the ratings of `pool` from the logs at `redis_url` gives."""
    async with connect(redis_url) as connections:
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        return await rebuild_pool(log, pool)
