"""What every archive does, wherever it keeps its files."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from promontory.archive.memory import MemoryArchive, MemoryArchiveIndex
from promontory.archive.opening import open_archive, open_indexed
from promontory.archive.port import Archive, Entry
from promontory.eventlog.port import ArchiveUnavailable
from promontory.runtime.settings import SettingsError
from tests.support.archiving import MATCH, OTHERS
from tests.support.object_stores import BUCKET, ENVIRON, object_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a real store."""
    with object_store(tmp_path_factory.mktemp("store")) as endpoint:
        yield endpoint


def _memory(_: pytest.FixtureRequest) -> Archive:
    return MemoryArchive()


def _directory(request: pytest.FixtureRequest) -> Archive:
    path: Path = request.getfixturevalue("tmp_path")
    return open_archive(f"file://{path / 'deep' / 'archive'}")


def _s3(request: pytest.FixtureRequest) -> Archive:
    endpoint: str = request.getfixturevalue("store")
    return open_archive(f"s3://{BUCKET}/{uuid.uuid4().hex}?endpoint={endpoint}")


@pytest.fixture(params=[_memory, _directory, _s3], ids=["memory", "directory", "s3"])
def archive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Archive:
    [monkeypatch.setenv(name, value) for name, value in ENVIRON.items()]
    make: Callable[[pytest.FixtureRequest], Archive] = request.param
    return make(request)


async def test_what_was_put_is_there(archive: Archive) -> None:
    content = bytes(range(256)) * 300
    assert await archive.put(MATCH, content)
    assert await archive.get(MATCH) == content


async def test_what_was_not_put_is_not_there(archive: Archive) -> None:
    await archive.put(OTHERS[0], b"other")
    assert await archive.get(MATCH) is None


async def test_a_file_is_never_overwritten(archive: Archive) -> None:
    """[event_log 2.11] One immutable file a match."""
    assert await archive.put(MATCH, b"first")
    assert not await archive.put(MATCH, b"second")
    assert await archive.get(MATCH) == b"first"


async def test_of_many_at_once_one_puts_the_file(archive: Archive) -> None:
    """[event_log R15] Tasks run twice, also at the same time."""
    done = await asyncio.gather(*(archive.put(MATCH, b"%d" % number * 5000) for number in range(8)))
    assert sum(done) == 1
    assert await archive.get(MATCH) == b"%d" % done.index(True) * 5000


async def test_all_matches_come_in_order(archive: Archive) -> None:
    [await archive.put(match_id, b"x") for match_id in (*OTHERS[::-1], MATCH)]
    found = [match_id async for match_id in archive.scan()]
    assert found == sorted([*OTHERS, MATCH])
    assert [match_id async for match_id in archive.scan(after=MATCH)] == sorted(OTHERS)[-1:]


async def test_an_empty_archive_has_no_matches(archive: Archive) -> None:
    assert [match_id async for match_id in archive.scan()] == []


@pytest.mark.parametrize("strange", ["", "tc", "tc-0a7", "tc-0a7-", "tc-0a7-../../x", "tc-0a7-a/b", "TC-0a7-a"])
async def test_what_is_no_match_has_no_file(archive: Archive, strange: str) -> None:
    """No id leads out of the archive."""
    with pytest.raises(ValueError, match="no match's id"):
        await archive.put(strange, b"")


async def test_people_are_told_where_a_file_is(archive: Archive) -> None:
    assert archive.location(MATCH).endswith(f"tc/0a7/{MATCH}.jsonl.zst")


# The directory


@pytest.fixture
def directory(tmp_path: Path) -> Archive:
    return open_archive(f"file://{tmp_path}/archive")


async def test_a_directory_that_is_not_mounted_is_not_taken_for_empty(directory: Archive, tmp_path: Path) -> None:
    """Else a match that the log gave up would not be found, and one could be made anew in its place."""
    await directory.put(MATCH, b"content")
    (tmp_path / "archive").rename(tmp_path / "away")
    (tmp_path / "archive").mkdir()
    for_nothing = (directory.get(MATCH), directory.put(MATCH, b"again"), anext(aiter(directory.scan())))
    outcomes = await asyncio.gather(*for_nothing, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ArchiveUnavailable] * 3
    (tmp_path / "archive").rmdir()
    (tmp_path / "away").rename(tmp_path / "archive")
    assert await directory.get(MATCH) == b"content"


