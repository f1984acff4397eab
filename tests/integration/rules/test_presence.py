"""Presence in the server: what one replica sees, all know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from promontory.eventlog.port import EventLogUnavailable
from promontory.rules.redis_presence import RedisPresence, open_presence
from promontory.runtime.embedded import EmbeddedServer
from tests.support.conduct import Time
from tests.support.faults import FaultProxy
from tests.support.waiting import eventually

Replicas = tuple[RedisPresence, RedisPresence]


@pytest.fixture
async def replicas(valkey_url: str) -> AsyncIterator[Replicas]:
    """Two processes on one server, whose clock stands still."""
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(open_presence(valkey_url, clock=Time())) for _ in range(2)]
        yield first, second


async def test_whom_one_replica_has_seen_the_others_know(replicas: Replicas, unique_stream: str) -> None:
    """Soon, without asking."""
    first, second = replicas
    first.seen(unique_stream, 1)

    async def known() -> bool:
        return await second.last_seen(unique_stream) == {1: Time().ms}

    await eventually(known)


async def test_who_was_seen_in_another_match_is_not_there(replicas: Replicas, unique_stream: str) -> None:
    """A player may be in many matches, and look at one."""
    first, second = replicas
    first.seen(f"{unique_stream}b", 0)
    assert (await first.last_seen(unique_stream), await second.last_seen(unique_stream)) == ({}, {})


async def test_who_was_seen_while_the_server_was_away_is_told_later(valkey: EmbeddedServer, unique_stream: str) -> None:
    """[event_log R3] Nobody is claimed for having been connected at the wrong moment."""
    proxy = FaultProxy(valkey.socket_path, valkey.socket_path.with_name("presence.sock"))
    async with proxy, open_presence(proxy.url, clock=Time()) as presence:
        proxy.lose_request(containing=b"ZADD", times=2)
        presence.seen(unique_stream, 1)
        with pytest.raises(EventLogUnavailable):
            await presence.last_seen(unique_stream)
        assert await presence.last_seen(unique_stream) == {1: Time().ms}


async def test_a_process_that_was_cut_off_takes_nothing_back(valkey: EmbeddedServer, unique_stream: str) -> None:
    """What it has not told yet may be old news by then, and since then it knows nothing."""
    time = Time()
    proxy = FaultProxy(valkey.socket_path, valkey.socket_path.with_name("presence.sock"))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(proxy)
        cut_off = await stack.enter_async_context(open_presence(proxy.url, clock=time))
        other = await stack.enter_async_context(open_presence(valkey.url, clock=time))
        proxy.lose_request(containing=b"ZADD", times=2)
        cut_off.seen(unique_stream, 1)
        with pytest.raises(EventLogUnavailable):
            await cut_off.last_seen(unique_stream)
        time.passes(5_000)
        other.seen(unique_stream, 1)
        await other.last_seen(unique_stream)
        assert await cut_off.last_seen(unique_stream) == {1: time.ms}
        assert (cut_off.since_ms, other.since_ms) == (time.ms, time.ms - 5_000)
