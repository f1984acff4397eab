"""Waiting for the feeds of many buckets: one call waits for all, or in a cluster one call for each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_calls import Caller

PAGE_NOTES = 500
RETRY_SECONDS = 0.5

Entries = Sequence[tuple[bytes, Mapping[bytes, bytes]]]
Grown = Mapping[str, Entries]
"""The keys of feeds that have grown, and the entries that are new."""


class Feeds(Protocol):
    """Reads feeds, given by their keys and the ids of the entries after which to read."""

    async def read(self, cursors: Mapping[str, str], *, block_ms: int) -> Grown:
        """Return the feeds that have grown, waiting up to `block_ms` for one; 0 does not wait."""


class OneCall:
    """Feeds of one server."""

    def __init__(self, blocking: Caller) -> None:
        self._blocking = blocking

    async def read(self, cursors: Mapping[str, str], *, block_ms: int) -> Grown:
        """Return the feeds that have grown; see `Feeds.read`."""
        wait = ("BLOCK", block_ms) if block_ms > 0 else ()
        reply = await self._blocking.command(
            "XREAD", "COUNT", PAGE_NOTES, *wait, "STREAMS", *cursors, *cursors.values()
        )
        return {key.decode(): entries for key, entries in reply or ()}


class OneCallEach:
    """Feeds of a cluster, where a command can wait for the keys of one slot only.

    Each feed has a call of its own that goes on waiting, up to `longest_ms`, while others are told.
    """

    def __init__(self, blocking: Caller, *, longest_ms: int) -> None:
        self._blocking, self._longest_ms = blocking, longest_ms
        self._waits: dict[tuple[str, str], asyncio.Task[Entries | EventLogUnavailable]] = {}

    async def read(self, cursors: Mapping[str, str], *, block_ms: int) -> Grown:
        """Return the feeds that have grown; see `Feeds.read`.

        Feeds that no node answers for are left out. Raises `EventLogUnavailable` if that is all of them.
        """
        if block_ms <= 0:
            return await self._at_once(cursors)
        waits = {self._waiting(*cursor): cursor for cursor in cursors.items()}
        loop = asyncio.get_running_loop()
        ends = loop.time() + block_ms / 1000
        while waits:
            done, _ = await asyncio.wait(waits, timeout=ends - loop.time(), return_when=asyncio.FIRST_COMPLETED)
            ended = {waits.pop(wait): wait.result() for wait in done}
            self._waits = {cursor: wait for cursor, wait in self._waits.items() if cursor not in ended}
            failures = [found for found in ended.values() if isinstance(found, EventLogUnavailable)]
            if failures and not waits:
                raise failures[0]
            grown = {key: found for (key, _), found in ended.items() if found and not isinstance(found, Exception)}
            if grown or not done:
                return grown
        return {}

    async def _at_once(self, cursors: Mapping[str, str]) -> Grown:
        calls = [("XREAD", "COUNT", PAGE_NOTES, "STREAMS", key, cursor) for key, cursor in cursors.items()]
        replies = await self._blocking.pipeline(*calls)
        return {reply[0][0].decode(): reply[0][1] for reply in replies if reply}

    def _waiting(self, key: str, cursor: str) -> asyncio.Task[Entries | EventLogUnavailable]:
        """Return the call that waits for what comes after `cursor`."""
        if (key, cursor) not in self._waits:
            self._waits[key, cursor] = asyncio.create_task(self._wait(key, cursor))
        return self._waits[key, cursor]

    async def _wait(self, key: str, cursor: str) -> Entries | EventLogUnavailable:
        call = ("XREAD", "COUNT", PAGE_NOTES, "BLOCK", self._longest_ms, "STREAMS", key, cursor)
        try:
            reply = await self._blocking.command(*call)
        except EventLogUnavailable as error:
            await asyncio.sleep(RETRY_SECONDS)
            return error
        return reply[0][1] if reply else ()
