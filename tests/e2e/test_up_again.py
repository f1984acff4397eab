"""`promontory up` as somebody uses it: play, stop it with Ctrl-C, and find everything again the next day."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from promontory import AsyncClient, MatchSummary, PermissionDenied
from promontory.client.ratings import LeaderboardEntry, Rating, RatingStep
from promontory.rules.audit import audit_file
from tests.support.commands import Mark
from tests.support.players import GAME, Journal, play_match
from tests.support.pools import POOLS_FILE
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
PATIENCE_SECONDS = 60
SETTINGS = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE)}


class Remembered(msgspec.Struct, frozen=True):
    """What the platform knows of a player's match."""

    match: MatchSummary
    export: bytes
    rating: Rating
    history: list[RatingStep]
    leaderboard: list[LeaderboardEntry]


@asynccontextmanager
async def up(directory: Path, mark: Mark) -> AsyncIterator[AsyncClient]:
    """Run `promontory up` on `directory` until Ctrl-C, and give a client of the player it makes a token for."""
    process = mark.start("up", "--any-ports", "--data-dir", str(directory), settings=SETTINGS)
    try:
        await eventually(lambda: _is_up(process, directory), seconds=PATIENCE_SECONDS)
        endpoints = json.loads((directory / "endpoints.json").read_text())
        async with AsyncClient(endpoints, token=(directory / "token").read_text()) as client:
            yield client
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, errors) == (0, b"")
        assert mark.running() == []
    finally:
        [os.kill(int(pid), signal.SIGKILL) for pid in mark.running()]


async def _is_up(process: subprocess.Popen[bytes], directory: Path) -> bool:
    assert process.poll() is None, process.communicate()
    return (directory / "endpoints.json").exists()


async def remembered(client: AsyncClient, match_id: str) -> Remembered:
    """Return what is known of the match and its players, through every service that knows of it."""
    match = (await client.spectate(GAME, match_id).look()).match
    export = await client.export_match(GAME, match_id)
    history = [step async for step in client.rating_history(POOL)]
    leaderboard = [entry async for entry in client.leaderboard(POOL)]
    return Remembered(match, export, await client.rating(POOL), history, leaderboard)


async def _tallied(rating: Callable[[str], Awaitable[Rating]]) -> bool:
    return (await rating(POOL)).matches == 1


@pytest.mark.timeout(2 * PATIENCE_SECONDS)
async def test_what_was_played_is_still_there_when_up_is_started_again(tmp_path: Path) -> None:
    """[README] Data in the directory survives a restart: match, rating, leaderboard, and the token somebody kept."""
    directory, mark = tmp_path / "data", Mark()
    async with up(directory, mark) as client:
        finished = await play_match(client, POOL, Journal())
        await eventually(lambda: _tallied(client.rating))
        before = await remembered(client, finished.match_id)
        old_token = (directory / "token").read_text()
    (directory / "endpoints.json").unlink()

    async with up(directory, mark) as client:
        endpoints = json.loads((directory / "endpoints.json").read_text())
        async with AsyncClient(endpoints, token=old_token) as as_before:
            assert await remembered(as_before, finished.match_id) == before
            assert [entry.match_id async for entry in as_before.matches()] == [finished.match_id]
            with pytest.raises(PermissionDenied):
                await as_before.seat(GAME, finished.match_id, 1 - _seat(before)).resign()

    (directory / "match.jsonl").write_bytes(before.export)
    assert audit_file(directory / "match.jsonl").ok
    assert (directory / "token").stat().st_mode & 0o777 == 0o600
    assert {entry.rating.player_id for entry in before.leaderboard} > {"you"}
    assert [step.match_id for step in before.history] == [finished.match_id]


def _seat(known: Remembered) -> int:
    return next(seat.seat for seat in known.match.seats if seat.player_id == "you")
