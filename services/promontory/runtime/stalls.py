"""Streams whose reader takes nothing: noticed and cut, so that what they hold is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import grpc

from promontory.runtime.alarm import Alarm
from promontory.runtime.errors import Kind, Refusal

STATUS_SECONDS = 1.0
"""How long the status of a stream that is cut may take to get through to one who does not read."""


class Reader:
    """The reader of one stream, as the task that serves it knows them: by how fast they take what they are sent.

    Each message is sent in the body of a `with` statement on it.
    """

    def __init__(self, stall_seconds: float, fail: Callable[[Exception], Awaitable[None]]) -> None:
        """Once a message is not taken for `stall_seconds`, `fail` sends the refusal, and then the task is cancelled."""
        self._seconds, self._fail = stall_seconds, fail
        self._task = asyncio.current_task()
        self._cutting: asyncio.Task[None] | None = None
        self._is_taking = False
        self._stalled = Alarm(self._begin_cut)

    @property
    def is_cut(self) -> bool:
        """Whether the stream was cut."""
        return self._cutting is not None

    def __enter__(self) -> None:
        self._is_taking = True
        self._stalled.put_off(self._seconds)

    def __exit__(self, *_: object) -> None:
        self._is_taking = False

    def leave(self) -> None:
        """Watch no more: the stream is over."""
        self._stalled.stop()

    async def fail(self, error: Exception) -> None:
        """Have `error` sent as the end of the stream, by whatever task does its last work.

        Where the task that serves was cancelled while the reader took nothing, that is another one, which gRPC does not
        wait for; the reader learns of the end after what was sent before.
        """
        if asyncio.current_task() is self._task:
            await self._fail(error)
            return
        with suppress(TimeoutError, grpc.aio.AbortError, grpc.aio.InternalError):
            async with asyncio.timeout(STATUS_SECONDS):
                await self._fail(error)

    def _begin_cut(self) -> None:
        if self._is_taking:
            self._cutting = asyncio.create_task(self._cut())

    async def _cut(self) -> None:
        text = f"the reader took nothing for {self._seconds:g} seconds; watch again"
        await self.fail(Refusal(Kind.TOO_MANY, "SLOW_READER", text, metadata={"retrySeconds": 1}))
        if self._task is not None:
            self._task.cancel()
