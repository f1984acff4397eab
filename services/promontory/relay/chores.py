"""Obligations that the relay meets itself, beside handing out the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

AT_ONCE = 32


class Chores:
    """Works at obligations, each once at a time, and at most `AT_ONCE` together."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Start `work` at the obligation `name`, unless that is under way; wait while many others are."""
        if name in self._running:
            return
        while len(self._running) >= AT_ONCE:
            await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(_done(work))
        self._running[name] = task
        task.add_done_callback(lambda _: self._running.pop(name))

    async def finish(self) -> None:
        """Wait until all that was started is done."""
        await asyncio.gather(*self._running.values())


async def _done(work: Callable[[], Awaitable[None]]) -> None:
    await work()
