"""A server's whole content at one moment, as it gives it to a replica: a file that a server can start from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError

CHUNK_BYTES = 1 << 20


class SnapshotRefused(Exception):
    """The server gives no snapshot; the message is its answer."""


async def snapshot(server: Redis) -> AsyncIterator[bytes]:
    """Yield the content of `server` as an RDB file, in pieces, all of it as of one moment after the call.

    The server goes on serving; it forks, and writes the file to its own disk first. Needs the rights to `REPLCONF` and
    `SYNC`. Raises `SnapshotRefused`, and `OSError` or `EOFError` if the connection breaks.
    """
    connection: Any = await server.connection_pool.get_connection()
    try:
        await connection.send_command("REPLCONF", "rdb-only", "1")
        try:
            await connection.read_response()
        except NoPermissionError as error:
            raise SnapshotRefused(f"{error}: a backup's user needs the rights +sync and +replconf") from error
        await connection.send_command("SYNC")
        left = await _length(connection._reader)
        while left:
            piece: bytes = await connection._reader.read(min(left, CHUNK_BYTES))
            if not piece:
                raise EOFError("the server ended the snapshot early")
            left -= len(piece)
            yield piece
    finally:
        await connection.disconnect(nowait=True)
        await server.connection_pool.release(connection)


async def _length(reader: Any) -> int:
    """Return how many bytes follow; empty lines come while the server is still writing."""
    line = b"\n"
    while line == b"\n":
        line = await reader.readline()
    if not line.startswith(b"$"):
        raise SnapshotRefused(line.decode(errors="replace").strip() or "the connection was closed")
    return int(line[1:])
