"""Loads every server-side function library that the services call."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.redis_server import check_policy, connect
from promontory.matchmaking.redis_tickets import matchmaking_library


async def load_all(redis_url: str, *, require_aof: bool) -> Sequence[str]:
    """Load what is missing on the server at `redis_url` and return the titles of all libraries.

    Raises `ServerUnreachable`, or `UnsafeServer` for a server that the services would refuse.
    """
    libraries = (event_log_library(), matchmaking_library())
    async with connect(redis_url) as connections:
        await check_policy(connections.commands, require_aof=require_aof)
        for library in libraries:
            await load_library(connections.commands, library)
    return [library.title for library in libraries]
