"""Waiting for what must come true, with a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def eventually(attempt: Callable[[], Awaitable[T]], *, seconds: float = 10.0) -> T:
    """Return the first truthy result of `attempt`, or fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (result := await attempt()):
        assert time.monotonic() < deadline, f"did not come true in {seconds} s"
        await asyncio.sleep(0.005)
    return result
