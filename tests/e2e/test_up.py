"""`promontory up` looks after its processes, leaves none when it dies, and finds everything again the next day."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from promontory import AsyncClient, MatchSummary, PermissionDenied
from promontory.client.ratings import LeaderboardEntry, Rating, RatingStep
from promontory.rules.audit import audit_file
from tests.support.commands import Mark
from tests.support.players import GAME, Journal, play_match, play_seat
from tests.support.pools import POOLS_FILE
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
PATIENCE_SECONDS = 60
SETTINGS = {
    "PROMONTORY_POOLS_FILE": str(POOLS_FILE),
    "PROMONTORY_LEASE_SECONDS": "3",  # the turn of a bot whose worker was killed comes again so soon
}


class Up:
    """The command, on one directory. Every test finds it running, whatever the one before did to it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.mark = directory, Mark()
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, unless it runs, and wait until it says where its services are."""
        if self._process is None:
            self._endpoints.unlink(missing_ok=True)
            arguments = ("up", "--any-ports", "--data-dir", str(self.directory))
            self._process = self.mark.start(*arguments, settings=SETTINGS)
        await eventually(self._is_up, seconds=PATIENCE_SECONDS)

    def end(self, number: int) -> tuple[int, bytes]:
        """Send it a signal, and return its exit code and what it wrote to standard error."""
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, errors

    def client(self, token: str = "") -> AsyncClient:
        """Return a client of the player that it gives a token, with that or one from before."""
        return AsyncClient(json.loads(self._endpoints.read_text()), token=token or self.token)

    @property
    def token(self) -> str:
        """The token that it gives now."""
        return (self.directory / "token").read_text()

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

    async def none_runs(self) -> bool:
        """Tell whether it and all that it started have ended."""
        return not self.mark.running()

    async def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._process.communicate()
        return self._endpoints.exists()

    @property
    def _endpoints(self) -> Path:
        return self.directory / "endpoints.json"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The directory of all tests, in which nothing runs after them."""
    found = Up(tmp_path_factory.mktemp("up") / "data")
    yield found
    found.kill(*map(int, found.mark.running()))


@pytest.fixture
async def up(directory: Up) -> Up:
    """The command, which runs."""
    await directory.start()
    return directory


class Remembered(msgspec.Struct, frozen=True):
    """What the platform knows of a player's match."""

    match: MatchSummary
    export: bytes
    rating: Rating
    history: list[RatingStep]
    leaderboard: list[LeaderboardEntry]


async def remembered(client: AsyncClient, match_id: str) -> Remembered:
    """Return what is known of the match and its players, through every service that knows of it."""
    match = (await client.spectate(GAME, match_id).look()).match
    export = await client.export_match(GAME, match_id)
    history = [step async for step in client.rating_history(POOL)]
    leaderboard = [entry async for entry in client.leaderboard(POOL)]
    return Remembered(match, export, await client.rating(POOL), history, leaderboard)


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
async def test_what_was_played_is_still_there_when_up_is_started_again(up: Up) -> None:
    """[README] Data in the directory survives Ctrl-C: match, rating, leaderboard, and the token somebody kept."""
    async with up.client() as client:
        finished = await play_match(client, POOL, Journal())
        await eventually(lambda: _is_rated(client, finished.match_id))
        before, old_token = await remembered(client, finished.match_id), up.token
    assert up.end(signal.SIGINT) == (0, b"")
    assert up.mark.running() == []

    await up.start()
    async with up.client(old_token) as as_before:
        assert await remembered(as_before, finished.match_id) == before
        assert finished.match_id in [entry.match_id async for entry in as_before.matches()]
        with pytest.raises(PermissionDenied):
            await as_before.seat(GAME, finished.match_id, 1 - _seat(before)).resign()

    (up.directory / "match.jsonl").write_bytes(before.export)
    assert audit_file(up.directory / "match.jsonl").ok
    assert (up.directory / "token").stat().st_mode & 0o777 == 0o600
    assert {entry.rating.player_id for entry in before.leaderboard} > {"you"}


async def _is_rated(client: AsyncClient, match_id: str) -> bool:
    return match_id in [step.match_id async for step in client.rating_history(POOL)]


def _seat(known: Remembered) -> int:
    return next(seat.seat for seat in known.match.seats if seat.player_id == "you")


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
async def test_up_starts_its_server_and_its_services_again(up: Up) -> None:
    """[event_log R1] [event_log R3] Both are killed at once; matches are played on the same addresses."""
    first = {name: up.pid(name) for name in ("server", "scoring")}
    up.kill(*first.values())
    await eventually(lambda: _are_others(up, first), seconds=PATIENCE_SECONDS)
    async with up.client() as client:
        await play_match(client, POOL, Journal())


async def _are_others(up: Up, pids: dict[str, int]) -> bool:
    return all(up.pid(name) not in {0, pid} for name, pid in pids.items())


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
async def test_up_leaves_nothing_running_when_killed_and_its_matches_go_on_when_started_again(up: Up) -> None:
    """[architecture 2] Its processes end by themselves; the directory holds the match."""
    async with up.client() as client:
        seat = await client.play(POOL)
    up.end(signal.SIGKILL)
    await eventually(up.none_runs, seconds=PATIENCE_SECONDS)

    await up.start()
    async with up.client() as client:
        await play_seat(client.seat(GAME, seat.match_id, seat.seat), Journal())
    assert up.end(signal.SIGTERM)[0] == 0
    assert up.mark.running() == []
