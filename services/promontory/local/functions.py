"""Loads every server-side function library that the services call."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.redis_server import connect
from promontory.matchmaking.redis_tickets import matchmaking_library


async def load_all(redis_url: str) -> Sequence[str]:
    """Load what is missing on the server at `redis_url` and return the titles of all libraries."""
    connections = connect(redis_url)
    libraries = (event_log_library(), matchmaking_library())
    try:
        for library in libraries:
            await load_library(connections.commands, library)
    finally:
        await connections.aclose()
    return [library.title for library in libraries]
