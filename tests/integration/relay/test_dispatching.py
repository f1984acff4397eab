"""The relay between a real log and a real broker, without workers."""

from __future__ import annotations

import asyncio
import os
import signal
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from promontory.eventlog.port import START
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.runtime import clock
from promontory.runtime.broker import broker_url
from promontory.runtime.embedded import EmbeddedServer
from tests.support.event_logs import proposal
from tests.support.house import QUICK, House, running
from tests.support.waiting import eventually

ONCE = msgspec.structs.replace(QUICK, lease_seconds=600.0)
HOUR_MS = 3_600_000
NOWHERE = "127.0.0.1:1"


async def test_a_bot_s_turn_is_queued_once_however_many_relays_run(house: House, publisher: CeleryPublisher) -> None:
    """[event_log 2.9] Claims are leases: two relays share the work."""
    async with running(house.dispatcher(publisher, ONCE), house.dispatcher(publisher, ONCE)):
        matches = {await house.create("greedy", "greedy") for _ in range(10)}
        queued = await eventually(lambda: _queued(house, "bots", 10))
    assert {arguments[1] for arguments in queued} == matches
    assert {(game, since) for game, _, _, since in queued} == {("transcontinental", 1)}
    assert len(await house.queued("bots")) == 10


async def test_what_was_due_before_the_relay_started_is_found(house: House, publisher: CeleryPublisher) -> None:
    """[event_log 2.9] The sweep finds what the feed told nobody."""
    match_id = await house.create("greedy", "greedy")
    async with running(house.dispatcher(publisher, ONCE)):
        assert (await eventually(lambda: _queued(house, "bots", 1)))[0][1] == match_id


async def test_messages_hold_nothing_but_ids(house: House, publisher: CeleryPublisher) -> None:
    """[event_log 5.3] No hidden card and no token goes through the broker."""
    match_id = await house.create("greedy", "greedy")
    async with running(house.dispatcher(publisher, ONCE)):
        ((game, match, seat, since),) = await eventually(lambda: _queued(house, "bots", 1))
    assert (game, match, since) == ("transcontinental", match_id, 1)
    assert seat in {0, 1}
    (message,) = await house.redis.execute_command("LRANGE", "bots", 0, -1)
    assert b"Bearer" not in message


async def test_the_rules_play_on_when_no_worker_is_there(house: House, publisher: CeleryPublisher) -> None:
    """[event_log R23] Fallback moves, under the relay's own identity."""
    pace = msgspec.structs.replace(QUICK, sweep_seconds=0.01, lease_seconds=0.01, max_attempts=1)
    async with running(house.dispatcher(publisher, pace)):
        match_id = await house.create("greedy", "greedy", rated=False)
        await house.reaches(match_id, 4)
    assert {commit.command_id.split(":")[0] for commit in await house.commits(match_id)} == {"create", "auto"}


async def test_a_fallback_waits_for_a_rules_service_that_is_down(house: House, publisher: CeleryPublisher) -> None:
    """Nothing is lost while the game's service restarts."""
    pace = msgspec.structs.replace(QUICK, lease_seconds=0.05, max_attempts=1)
    match_id = await house.create("greedy", "greedy", rated=False)
    with capture_logs() as lines:
        async with running(house.dispatcher(publisher, pace, rules=NOWHERE)):
            await eventually(lambda: _said(lines, "fallback_failed"))
    assert await house.waiting()
    async with running(house.dispatcher(publisher, pace)):
        await house.reaches(match_id, 2)


@pytest.mark.parametrize(
    "turn", ["tc-000-nosuchmatch|0|1", "{match}|0|0", "{match}|7|1"], ids=["no match", "acted since", "no such seat"]
)
async def test_a_turn_that_nobody_will_ever_play_is_settled(
    house: House, publisher: CeleryPublisher, turn: str
) -> None:
    """An obligation that means nothing any more does not come again for ever."""
    pace = msgspec.structs.replace(QUICK, lease_seconds=0.01, max_attempts=1)
    match_id = await house.create("greedy", "greedy", rated=False)
    name = "bot|" + turn.format(match=match_id)
    await house.log.append("tc-000-other", proposal(due={name: 0}), expected=START)
    with capture_logs() as lines:
        async with running(house.dispatcher(publisher, pace)):
            await eventually(lambda: _said_of(lines, "fallback_needless", name))


