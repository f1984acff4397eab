"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from promontory.client.errors import ClientClosed

T = TypeVar("T")

STOP_SECONDS = 5


class LoopThread:
    """Runs coroutines for other threads. Ends with the process if nobody stops it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stopped = self._is_left_open = False
        self._thread = threading.Thread(target=self._serve, name="promontory-client", daemon=True)
        self._process = os.getpid()
        self._thread.start()
        atexit.register(self._end_with_process)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what `coroutine` returns; an interrupt of the calling thread cancels it.

        Raises `ClientClosed` if the thread is stopped before that.
        """
        if not self.is_usable:
            coroutine.close()
            raise ClientClosed("the client is closed", reason="CLIENT_CLOSED")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ClientClosed("the client was closed", reason="CLIENT_CLOSED") from None
        except BaseException:
            future.cancel()
            raise

    def iterate(self, generator: AsyncGenerator[T]) -> Iterator[T]:
        """Yield what `generator` yields, and close it."""
        try:
            while True:
                try:
                    yield self.run(_next(generator))
                except StopAsyncIteration:
                    return
        finally:
            if self.is_usable:
                self.run(generator.aclose())

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Let what was cancelled come to its end, run `last`, and end the thread."""
        self.run(_after_cancelled(last))
        atexit.unregister(self._end_with_process)
        self._halt()

    @property
    def is_usable(self) -> bool:
        """Whether the thread runs in this process; a fork leaves it behind."""
        return not self._stopped and self._process == os.getpid()

    def _end_with_process(self) -> None:
        """End the thread and leave its loop open: another may still bring it the end of a call, and stumble if not."""
        self._is_left_open = True
        self._halt()

    def _halt(self) -> None:
        if self.is_usable:
            self._stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_SECONDS)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_all())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            if not self._is_left_open:
                self._loop.close()


async def _next(generator: AsyncGenerator[T]) -> T:
    return await anext(generator)


async def _after_cancelled(last: Coroutine[Any, Any, None]) -> None:
    ending = [task for task in asyncio.all_tasks() if task.cancelling()]
    if ending:
        await asyncio.wait(ending, timeout=STOP_SECONDS)
    await last


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
