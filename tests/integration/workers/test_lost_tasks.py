"""Workers die, brokers forget: the match goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from promontory.local.processes import ChildProcess
from promontory.relay.celery_publisher import CeleryPublisher
from tests.support.house import QUICK, Holding, House, Place, open_house, running


class Staff:
    """Workers of one test."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.workers: list[ChildProcess] = []

    async def hire(self, **settings: str) -> ChildProcess:
        """Start a worker and wait until it takes tasks."""
        worker = self._place.start(f"worker-{len(self.workers)}", "work", **settings)
        self.workers.append(worker)
        await asyncio.to_thread(worker.ready)
        return worker


@pytest.fixture
def staff(place: Place) -> Iterator[Staff]:
    staff = Staff(place)
    yield staff
    [worker.kill() for worker in staff.workers]


async def test_a_match_goes_on_when_its_worker_is_killed_and_the_broker_forgets_all(
    place: Place, publisher: CeleryPublisher, staff: Staff
) -> None:
    """[event_log R14] The answer to a command is lost with the worker, and every message with the broker's memory."""
    rules: list[Holding] = []

    def holding(servicer: object) -> Holding:
        rules.append(Holding(servicer, 5, done=True))
        return rules[0]

    async with open_house(place, wrap_rules=holding) as house:
        victim = await staff.hire()
        async with running(house.dispatcher(publisher)):
            match_id = await house.create("greedy", "greedy")
            await asyncio.wait_for(rules[0].held.wait(), 20)
            victim.kill()
            await house.redis.flushdb()
            await staff.hire()
            await house.is_over(match_id)
        asked = [commit.command_id for commit in await house.commits(match_id)]
        assert len(set(asked)) == len(asked)
        assert await house.tallied() == {"house.0": 1, "house.1": 1}


async def test_a_worker_that_is_told_to_stop_ends_its_task_first(
    place: Place, publisher: CeleryPublisher, staff: Staff
) -> None:
    """[event_log 2.9] SIGTERM is a warm shutdown."""
    rules: list[Holding] = []

    def holding(servicer: object) -> Holding:
        rules.append(Holding(servicer, 1, done=False))
        return rules[0]

    async with open_house(place, wrap_rules=holding) as house:
        worker = await staff.hire()
        async with running(house.dispatcher(publisher)):
            match_id = await house.create("greedy", "greedy")
            await asyncio.wait_for(rules[0].held.wait(), 20)
            worker.terminate()
            rules[0].released.set()
            assert await asyncio.to_thread(worker.wait) == 0
        assert (await house.match(match_id)).version > 1


async def test_a_worker_may_fork(house: House, publisher: CeleryPublisher, staff: Staff) -> None:
    """[event_log 2.14] Channels are made in the forked processes, never before."""
    await staff.hire(PROMONTORY_CONCURRENCY="2")
    async with running(house.dispatcher(publisher)):
        await house.is_over(await house.create("greedy", "greedy"))
    assert await house.tallied() == {"house.0": 1, "house.1": 1}


async def test_a_match_goes_on_without_any_worker(house: House, publisher: CeleryPublisher) -> None:
    """[event_log 2.9] After the last attempt the relay has the rules play: a bot never holds up a match."""
    pace = msgspec.structs.replace(QUICK, lease_seconds=0.02, max_attempts=1)
    async with running(house.dispatcher(publisher, pace)):
        match_id = await house.create("greedy", "greedy")
        await house.reaches(match_id, 6)
    asked = [commit.command_id.split(":")[0] for commit in await house.commits(match_id)]
    assert set(asked) == {"create", "auto"}
