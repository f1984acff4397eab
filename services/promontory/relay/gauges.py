"""What the relay measures now and then, beside handing out obligations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from promontory.eventlog.functions import LibraryMissing
from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_server import Vitals
from promontory.runtime import metrics

log = structlog.get_logger()

INTERVAL_SECONDS = 15.0


class Measured(Protocol):
    """Something with gauges."""

    async def measure(self) -> None:
        """Set the gauges. Raises `EventLogUnavailable`."""


async def measure(gauges: Sequence[Measured], stopping: asyncio.Event) -> None:
    """Measure at intervals until `stopping` is set."""
    while not stopping.is_set():
        try:
            for each in gauges:
                await each.measure()
        except EventLogUnavailable as error:
            log.warning("event_log_unavailable", cause=str(error))
        try:
            async with asyncio.timeout(INTERVAL_SECONDS):
                await stopping.wait()
        except TimeoutError:
            continue


class LogServer:
    """Shows how the server that holds the log is, as `vitals` finds it."""

    def __init__(self, vitals: Callable[[], Awaitable[Vitals]]) -> None:
        self._vitals = vitals

    async def measure(self) -> None:
        """Set the gauges of memory and persistence."""
        found = await self._vitals()
        metrics.LOG_MEMORY_BYTES.set(found.memory_bytes)
        metrics.LOG_MEMORY_LIMIT_BYTES.set(found.memory_limit_bytes)
        metrics.LOG_PERSISTS.set(found.persists)


class LogFunctions:
    """Tells of a server that lacks the functions, as `verify` finds: one that joined a cluster has none."""

    def __init__(self, verify: Callable[[], Awaitable[None]]) -> None:
        self._verify = verify

    async def measure(self) -> None:
        """Set the gauge, and log which server lacks what."""
        try:
            await self._verify()
        except LibraryMissing as error:
            log.error("functions_missing", cause=str(error))  # noqa: TRY400 - the sentence says it all
            metrics.LOG_FUNCTIONS_MISSING.set(1)
        else:
            metrics.LOG_FUNCTIONS_MISSING.set(0)
