"""Connections that pack commands by hiredis, as redis-py's synchronous ones do; its asynchronous ones use Python."""

from __future__ import annotations

from typing import Any

import hiredis
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import DataError


def pack_command(name: str | bytes, *arguments: Any) -> list[bytes]:
    """Return a command as the server reads it; a `name` of several words is several arguments.

    Raises redis-py's `DataError` if an argument is neither text, bytes nor a number.
    """
    try:
        return [hiredis.pack_command((*name.split(), *arguments))]
    except TypeError as error:
        raise DataError(str(error)) from error


class PackingPool(BlockingConnectionPool):
    """A pool of such connections."""

    def make_connection(self) -> Any:
        """Return a new connection."""
        connection: Any = super().make_connection()  # type: ignore[no-untyped-call]
        connection.pack_command = pack_command
        return connection
