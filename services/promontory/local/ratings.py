"""Recomputing a pool's ratings against the server that holds the logs."""

from __future__ import annotations

from promontory.archive.opening import with_archive
from promontory.local.log import operators_log
from promontory.scoring.rebuild import Rebuilt, rebuild_pool


async def rebuild(redis_url: str, pool: str, *, archive_url: str = "") -> Rebuilt:
    """Return what recomputing the ratings of `pool` from the logs at `redis_url`, and in the archive, gives.

    Raises `LookupError` if no match of the pool was ever tallied.
    """
    async with operators_log(redis_url) as log:
        found = await rebuild_pool(await with_archive(log, archive_url), pool)
    if not found.matches:
        raise LookupError(f"no match of {pool!r} was ever tallied here: is that the pool's name?")
    return found
