"""A database of somebody's server that the demonstration has to itself for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from promontory.eventlog.redis_server import connect

MARK = "promontory:demonstration"


class DatabaseInUse(Exception):
    """The database holds something: the demonstration neither mixes with it nor deletes it."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"the database {url} is not empty, or another demonstration runs on it; the demonstration wants one to "
            "itself and empties it afterwards: name an unused one, as in redis://127.0.0.1:6379/5"
        )


@contextmanager
def spare_database(url: str) -> Iterator[None]:
    """Take the empty database at `url`, and empty it again at the end. Raises `DatabaseInUse`."""
    asyncio.run(_take(url))
    try:
        yield
    finally:
        asyncio.run(_empty(url))


async def _take(url: str) -> None:
    async with connect(url) as connections:
        client = connections.commands
        is_mine = await client.set(MARK, "1", nx=True)
        if is_mine and await client.dbsize() > 1:
            await client.delete(MARK)
            is_mine = False
        if not is_mine:
            raise DatabaseInUse(url)


async def _empty(url: str) -> None:
    async with connect(url) as connections:
        await connections.commands.flushdb()
