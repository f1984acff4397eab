"""A proxy before a server's UNIX socket that loses what it is told to lose."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

CHUNK = 65_536


class FaultProxy:
    """Forwards connections on the socket `path` to the socket `target`; cuts a connection where a fault is planned.

    `lost` counts the faults that happened.
    """

    def __init__(self, target: Path, path: Path) -> None:
        self._target = target
        self._path = path
        self._replies_to_lose: list[bytes] = []
        self._requests_to_lose: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.lost = 0

    @property
    def url(self) -> str:
        """The proxy's own address."""
        return f"unix://{self._path}"

    def lose_reply(self, *, to: bytes, times: int = 1) -> None:
        """Cut the connection instead of returning the replies to the next `times` requests that contain `to`."""
        self._replies_to_lose += [to] * times

    def lose_request(self, *, containing: bytes, times: int = 1) -> None:
        """Cut the connection instead of forwarding the next `times` requests with `containing`."""
        self._requests_to_lose += [containing] * times

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self._path)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        [task.cancel() for task in self._tasks]
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_unix_connection(self._target)
        doomed = asyncio.Event()
        pumps = {
            asyncio.create_task(self._forward_requests(client, to_server, doomed)),
            asyncio.create_task(self._forward_replies(server, to_client, doomed)),
        }
        self._tasks |= pumps
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for writer in (to_client, to_server):
            writer.close()
        self._tasks -= pumps
        [pump.cancel() for pump in pumps]

    async def _forward_requests(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, doomed: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while request := await client.read(CHUNK):
                if self._takes(self._requests_to_lose, request):
                    return
                if self._takes(self._replies_to_lose, request):
                    doomed.set()
                to_server.write(request)
                await to_server.drain()

    async def _forward_replies(
        self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter, doomed: asyncio.Event
    ) -> None:
        with suppress(ConnectionError):
            while (reply := await server.read(CHUNK)) and not doomed.is_set():
                to_client.write(reply)
                await to_client.drain()

    def _takes(self, planned: list[bytes], request: bytes) -> bool:
        fault = next((text for text in planned if text in request), None)
        if fault is None:
            return False
        planned.remove(fault)
        self.lost += 1
        return True