async def test_a_volume_that_is_not_mounted_yet_is_not_made_an_archive(tmp_path: Path) -> None:
    """The index knows matches: a new archive below the mount point would take others, and then hide them."""
    index = MemoryArchiveIndex()
    made = await open_indexed(f"file://{tmp_path}/archive", index)
    await made.put(MATCH, b"content")
    await index.add(Entry(MATCH, "tc", ("ada", "ben"), 1))
    (tmp_path / "archive").rename(tmp_path / "volume")
    (tmp_path / "archive").mkdir()
    found = await open_indexed(f"file://{tmp_path}/archive", index)
    with pytest.raises(ArchiveUnavailable):
        await found.put(MATCH, b"hidden")
    (tmp_path / "archive").rmdir()
    (tmp_path / "volume").rename(tmp_path / "archive")
    assert await found.get(MATCH) == b"content"


async def test_what_a_killed_process_left_is_swept_and_never_read(directory: Archive, tmp_path: Path) -> None:
    """[event_log 2.11] Temp file, fsync, and only then its name."""
    folder = tmp_path / "archive" / "tc" / "0a7"
    folder.mkdir(parents=True)
    left = folder / f".{MATCH}.jsonl.zst.0123abcd.partial"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    assert await directory.get(MATCH) is None
    assert [match_id async for match_id in directory.scan()] == []
    await directory.put(MATCH, b"whole")
    assert [file.name for file in folder.iterdir()] == [f"{MATCH}.jsonl.zst"]


async def test_foreign_files_are_left_alone(directory: Archive, tmp_path: Path) -> None:
    await directory.put(MATCH, b"content")
    (tmp_path / "archive" / "tc" / "0a7" / "notes.txt").write_text("hands off")
    (tmp_path / "archive" / "tc" / "0a7" / f"{OTHERS[0]}.jsonl.zst").write_text("in the wrong folder")
    assert [match_id async for match_id in directory.scan()] == [MATCH]


# The store


@pytest.mark.parametrize("bucket", ["no-such-bucket", BUCKET])
async def test_a_store_that_refuses_is_unavailable(store: str, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such bucket, or a wrong secret: neither is taken for an archive that holds nothing."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ENVIRON["AWS_ACCESS_KEY_ID"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ENVIRON["AWS_SECRET_ACCESS_KEY"] if bucket != BUCKET else "wrong")
    archive = open_archive(f"s3://{bucket}?endpoint={store}")
    with pytest.raises(ArchiveUnavailable):
        await archive.get(MATCH)
    with pytest.raises(ArchiveUnavailable):
        await archive.put(MATCH, b"content")


async def test_a_store_that_is_away_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    [monkeypatch.setenv(name, value) for name, value in ENVIRON.items()]
    archive = open_archive(f"s3://{BUCKET}?endpoint=http://127.0.0.1:1")
    with pytest.raises(ArchiveUnavailable):
        await archive.get(MATCH)


class Elsewhere(BaseHTTPRequestHandler):
    """Redirects everything, as a proxy does that wants https."""

    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Location", f"https://127.0.0.1{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a server that redirects everything."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_a_store_that_is_elsewhere_is_unavailable(elsewhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [monkeypatch.setenv(name, value) for name, value in ENVIRON.items()]
    archive = open_archive(f"s3://{BUCKET}?endpoint={elsewhere}&addressing=path")
    for_nothing = (archive.get(MATCH), archive.put(MATCH, b"content"), anext(aiter(archive.scan())))
    outcomes = await asyncio.gather(*for_nothing, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ArchiveUnavailable] * 3


# Addresses


@pytest.mark.parametrize(
    "url",
    [
        "archive",
        "/archive",
        "file://archive",
        "file:archive",
        "file:///archive?x=1",
        "s3://",
        "s3:///prefix",
        "s3://bucket?colour=red",
        "http://host/bucket",
    ],
)
def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="PROMONTORY_ARCHIVE_URL"):
        open_archive(url)
