"""Reading the feeds of many buckets: one call reads all and waits, or in a cluster one call a node, and one a feed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_calls import Caller

PAGE_NOTES = 500
RETRY_SECONDS = 0.5
POLL_SECONDS = 0.01
"""Between questions to the nodes of a cluster while there is news."""
LINGER_SECONDS = 0.05
"""How long after the last news that was asked for the nodes go on being asked."""
PATIENCE_SECONDS = 0.1
"""How long those nodes that answer wait to be heard for one that does not."""

Entries = Sequence[tuple[bytes, Mapping[bytes, bytes]]]
Cursors = Sequence[tuple[str, str]]
"""The keys of feeds, and the ids after which to read."""
Grown = dict[str, Entries]
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


class OneCallANode:
    """Feeds of a cluster, where a command can read or wait for the keys of one slot only.

    While there is news each node is asked again and again, for all of its feeds by one call of the function `news`.
    Then each feed has a call of its own, which waits up to `longest_ms`, and goes on while others are told.
    """

    def __init__(self, commands: Caller, blocking: Caller, *, news: str, longest_ms: int) -> None:
        self._questions = _Questions(commands, news)
        self._waits = _Waits(blocking, longest_ms)
        self._lingers_until = 0.0

    async def read(self, cursors: Mapping[str, str], *, block_ms: int) -> Grown:
        """Return the feeds that have grown; see `Feeds.read`.

        Feeds that no node answers for are left out. Raises `EventLogUnavailable` if that is all of them.
        """
        loop = asyncio.get_running_loop()
        ends = loop.time() + block_ms / 1000
        while not (grown := await self._questions.read(cursors)):
            if block_ms <= 0:
                return {}
            if loop.time() + POLL_SECONDS > min(ends, self._lingers_until):
                return await self._waits.read(cursors, ends=ends)
            await asyncio.sleep(POLL_SECONDS)
        self._lingers_until = loop.time() + LINGER_SECONDS
        return grown


class _Questions:
    """Calls of the function `news`, one for each node; one that is not answered goes on while others are told."""

    def __init__(self, commands: Caller, news: str) -> None:
        self._commands, self._news = commands, news
        self._asked: dict[Cursors, asyncio.Task[Grown | EventLogUnavailable]] = {}

    async def read(self, cursors: Mapping[str, str]) -> Grown:
        """Return the feeds that have grown, of the nodes that answer; raise what went wrong if none does."""
        nodes = await self._commands.by_node(tuple(cursors))
        feeds = [tuple((key, cursors[key]) for key in keys) for keys in nodes]
        fresh = {each: asyncio.create_task(self._ask(each)) for each in feeds if each not in self._asked}
        self._asked = {each: fresh.get(each) or self._asked[each] for each in feeds}
        if fresh:
            await asyncio.wait(fresh.values(), timeout=PATIENCE_SECONDS)
        ended = {each: asked.result() for each, asked in self._asked.items() if asked.done()}
        self._asked = {each: asked for each, asked in self._asked.items() if each not in ended}
        failures = [found for found in ended.values() if isinstance(found, EventLogUnavailable)]
        if failures and len(failures) == len(feeds):
            raise failures[0]
        return {key: page for found in ended.values() if isinstance(found, dict) for key, page in found.items()}

    async def _ask(self, feeds: Cursors) -> Grown | EventLogUnavailable:
        """Return what one node tells of its `feeds`. A few that it does not hold any more are read one by one."""
        parts = (part for feed in feeds for part in feed)
        try:
            reply = await self._commands.command("FCALL", self._news, 1, feeds[0][0], PAGE_NOTES, *parts)
            grown = {key.decode(): _entries(notes) for key, notes in reply if isinstance(notes, list)}
            strays = {key.decode() for key, notes in reply if not isinstance(notes, list)}
            return grown | await self._one_by_one([feed for feed in feeds if feed[0] in strays])
        except EventLogUnavailable as error:
            return error

    async def _one_by_one(self, feeds: Cursors) -> Grown:
        calls = [("XREAD", "COUNT", PAGE_NOTES, "STREAMS", key, cursor) for key, cursor in feeds]
        replies = await self._commands.pipeline(*calls) if calls else ()
        return {reply[0][0].decode(): reply[0][1] for reply in replies if reply}


class _Waits:
    """Calls that wait, one for each feed: up to `longest_ms`, and while others are told."""

    def __init__(self, blocking: Caller, longest_ms: int) -> None:
        self._blocking, self._longest_ms = blocking, longest_ms
        self._waits: dict[tuple[str, str], asyncio.Task[Entries | EventLogUnavailable]] = {}

    async def read(self, cursors: Mapping[str, str], *, ends: float) -> Grown:
        """Return the feeds that have grown, waiting for one until the loop's time `ends`."""
        self._waits = {cursor: self._waits.get(cursor) or self._begin(*cursor) for cursor in cursors.items()}
        waits = {wait: cursor for cursor, wait in self._waits.items()}
        loop = asyncio.get_running_loop()
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

    def _begin(self, key: str, cursor: str) -> asyncio.Task[Entries | EventLogUnavailable]:
        return asyncio.create_task(self._wait(key, cursor))

    async def _wait(self, key: str, cursor: str) -> Entries | EventLogUnavailable:
        call = ("XREAD", "COUNT", PAGE_NOTES, "BLOCK", self._longest_ms, "STREAMS", key, cursor)
        try:
            reply = await self._blocking.command(*call)
        except EventLogUnavailable as error:
            await asyncio.sleep(RETRY_SECONDS)
            return error
        return reply[0][1] if reply else ()


def _entries(notes: Sequence[tuple[bytes, Sequence[bytes]]]) -> Entries:
    """Return entries as redis-py shapes them."""
    return [(entry, dict(zip(fields[::2], fields[1::2], strict=True))) for entry, fields in notes]
