"""House bots play whole matches: rules, relay, broker, a real worker, scoring."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from promontory.local.processes import ChildProcess
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.runtime.broker import PLAY_BOT_TURN
from tests.support.house import House, Place, Repeating, running


@pytest.fixture(scope="module", autouse=True)
def worker(place: Place) -> Iterator[ChildProcess]:
    """A worker that takes from both queues."""
    process = place.start("worker", "work")
    process.ready()
    yield process
    process.terminate()
    process.wait()


async def test_house_bots_play_a_match_to_its_end_and_it_is_tallied(house: House, publisher: CeleryPublisher) -> None:
    """[architecture 2] From the first deal to the ratings, and nothing is left to do."""
    async with running(house.dispatcher(publisher)):
        match = await house.is_over(await house.create("greedy", "random"))
    assert sorted(placement.place for placement in match.outcome.placements) in ([1, 1], [1, 2])
    assert await house.tallied() == {"house.0": 1, "house.1": 1}


async def test_tasks_sent_five_times_by_two_relays_have_one_effect(house: House, publisher: CeleryPublisher) -> None:
    """[event_log R15] Every command of a bot was asked for once, and the match counts once."""
    repeating = Repeating(publisher, 5)
    async with running(house.dispatcher(repeating), house.dispatcher(repeating)):
        match_id = await house.create("greedy", "greedy")
        await house.is_over(match_id)
    asked = [commit.command_id for commit in await house.commits(match_id)]
    assert len(set(asked)) == len(asked)
    assert await house.tallied() == {"house.0": 1, "house.1": 1}


async def test_an_unrated_match_is_played_but_not_tallied(house: House, publisher: CeleryPublisher) -> None:
    """[scoring/v1] A match that is not rated changes no rating."""
    async with running(house.dispatcher(publisher)):
        await house.is_over(await house.create("greedy", "greedy", rated=False))
    assert await house.tallied() == {}


async def test_a_broker_that_forgets_all_loses_no_turn(house: House, publisher: CeleryPublisher) -> None:
    """[event_log R14] Its memory is wiped while relay and worker stay connected."""
    async with running(house.dispatcher(publisher)):
        match_id = await house.create("greedy", "greedy")
        await house.reaches(match_id, 4)
        await house.redis.flushdb()
        await house.is_over(match_id)
    assert await house.tallied() == {"house.0": 1, "house.1": 1}


class Intruder:
    """Leaves a mark wherever it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (os.symlink, ("here", str(self._mark)))


async def test_a_pickled_message_is_never_opened(house: House, publisher: CeleryPublisher, tmp_path: Path) -> None:
    """[event_log 5.2] JSON only; and the worker goes on."""
    app = Celery("intruder", broker=house.place.broker, set_as_current=False)
    app.send_task(PLAY_BOT_TURN, args=[Intruder(tmp_path / "mark")], queue="bots", serializer="pickle")
    app.close()
    async with running(house.dispatcher(publisher)):
        await house.is_over(await house.create("greedy", "greedy"))
    assert await house.queued("bots") == []
    assert not (tmp_path / "mark").is_symlink()


@pytest.fixture
async def played(house: House, publisher: CeleryPublisher) -> None:
    """The worker has played a match."""
    async with running(house.dispatcher(publisher)):
        await house.is_over(await house.create("greedy", "random"))


@pytest.mark.usefixtures("played")
def test_a_worker_tells_its_metrics(worker: ChildProcess) -> None:
    """[style 8] Tasks by name and outcome, bots' thinking time by game and policy."""
    address = worker.ready().metrics
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as response:
        text = response.read().decode()
    assert 'promontory_tasks_total{outcome="done",task="play_bot_turn"}' in text
    assert 'promontory_bot_decision_duration_seconds_count{game="transcontinental",policy="greedy"}' in text


@pytest.mark.usefixtures("played")
async def test_a_worker_writes_structured_lines_without_tokens(worker: ChildProcess) -> None:
    """[style 8] One canonical line per task, and never a credential."""
    text = worker.log_file.read_text()
    assert '"event": "task_done"' in text
    assert "Bearer" not in text
