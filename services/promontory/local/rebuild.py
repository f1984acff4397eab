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


def sentence(found: Rebuilt) -> str:
    """Return `found` in words."""
    counted = f"{found.pool}: {found.matches} matches, {found.players} players"
    if found.first_difference is None:
        return f"{counted}; every rating follows from the logs, to the byte (leaderboard {found.leaderboard_sha256})"
    where = found.first_difference
    return f"{counted}; differs from the logs at entry {where.version}, match {where.match_id}: {where.cause}"
