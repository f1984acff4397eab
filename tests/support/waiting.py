"""Waiting for what must come true, with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(attempt: Callable[[], Awaitable[T]], *, seconds: float = 30.0) -> T:
    """Return the first truthy result of `attempt`, or fail after `seconds`.

    Waits twice as long as an attempt takes between two of them, so that asking leaves the processor to what is awaited.
    """
    begun = time.monotonic()
    deadline = begun + seconds
    while not (result := await attempt()):
        now = time.monotonic()
        assert now < deadline, f"did not come true in {seconds} s"
        await asyncio.sleep(max(0.005, min(2 * (now - begun), 1.0)))
        begun = time.monotonic()
    return result
