"""Loads every server-side function library that the services call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from promontory.eventlog.functions import Library, event_log_library, load_library
from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import check_policy, connect
from promontory.matchmaking.redis_tickets import matchmaking_library


async def load_all(redis_url: str, *, require_aof: bool) -> Sequence[str]:
    """Load what is missing on the server, or any primary, at `redis_url`, and return the titles of all libraries.

    Raises `ServerUnreachable`, or `UnsafeServer` for a server that the services would refuse.
    """
    libraries = _libraries()
    async with connect(redis_url) as connections:
        await check_policy(connections.commands, require_aof=require_aof)
        for library in libraries:
            await load_library(connections.commands, library)
    return [library.title for library in libraries]


async def keep_loaded(redis_url: str, *, every_seconds: float, tell: Callable[[str], object]) -> None:
    """Load what is missing again and again, until cancelled: a node that joins a cluster has no functions.

    Gives `tell` a line for each library that was loaded, and for each time that no server answered.
    """
    async with connect(redis_url) as connections:
        caller = Caller(connections.commands, attempts=1, deadline_seconds=0)
        while True:
            try:
                for library in _libraries():
                    if await caller.call(partial(load_library, connections.commands, library)):
                        tell(f"loaded {library.title}")
            except EventLogUnavailable as error:
                tell(f"not loaded: {error}")
            await asyncio.sleep(every_seconds)


def _libraries() -> Sequence[Library]:
    return event_log_library(), matchmaking_library()