async def test_nothing_is_handed_out_while_the_clocks_differ(house: House, publisher: CeleryPublisher) -> None:
    """[event_log R17] A wrong clock must not make everything due at once, or nothing ever."""
    connections = connect(house.place.server.url)
    skewed = RedisEventLog(connections.commands, blocking=connections.blocking, clock=lambda: clock.now_ms() + HOUR_MS)
    await house.create("greedy", "greedy")
    with capture_logs() as lines:
        async with running(house.dispatcher(publisher, ONCE, log=skewed)):
            await eventually(lambda: _said(lines, "clock_skewed"))
    assert await house.queued("bots") == []
    await connections.aclose()


@pytest.fixture
async def second_server(tmp_path: Path) -> AsyncIterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "broker") as server:
        yield server


async def test_a_broker_that_was_down_gets_everything_once_it_is_back(
    house: House, second_server: EmbeddedServer
) -> None:
    """[event_log R14] While it is down nothing is claimed, so the first attempt after it is the second of all."""
    os.kill(second_server.pid, signal.SIGKILL)
    publisher = CeleryPublisher(broker_url(second_server.url, ""))
    await house.create("greedy", "greedy")
    with capture_logs() as lines:
        async with running(house.dispatcher(publisher)):
            await eventually(lambda: _said(lines, "broker_unavailable"))
            second_server.start()
            await eventually(lambda: _said(lines, "broker_back"), seconds=20)
            broker = connect(second_server.url)
            await eventually(lambda: broker.commands.llen("bots"), seconds=20)
    assert [line["event"] for line in lines].count("broker_unavailable") == 1
    await broker.aclose()
    await publisher.aclose()


async def test_a_broker_that_is_full_gets_everything_once_it_has_room(
    house: House, second_server: EmbeddedServer
) -> None:
    """[event_log R13] A relay outlives a broker that refuses."""
    broker = connect(second_server.url)
    await broker.commands.config_set("maxmemory", "1")
    publisher = CeleryPublisher(broker_url(second_server.url, ""))
    await house.create("greedy", "greedy")
    with capture_logs() as lines:
        async with running(house.dispatcher(publisher)):
            await eventually(lambda: _said(lines, "broker_unavailable"))
            await broker.commands.config_set("maxmemory", "0")
            await eventually(lambda: broker.commands.llen("bots"), seconds=20)
    await broker.aclose()
    await publisher.aclose()


async def test_a_relay_process_follows_the_log_and_drains_when_told(house: House) -> None:
    """[event_log 2.14] Ready file, metrics, SIGTERM, exit code 0."""
    relay = house.place.start("relay", "relay", PROMONTORY_SWEEP_SECONDS="0.05")
    ready = await asyncio.to_thread(relay.ready)
    await house.create("greedy", "greedy")
    await eventually(lambda: _queued(house, "bots", 1))
    await eventually(lambda: _shows(ready.metrics, 'obligations_total{kind="bot",outcome="published"} 1.0'))
    assert await _shows(ready.metrics, 'oldest_obligation_seconds{game="transcontinental"} 0.0')
    relay.terminate()
    assert await asyncio.to_thread(relay.wait) == 0


async def _shows(address: str, metric: str) -> bool:
    return f"promontory_{metric}" in await asyncio.to_thread(_scrape, address)


def _scrape(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as response:
        return str(response.read().decode())


async def _queued(house: House, queue: str, count: int) -> list[list[Any]] | None:
    queued = await house.queued(queue)
    return queued if len(queued) >= count else None


async def _said_of(lines: list[Any], event: str, name: str) -> bool:
    return any(line["event"] == event and line["obligation"] == name for line in lines)


async def _said(lines: list[Any], event: str) -> bool:
    return event in {line["event"] for line in lines}
