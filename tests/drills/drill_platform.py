"""Drills, `make drill`: minutes of faults under load, for releases and nightly runs; `make test` runs none of them.

Each holds to the oracles of the end-to-end tests and prints its figures.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from promontory.eventlog.redis_server import connect
from promontory.local.platform import GAME_NAMES, SERVER, Platform
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer
from tests.support import havoc, oracles
from tests.support.players import Journal, play_while
from tests.support.pools import POOLS_FILE, pools
from tests.support.process_logs import log_faults

PLAYERS = 8
KILLING_SECONDS = 90
SECOND = ("scoring-1", *(f"{game}-1" for game in GAME_NAMES), "matchmaking-1", "relay-1", "worker-1")
SETTINGS = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE), "PROMONTORY_DRAIN_SECONDS": "5"}
BALLAST_BYTES = 1 << 16

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """Every process, on a server of its own."""
    with Platform(tmp_path, settings=SETTINGS) as running:
        yield running


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("replicas", [1, 2])
async def test_random_kills_of_up_to_three_processes_at_once(platform: Platform, seed: int, replicas: int) -> None:
    """[event_log R1] [event_log R3] [event_log R14] At any moment, also while others start."""
    await havoc.add(platform, *SECOND[: len(SECOND) * (replicas - 1)])
    await _endure(platform, _kill_at_random(platform, Random(seed)), replicas=replicas)


@pytest.mark.parametrize("seconds", [1, 5, 15])
async def test_every_process_stands_still_for_a_while(platform: Platform, seconds: float) -> None:
    """[event_log R5] One after the other, the server too."""
    await _endure(platform, _freeze_each(platform, seconds))


async def test_the_server_is_full_for_a_while(platform: Platform) -> None:
    """[event_log R13] Nothing is written, and nothing half."""
    await _endure(platform, _fill_memory(platform, (1, 5, 12)))


async def test_the_brokers_queues_are_wiped_again_and_again(platform: Platform) -> None:
    """[event_log R14] Every task is sent again."""
    await _endure(platform, _wipe_broker(platform, times=15))


async def test_a_broker_of_its_own_dies_and_freezes(tmp_path: Path) -> None:
    """[event_log R14] Bots wait, players do not notice, and no attempt is lost on it."""
    with EmbeddedServer(tmp_path / "broker") as broker:
        settings = {**SETTINGS, "PROMONTORY_BROKER_URL": broker.url}
        with Platform(tmp_path / "platform", settings=settings) as platform:
            await _endure(platform, _trouble_broker(broker, down=(0.5, 3, 20), frozen=(2, 8)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_the_servers_disk_is_full_for_a_while(tmp_path: Path) -> None:
    """[event_log R12] It ends rather than acknowledge what it cannot write, and is started once there is room."""
    with _small_disk(tmp_path / "valkey"), Platform(tmp_path, settings=SETTINGS) as platform:
        await _endure(platform, _fill_disk(platform, tmp_path / "valkey" / "ballast", (5, 12)))


async def _endure(platform: Platform, work: Coroutine[Any, Any, None], *, replicas: int = 1) -> None:
    """Let players play while `work` does its worst, then ask the oracles."""
    journal = await play_while(work, platform, players=PLAYERS, replicas=replicas)
    played = clock.monotonic()
    faults = await oracles.faults(platform, journal, pools=pools())
    _print_figures(journal, settling_seconds=clock.monotonic() - played)
    assert [*faults, *log_faults(platform.directory / "logs")] == []


def _print_figures(journal: Journal, *, settling_seconds: float) -> None:
    waits = sorted(each.seconds for each in journal.acknowledged)
    print(  # noqa: T201 - a drill's report
        f"\n  {len(journal.ended)} matches, {len(waits)} moves acknowledged, {len(journal.failed)} given up; "
        f"answer p50 {waits[len(waits) // 2]:.3f} s, longest {waits[-1]:.1f} s; "
        f"longest wait of a seat for its turn {max(journal.pauses, default=0):.1f} s; "
        f"all settled and looked through after {settling_seconds:.1f} s"
    )


async def _kill_at_random(platform: Platform, random: Random) -> None:
    ends = clock.monotonic() + KILLING_SECONDS
    names = (*platform.processes, SERVER)
    while clock.monotonic() < ends:
        await asyncio.sleep(random.uniform(0.05, 2.0))
        await havoc.crash(platform, *random.sample(names, random.choice((1, 1, 1, 2, 2, 3))))


async def _freeze_each(platform: Platform, seconds: float) -> None:
    for name in (*platform.processes, SERVER):
        await havoc.freeze(platform, name, seconds=seconds)
        await asyncio.sleep(1)


async def _fill_memory(platform: Platform, times: Sequence[float]) -> None:
    async with connect(platform.redis_url) as connections:
        for seconds in times:
            await asyncio.sleep(3)
            await connections.commands.config_set("maxmemory", "1mb")
            await asyncio.sleep(seconds)
            await connections.commands.config_set("maxmemory", "0")


async def _wipe_broker(platform: Platform, *, times: int) -> None:
    async with connect(f"{platform.redis_url}?db=1") as connections:
        for _ in range(times):
            await asyncio.sleep(2)
            await connections.commands.flushdb()


async def _trouble_broker(broker: EmbeddedServer, *, down: Sequence[float], frozen: Sequence[float]) -> None:
    for seconds in down:
        await asyncio.sleep(3)
        broker.kill()
        await asyncio.sleep(seconds)
        broker.start()
    for seconds in frozen:
        await asyncio.sleep(3)
        os.kill(broker.pid, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        os.kill(broker.pid, signal.SIGCONT)


@contextmanager
def _small_disk(directory: Path) -> Iterator[None]:
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", directory], check=True)  # noqa: S607
    try:
        yield
    finally:
        subprocess.run(["umount", directory], check=True)  # noqa: S607


async def _fill_disk(platform: Platform, ballast: Path, times: Sequence[float]) -> None:
    for seconds in times:
        await asyncio.sleep(3)
        _fill(ballast)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(ballast.unlink)
        if SERVER in platform.ended():
            platform.revive(SERVER)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(BALLAST_BYTES))
        except OSError:
            return
