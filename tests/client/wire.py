"""A TCP connection to a server that can be cut, or go dead without anybody being told."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

CHUNK = 65_536


class Wire:
    """Forwards connections to `target`."""

    def __init__(self, target: str) -> None:
        self._host, _, self._port = target.partition(":")
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._dead: set[asyncio.StreamWriter] = set()
        self.connections = 0

    @property
    def address(self) -> str:
        """Where the wire is reached."""
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    def cut(self) -> None:
        """Reset all connections of now."""
        for writer in self._writers:
            writer.transport.abort()

    def deaden(self) -> None:
        """Let nothing more through the connections of now, but leave them open."""
        self._dead |= self._writers

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        server, to_server = await asyncio.open_connection(self._host, int(self._port))
        self._writers |= {to_client, to_server}
        for reader, writer in ((client, to_server), (server, to_client)):
            self._tasks.add(asyncio.create_task(self._forward(reader, writer)))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(CHUNK):
                if writer not in self._dead:
                    writer.write(chunk)
        writer.transport.abort()
        self._writers.discard(writer)
