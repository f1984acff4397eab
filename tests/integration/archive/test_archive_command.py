"""`promontory archive`, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from promontory.archive.archiver import Archiver, Outcome
from promontory.archive.opening import open_archive
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.port import bucket_of
from promontory.eventlog.pruning import Surrender
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.local.log import closed_logs
from promontory.matchmaking.redis_tickets import matchmaking_library
from promontory.rules.domain import Match
from promontory.runtime.clock import now_ms
from tests.support.archiving import Depot
from tests.support.commands import exit_code as run

Output = pytest.CaptureFixture[str]


@pytest.fixture
def server(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty database, which the settings name."""
    url = f"{valkey_url}?db=7"

    async def empty() -> None:
        async with connect(url) as connections:
            await connections.commands.flushdb()
            await load_library(connections.commands, event_log_library())

    asyncio.run(empty())
    monkeypatch.setenv("PROMONTORY_REDIS_URL", url)
    return url


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of an archive, which the settings name."""
    found = tmp_path / "archive"
    monkeypatch.setenv("PROMONTORY_ARCHIVE_URL", found.as_uri())
    open_archive(found.as_uri())
    return found


@pytest.fixture
def match(directory: Path) -> Match:
    """A match that is in the archive."""

    async def store() -> Match:
        depot, archive = Depot(), open_archive(directory.as_uri())
        match = await depot.archived()
        await archive.put(match.match_id, depot.archive.files[match.match_id])
        return match

    return asyncio.run(store())


def file_of(directory: Path) -> Path:
    (file,) = directory.glob("*/*/*.zst")
    return file


def test_all_files_are_verified(match: Match, capsys: Output) -> None:
    assert run("archive", "verify") == 0
    assert capsys.readouterr().out.startswith("1 match, 0.0 MB, all in order")


@pytest.fixture
def damaged(match: Match, directory: Path) -> Path:
    """The match's file, with a bit flipped."""
    file = file_of(directory)
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(content)
    return file


def test_a_damaged_file_is_named(damaged: Path, capsys: Output) -> None:
    """[event_log R18]."""
    assert run("archive", "verify") == 1
    told = capsys.readouterr().out
    assert "1 not in order" in told
    assert str(damaged) in told


def test_what_was_verified_is_told_as_json(match: Match, damaged: Path, capsys: Output) -> None:
    assert run("archive", "verify", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["matches"], [each["match_id"] for each in found["damaged"]]) == (1, [match.match_id])


