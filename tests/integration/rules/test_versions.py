"""`promontory versions`: what open matches are pinned to, counted in a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer
from tests.support.commands import exit_code
from tests.support.own_decks import digest, own_deck
from tests.support.refereeing import Bench

TABLE = Setup(tuple(map(SeatSetup, ("ada", "ben", "cyd"))))
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A platform's directory, whose server holds two matches of Pacific with different decks."""
    directory = tmp_path_factory.mktemp("versions")
    (directory / "deck.json").write_bytes(own_deck())
    with EmbeddedServer(directory / "valkey", fsync="everysec") as server:
        (directory / "redis-url").write_text(server.url)
        asyncio.run(_begin_matches(server.url))
        yield directory


async def _begin_matches(url: str) -> None:
    async with connect(url) as connections:
        await load_library(connections.commands, event_log_library())
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        await Bench(log, game="pacific").create(TABLE, request_id="shipped")
        await Bench(log, game="pacific", data=(own_deck(),)).create(TABLE, request_id="own")


def run(*arguments: object) -> int:
    return exit_code("versions", *arguments)


def test_open_matches_that_nobody_here_can_serve_end_with_1(place: Path, capsys: Output) -> None:
    """Said is what is missing, and of which match."""
    assert run("--data-dir", str(place)) == 1
    told = capsys.readouterr().out
    assert f"pacific/1 {digest(own_deck()).hex()[:12]} 1 NO" in [" ".join(line.split()) for line in told.splitlines()]
    assert f"1 open match of pacific/1 with the data {digest(own_deck()).hex()} (as pc-" in told


@pytest.mark.parametrize("by_setting", [False, True])
def test_with_its_data_everything_can_be_served(
    place: Path, by_setting: bool, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PROMONTORY_DATA_FILES] Named as for the services, or for this one time; also rules that nobody plays by."""
    named = f"pacific={place / 'deck.json'}"
    if by_setting:
        monkeypatch.setenv("PROMONTORY_DATA_FILES", named)
    options = () if by_setting else ("--game-data", named)
    assert run("--data-dir", str(place), "--json", *options) == 0
    found = [(each["rules_version"], each["matches"], each["served"]) for each in json.loads(capsys.readouterr().out)]
    assert sorted(found) == [
        ("pacific/1", 1, True),
        ("pacific/1", 1, True),
        ("railroad_dice_2/1", 0, True),
        ("transcontinental/1", 0, True),
    ]
