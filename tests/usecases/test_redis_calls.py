"""Calls to the server."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

import pytest
from redis.asyncio import Redis

from promontory.eventlog.redis_calls import Caller


async def test_a_cancellation_that_the_transport_loses_still_ends_the_task() -> None:
    """redis-py loses one that comes as a request is sent (Python 3.11)."""
    caller = Caller(cast("Redis", None), attempts=1, deadline_seconds=1)
    sent = asyncio.Event()

    async def send() -> str:
        sent.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "answer"

    calling = asyncio.ensure_future(caller.call(send))
    await sent.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