def test_a_match_is_exported_without_any_service(match: Match, tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "match.jsonl"
    assert run("archive", "export", match.match_id, "--output", str(file)) == 0
    assert run("audit", str(file)) == 0
    assert "all right" in capsys.readouterr().out


def test_a_match_that_is_not_there_is_not_exported(directory: Path, capsys: Output) -> None:
    assert run("archive", "export", "tc-000-" + "a" * 26) == 1
    assert "is not in the archive" in capsys.readouterr().err


def test_without_an_archive_it_says_how_to_name_one(tmp_path: Path, capsys: Output) -> None:
    assert run("archive", "verify", "--data-dir", str(tmp_path)) == 1
    assert "PROMONTORY_ARCHIVE_URL" in capsys.readouterr().err


def test_the_index_is_made_anew_from_the_files(match: Match, server: str, capsys: Output) -> None:
    """[event_log 2.11] The files are the truth."""
    assert (run("archive", "rebuild"), run("archive", "list", "--json")) == (0, 0)
    told = capsys.readouterr().out
    (listed,) = json.loads(told[told.index("[") :])
    assert (listed["match_id"], listed["game"]) == (match.match_id, "transcontinental")
    assert listed["location"].endswith(f"{match.match_id}.jsonl.zst")


def test_a_damaged_file_is_left_out_of_the_index_and_named(damaged: Path, server: str, capsys: Output) -> None:
    assert (run("archive", "rebuild"), run("archive", "list", "--json")) == (1, 0)
    told = capsys.readouterr().out
    assert str(damaged) in told
    assert told.endswith("[]\n")


def test_matches_from_before_there_was_an_archive_come_to_it(server: str, directory: Path, capsys: Output) -> None:
    """They are owed; whoever archives does the rest, and then they are listed by game and by player."""
    match = asyncio.run(_with_log(server, _closed_without_archive))
    assert run("archive", "backfill") == 0
    assert "1 match to be archived" in capsys.readouterr().out

    async def archive(log: RedisEventLog) -> Outcome:
        (name,) = await log.owed(bucket_of(match.match_id))
        archiver = Archiver(log, open_archive(directory.as_uri()), RedisArchiveIndex(log.caller), Depot().judge)
        return await archiver.archive(match.match_id, int(name.rpartition("|")[2]))

    assert asyncio.run(_with_log(server, archive)) is Outcome.ARCHIVED
    assert run("archive", "list", "--player", "ben") == 0
    assert match.match_id in capsys.readouterr().out
    assert run("archive", "list", "--game", "pacific", "--json") == 0
    assert capsys.readouterr().out == "[]\n"


def test_a_log_that_cannot_be_read_keeps_no_other_match_from_the_archive(
    server: str, directory: Path, capsys: Output
) -> None:
    """The exit code tells of it; the others are owed all the same."""

    async def prepare(log: RedisEventLog) -> list[Match]:
        found = [await _closed_without_archive(log, request_id=each) for each in ("a", "b", "c")]
        await log.caller.command("XTRIM", f"{{{bucket_of(found[1].match_id)}}}:m:{found[1].match_id}:log", "MAXLEN", 1)
        return found

    matches = asyncio.run(_with_log(server, prepare))
    assert run("archive", "backfill") == 1
    assert f"{matches[1].match_id} does not verify" in capsys.readouterr().err

    async def owed(log: RedisEventLog) -> list[int]:
        return [len(await log.owed(bucket_of(match.match_id))) for match in matches]

    assert asyncio.run(_with_log(server, owed)) == [1, 0, 1]


async def test_a_match_that_is_archived_while_all_are_read_is_left_out(server: str) -> None:
    """[admin rebuild lists, archive backfill] They run while everything does."""
    async with connect(server) as connections:
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)
        matches = [await _closed_without_archive(log, request_id=each) for each in ("a", "b")]
        reading, left = closed_logs(log), list[str]()
        async for match_id, commits in reading:
            assert commits
            left.append(match_id)
            for each in matches:
                await _give_up(log, each)
        assert len(left) == 1


async def _give_up(log: RedisEventLog, match: Match) -> None:
    head = await log.head(match.match_id)
    assert head is not None
    await log.prune(match.match_id, Surrender(head.position, "elsewhere", meets="archive"))


def test_lists_are_not_made_anew_without_the_archive_that_has_the_matches(
    server: str, match: Match, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Output
) -> None:
    """Else all archived matches would leave the lists, as if they had never been."""
    assert run("archive", "rebuild") == 0
    asyncio.run(_load_matchmaking(server))
    monkeypatch.delenv("PROMONTORY_ARCHIVE_URL")
    monkeypatch.chdir(tmp_path)
    assert run("admin", "rebuild", "lists") == 1
    assert "PROMONTORY_ARCHIVE_URL does not say" in capsys.readouterr().err


async def _load_matchmaking(url: str) -> None:
    async with connect(url) as connections:
        await load_library(connections.commands, matchmaking_library())


async def _closed_without_archive(log: RedisEventLog, **given: Any) -> Match:
    match = await Depot(log).closed(**given)  # type: ignore[arg-type]
    (name,) = await log.owed(bucket_of(match.match_id))
    await log.settle(bucket_of(match.match_id), name)
    return match


async def _with_log(url: str, use: Callable[[RedisEventLog], Awaitable[Any]]) -> Any:
    async with connect(url) as connections:
        return await use(RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms))


def test_an_archive_that_is_not_there_costs_no_index_and_is_not_made(
    server: str, match: Match, directory: Path, capsys: Output
) -> None:
    """A volume that is not mounted, or a slip in the address."""
    assert run("archive", "rebuild") == 0
    directory.rename(directory.with_name("volume"))
    assert [run("archive", "rebuild"), run("archive", "verify"), directory.exists()] == [1, 1, False]
    assert "is the volume mounted?" in capsys.readouterr().err
    assert run("archive", "list", "--player", "ben") == 0
    assert match.match_id in capsys.readouterr().out
