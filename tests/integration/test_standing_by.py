"""Servers that stand in for one another, in short; `make ha-test` has the long form."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.port import FeedNote
from promontory.eventlog.redis_server import check_policy, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime.clock import now_ms
from tests.support.event_logs import append_chain
from tests.support.standing_by import Group, cluster, sentinel_group

STREAMS = tuple(f"tc-{bucket:03x}-a" for bucket in range(8))
BUCKETS = tuple(f"tc:{bucket:03x}" for bucket in range(8))


@pytest.mark.parametrize("make", [sentinel_group, cluster])
async def test_the_log_is_kept_by_several_servers(
    make: Callable[[Path], AbstractContextManager[Group]], tmp_path: Path
) -> None:
    """[event_log 2.12] Told by the URL alone; buckets may lie on any of them."""
    with make(tmp_path) as group:
        async with connect(group.url) as connections:
            await check_policy(connections.commands)
            await load_library(connections.commands, event_log_library())
            log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)
            await log.start()
            cursors, _ = await log.feed(dict.fromkeys(BUCKETS, "$"), block_ms=0)
            ends = {stream: await append_chain(log, stream, 2) for stream in STREAMS}
            assert {stream: (await log.read(stream))[-1].position for stream in STREAMS} == ends
            assert {each.stream async for page in log.openings("tc") for each in page} == set(STREAMS)
            cursors, notes = await log.feed(cursors, block_ms=5_000)
            assert {note.stream for note in notes} == set(STREAMS)
            waiting = asyncio.create_task(log.feed(cursors, block_ms=5_000))
            await append_chain(log, STREAMS[3], 1, after=ends[STREAMS[3]])
            assert (await waiting)[1] == [FeedNote(STREAMS[3], 3)]
            assert (await log.vitals()).persists
