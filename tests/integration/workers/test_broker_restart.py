"""A broker that dies while a task runs, or refuses for a while: the worker goes on with the next task."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from promontory.eventlog.redis_server import connect
from promontory.local.processes import ChildProcess
from promontory.local.scrape import scrape
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.domain import Task
from promontory.runtime.broker import BOTS, PLAY_BOT_TURN, TALLIES, TALLY_MATCH, broker_url
from promontory.runtime.embedded import EmbeddedServer
from tests.support.closed_matches import Played, write_closed
from tests.support.house import GAME, House, Place
from tests.support.process_logs import faults_of
from tests.support.waiting import eventually

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A broker of the test's own, apart from the event log."""
    with EmbeddedServer(tmp_path / "broker") as server:
        yield server


@pytest.fixture
def worker(place: Place, broker: EmbeddedServer) -> Iterator[ChildProcess]:
    """A worker that never reaches the rules, so that a bot's task takes some seconds."""
    settings = {"PROMONTORY_BROKER_URL": broker.url, "PROMONTORY_RULES_TARGETS": f"{GAME}={NOWHERE}"}
    process = place.start("lonely-worker", "work", **settings)
    yield process
    process.terminate()
    process.wait()


async def test_a_worker_that_cannot_acknowledge_a_task_takes_the_next(
    house: House, worker: ChildProcess, broker: EmbeddedServer
) -> None:
    """[event_log P3] The broker is down when the task ends; once it is back, the worker is not deaf.

    [style 8] What it says of the outage are warnings.
    """
    metrics = (await asyncio.to_thread(worker.ready)).metrics
    publisher = CeleryPublisher(broker_url(broker.url, ""))
    turn = Task(PLAY_BOT_TURN, BOTS, (GAME, "tc-000-none", 0, 1), "bot|tc-000-none|0|1", 1)
    await publisher.publish([turn])
    await eventually(lambda: _held(broker))
    broker.kill()
    await eventually(lambda: _given_up(metrics), seconds=30)
    broker.start()

    await _tallies(house, publisher)
    await publisher.aclose()
    assert faults_of(worker.log_file) == []


async def test_a_worker_outlives_a_broker_that_refuses_all_writes(
    house: House, worker: ChildProcess, broker: EmbeddedServer
) -> None:
    """[event_log R12] As one whose disk is full does; it takes tasks again when the broker does."""
    await asyncio.to_thread(worker.ready)
    publisher = CeleryPublisher(broker_url(broker.url, ""))
    async with connect(broker.url) as connections:
        await connections.commands.config_set("min-replicas-to-write", 1)
        await eventually(lambda: _said(worker, "ResponseError"), seconds=30)
        await connections.commands.config_set("min-replicas-to-write", 0)
    await _tallies(house, publisher)
    await publisher.aclose()
    assert faults_of(worker.log_file) == []


async def _tallies(house: House, publisher: CeleryPublisher) -> None:
    """Have a match tallied by the worker."""
    match_id = await write_closed(house.log, Played("after-the-outage", ("ada", "bob"), (1, 2)))
    await publisher.publish([Task(TALLY_MATCH, TALLIES, (match_id,), f"tally|{match_id}", 1)])
    assert await eventually(house.tallied, seconds=30)


async def _said(worker: ChildProcess, text: str) -> bool:
    return text in worker.log_file.read_text()


async def _held(broker: EmbeddedServer) -> int:
    """Return how many messages the worker has taken and not acknowledged."""
    connections = connect(broker.url)
    client: Redis = connections.commands
    held: int = await client.hlen("unacked")  # type: ignore[misc]
    await connections.aclose()
    return held


async def _given_up(metrics: str) -> float:
    return (await scrape([metrics])).total("promontory_tasks_total", outcome="unavailable")
