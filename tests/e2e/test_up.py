"""`promontory up` looks after its processes, and leaves none when it dies itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory import AsyncClient
from tests.support.commands import Mark
from tests.support.players import GAME, Journal, play_match, play_seat
from tests.support.pools import POOLS_FILE
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
STARTING_SECONDS = 60
SETTINGS = {
    "PROMONTORY_POOLS_FILE": str(POOLS_FILE),
    "PROMONTORY_LEASE_SECONDS": "3",  # the turn of a bot whose worker was killed comes again so soon
}


class Up:
    """The command, on one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.mark = directory, Mark()

    async def start(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it says where its services are."""
        self._endpoints.unlink(missing_ok=True)
        arguments = ("up", "--any-ports", "--data-dir", str(self.directory))
        process = self.mark.start(*arguments, settings=SETTINGS)
        await eventually(self._is_up, seconds=STARTING_SECONDS)
        return process

    def client(self) -> AsyncClient:
        """Return a client of the player that it gives a token."""
        endpoints = json.loads(self._endpoints.read_text())
        return AsyncClient(endpoints, token=(self.directory / "token").read_text())

    def pid(self, name: str) -> int:
        """Return the id of a process that was ready last, or 0 while it starts."""
        if name == "server":
            return int((self.directory / "valkey" / "server.lock").read_text() or "0")
        file = self.directory / "logs" / f"{name}.ready.json"
        return int(json.loads(file.read_text())["pid"]) if file.exists() else 0

    def kill(self, *pids: int) -> None:
        """End processes as a crash would."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    async def _is_up(self) -> bool:
        return self._endpoints.exists()

    @property
    def _endpoints(self) -> Path:
        return self.directory / "endpoints.json"


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    found = Up(tmp_path)
    yield found
    found.kill(*map(int, found.mark.running()))


async def test_up_starts_its_server_and_its_services_again(up: Up) -> None:
    """[event_log R1] [event_log R3] Both are killed at once; matches are played on the same addresses."""
    await up.start()
    first = {name: up.pid(name) for name in ("server", "scoring")}
    up.kill(*first.values())
    await eventually(lambda: _are_others(up, first), seconds=STARTING_SECONDS)
    async with up.client() as client:
        await play_match(client, POOL, Journal())


async def _are_others(up: Up, pids: dict[str, int]) -> bool:
    return all(up.pid(name) not in {0, pid} for name, pid in pids.items())


async def test_up_leaves_nothing_running_when_killed_and_its_matches_go_on_when_started_again(up: Up) -> None:
    """[architecture 2] Its processes end by themselves; the directory holds the match."""
    process = await up.start()
    async with up.client() as client:
        seat = await client.play(POOL)
    process.kill()
    await eventually(lambda: _none_runs(up), seconds=STARTING_SECONDS)

    process = await up.start()
    async with up.client() as client:
        await play_seat(client.seat(GAME, seat.match_id, seat.seat), Journal())
    process.terminate()
    assert process.wait(STARTING_SECONDS) == 0
    assert up.mark.running() == []


async def _none_runs(up: Up) -> bool:
    return not up.mark.running()
