"""The broker on the primary that Sentinels name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.domain import Task
from promontory.relay.ports import BrokerUnavailable
from promontory.runtime import clock
from promontory.runtime.broker import BOTS, PLAY_BOT_TURN, broker_url, celery_settings
from tests.support.standing_by import Group, sentinel_group
from tests.support.waiting import eventually

FAILOVER_SECONDS = 60.0
TASK = Task(PLAY_BOT_TURN, BOTS, ("pacific", "pc-000-a", 0, 1), "bot|pc-000-a|0|1", attempt=1)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with sentinel_group(tmp_path) as running:
        yield running


@pytest.fixture
async def publisher(group: Group) -> AsyncIterator[CeleryPublisher]:
    found = CeleryPublisher(broker_url("", group.url))
    yield found
    await found.aclose()


async def test_tasks_are_sent_on_once_a_replica_is_the_primary(publisher: CeleryPublisher, group: Group) -> None:
    """[event_log P22] What was queued is there too, as far as it was replicated."""
    await publisher.publish([TASK])
    victim = group.owner("")
    group.kill(victim)
    await eventually(lambda: _is_sent(publisher), seconds=FAILOVER_SECONDS)
    assert group.owner("") != victim
    assert (await publisher.queued())[BOTS] == 2


async def test_a_transaction_goes_on_at_the_next_primary(group: Group) -> None:
    """[event_log P22] A worker gives messages back in one; it must not try for ever what a replica refuses."""
    app = Celery("test", set_as_current=False)
    app.conf.update(celery_settings(broker_url("", group.url)))
    victim = group.owner("")

    def change(pipe: Any) -> None:
        if group.owner("") == victim:
            group.hand_over(victim)
            _await_handover(group, victim)
        pipe.multi()
        pipe.set("given", "back")

    with app.connection_for_write() as connection:
        client = connection.default_channel.client
        await asyncio.to_thread(client.transaction, change, "unacked")
        assert client.get("given") == b"back"


def _await_handover(group: Group, victim: int) -> None:
    deadline = clock.monotonic() + FAILOVER_SECONDS
    while group.owner("") == victim and clock.monotonic() < deadline:
        clock.pause(0.05)


async def _is_sent(publisher: CeleryPublisher) -> bool:
    try:
        await publisher.publish([TASK])
    except BrokerUnavailable:
        await asyncio.sleep(0.1)
        return False
    return True
