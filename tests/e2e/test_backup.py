"""A platform is backed up under play, loses everything, and goes on from the backup, as docs/backup.md says."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from promontory import AsyncClient, Ending, TableOptions
from promontory.client.matches import Update
from promontory.client.places import DATA_DIRECTORY
from promontory.client.seats import Seat
from promontory.eventlog.port import StreamStatus
from promontory.local.log import operators_log
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from tests.e2e.test_bot_command import promontory
from tests.support.players import Acknowledged, Journal, client_of, play_seat
from tests.support.process_logs import log_faults
from tests.support.waiting import eventually

GAME = "pacific"
Players = tuple[AsyncClient, AsyncClient]


class Installation:
    """The platform in a directory, with an archive for what has ended a second ago."""

    def __init__(self, home: Path) -> None:
        self.directory, self.backup = home / DATA_DIRECTORY, home / "backup"
        archive = self.directory / "archive"
        archive.mkdir(parents=True)
        settings = {"PROMONTORY_ARCHIVE_URL": archive.as_uri(), "PROMONTORY_ARCHIVE_AFTER_SECONDS": "1"}
        self.platform = Platform(self.directory, settings=settings)

    def start(self) -> None:
        """Start it, again if it was stopped, and let the commands find it."""
        self.platform.start()
        write_connection(self.platform)

    async def run(self, *words: str) -> str:
        """Run a command of `promontory` and return what it prints."""
        code, out, err = await promontory(*words, "--data-dir", str(self.directory))
        assert code == 0, err
        return out

    async def lose_everything(self) -> None:
        """Stop, and lose the server's data."""
        await asyncio.to_thread(self.platform.stop)
        shutil.rmtree(self.directory / "valkey")


@pytest.fixture
async def players(installation: Installation) -> AsyncIterator[Players]:
    async with AsyncExitStack() as stack:
        ann, bob = [await stack.enter_async_context(client_of(installation.platform, name)) for name in ("ann", "bob")]
        yield ann, bob


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    made = Installation(tmp_path)
    made.start()
    yield made
    await asyncio.to_thread(made.platform.stop)


async def seated(players: Players) -> tuple[Seat, Seat]:
    """Return the seats of a new match of both."""
    ann, bob = players
    table = await ann.create_table(GAME, TableOptions())
    joined = await bob.join_table(table.invite_code)
    return await table.seat(), await joined.seat()


@pytest.mark.timeout(180)
async def test_a_platform_goes_on_from_its_backup(installation: Installation, players: Players) -> None:
    """[event_log 2.7] All that was acknowledged before is there; who saw more is told; what is over stays over."""
    lost, ended = await seated(players), await seated(players)
    journal, known = Journal(), list[Acknowledged]()
    playing = [asyncio.create_task(play_seat(seat, journal, thinking_seconds=0.3)) for seat in await seated(players)]
    await eventually(lambda: _has_played(journal))
    assert ", and 0 more matches of the archive" in await installation.run("backup", str(installation.backup))
    earlier = Path(shutil.copytree(installation.backup, f"{installation.backup}-earlier", copy_function=os.link))
    before = contents(earlier)
    known = list(journal.acknowledged)
    assert "backed up" in await installation.run("backup", str(installation.backup))
    assert contents(earlier) == before != contents(installation.backup), "generations may share files"
    assert not any(task.done() for task in playing), "it was backed up under play"
    [task.cancel() for task in playing]

    seen = list[int]()
    watching = asyncio.create_task(_rewound(lost[0], seen))
    await lost[1].offer(Ending.DRAW)
    await eventually(lambda: _has_seen(seen, 2))
    await ended[0].resign()
    await eventually(lambda: _is(installation, ended[0].match_id, StreamStatus.ARCHIVED), seconds=30)
    before = await ended[0].export()

    await installation.lose_everything()
    await installation.run("restore", str(installation.backup))
    assert "1 were over in the archive" in await installation.run("reconcile", "--restored")
    installation.start()
    await installation.run("archive", "rebuild")
    await installation.run("admin", "rebuild", "lists")

    assert await _missing(installation, known) == []
    assert (await watching).rewound
    assert (await ended[0].look()).match.is_over
    assert await ended[0].export() == before
    assert log_faults(installation.directory / "logs") == []


def contents(backup: Path) -> dict[str, bytes]:
    """Return what is in the files of a backup."""
    return {str(file.relative_to(backup)): file.read_bytes() for file in backup.rglob("*") if file.is_file()}


async def _has_played(journal: Journal) -> bool:
    return len(journal.acknowledged) >= 6


async def _has_seen(seen: list[int], version: int) -> bool:
    return version in seen


async def _rewound(seat: Seat, seen: list[int]) -> Update:
    """Return the first update that tells that the match was put back; note the versions before in `seen`."""
    async for update in seat:
        seen.append(update.version)
        if update.rewound:
            return update
    raise AssertionError("the match ended")


async def _is(installation: Installation, match_id: str, status: StreamStatus) -> bool:
    async with operators_log(installation.platform.redis_url) as log:
        head = await log.head(match_id)
        return head is not None and head.status is status


async def _missing(installation: Installation, known: Sequence[Acknowledged]) -> list[Acknowledged]:
    async with operators_log(installation.platform.redis_url) as log:
        commits = {each.match_id: await log.read(each.match_id) for each in known}
    return [each for each in known if commits[each.match_id][each.version - 1].command_id != each.command_id]
