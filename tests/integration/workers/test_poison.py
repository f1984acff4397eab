"""A bot that can never move: the relay plays for it in the end, and the other bots play on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from promontory.local.processes import ChildProcess
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.dispatcher import Pace
from tests.support.house import House, Place, running
from tests.support.waiting import eventually

PACE = Pace(sweep_seconds=0.02, lease_seconds=0.5, max_attempts=2)
BREATH_SECONDS = 0.05

# Python runs a module of this name at its start.
POISONED = """
import os, signal
from promontory.bots import registry

wholesome = registry.policy

def poison(view, rng):
    while True:
        {deed}

registry.policy = lambda game, name: poison if name == "random" else wholesome(game, name)
"""


@pytest.mark.parametrize(
    "deed",
    ["raise RuntimeError", "pass", "os.kill(os.getpid(), signal.SIGSEGV)"],
    ids=["raises", "hangs", "crashes"],
)
async def test_a_poisonous_bot_is_played_for_and_holds_up_nobody(
    house: House, publisher: CeleryPublisher, place: Place, tmp_path: Path, deed: str
) -> None:
    """[event_log R23] After its attempts the rules play a command; a worker that it takes along is started again."""
    (tmp_path / "sitecustomize.py").write_text(POISONED.format(deed=deed))
    async with _worker_kept_alive(place, tmp_path), running(house.dispatcher(publisher, PACE)):
        poisoned, wholesome = await house.create("random", "random"), await house.create("greedy", "greedy")
        await eventually(lambda: _played(house, poisoned, by={"auto"}, commits=1), seconds=60)
        await eventually(lambda: _played(house, wholesome, by={"0", "1"}, commits=6), seconds=60)
        assert not await _played(house, poisoned, by={"0", "1"}, commits=1)


async def _played(house: House, match_id: str, *, by: set[str], commits: int) -> bool:
    """Tell whether a match has at least so many commits by the seats themselves, or by the rules: `auto`."""
    asked = [commit.command_id.split(":")[0] for commit in await house.commits(match_id)]
    return sum(each in by for each in asked) >= commits


@asynccontextmanager
async def _worker_kept_alive(place: Place, modules: Path) -> AsyncIterator[None]:
    """Run a worker that finds `modules`, and start it again whenever it ends."""
    settings = {"PYTHONPATH": str(modules), "PROMONTORY_TASK_SECONDS": "0.5"}
    workers: list[ChildProcess] = []

    async def supervise() -> None:
        while True:
            if not workers or not workers[-1].running:
                workers.append(place.start("poisoned", "work", **settings))
            await asyncio.sleep(BREATH_SECONDS)

    supervisor = asyncio.create_task(supervise())
    try:
        yield
    finally:
        supervisor.cancel()
        [worker.kill() for worker in workers[-1:]]
