"""A match's whole way: played by workers, tallied, archived by a worker, given up, and read as ever."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from promontory.archive.archiver import Archiver, Outcome
from promontory.archive.opening import open_archive, with_archive
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.obligations import archive_name, list_name, tally_name
from promontory.eventlog.port import bucket_of
from promontory.eventlog.redis_server import Connections, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.local import archives
from promontory.local.processes import ChildProcess
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.domain import ArchiveDue, parse
from promontory.runtime.clock import now_ms
from tests.support.archiving import Depot
from tests.support.house import House, Place, open_house, running
from tests.support.object_stores import BUCKET, ENVIRON, object_store
from tests.support.rules_servers import Client, rules_server
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def archive_url(place: Place) -> str:
    return (place.directory / "archive").as_uri()


@pytest.fixture(scope="module", autouse=True)
def worker(place: Place, archive_url: str) -> Iterator[ChildProcess]:
    """A worker that takes from all queues."""
    process = place.start("worker", "work", PROMONTORY_ARCHIVE_URL=archive_url)
    process.ready()
    yield process
    process.terminate()
    process.wait()


@pytest.fixture
async def house(place: Place, archive_url: str) -> AsyncIterator[House]:
    """The services, on an empty server, with an archive."""
    async with open_house(place, archive_url=archive_url) as house:
        yield house


async def to_archive(house: House, match_id: str) -> ArchiveDue | None:
    """Return the match's obligation to be archived, if it is tallied too; there is nobody here who lists it."""
    bucket = bucket_of(match_id)
    await house.log.settle(bucket, list_name(match_id))
    names = await house.log.owed(bucket)
    due = [each for name in names if isinstance(each := parse(name), ArchiveDue)]
    return due[0] if due and tally_name(match_id) not in names else None


async def keys_of(place: Place, match_id: str) -> list[bytes]:
    """Return the match's keys on the server."""
    async with connect(place.server.url) as connections:
        keys: list[bytes] = await connections.commands.execute_command("KEYS", f"*{match_id}*")
        return keys


async def shown(client: Client, match_id: str) -> list[bytes]:
    """Return the bytes of all that a spectator can read of a closed match."""
    last = await client.call("GetMatch", match_id=match_id)
    looks = [await client.call("GetMatch", match_id=match_id, version=at) for at in range(1, last.match.version + 1)]
    pages = await client.call("ListMatchEvents", match_id=match_id, page_size=500)
    watched = [message async for message in client.stream("WatchMatch", match_id=match_id)]
    snapshot, end = watched[0].snapshot, watched[-1].WhichOneof("kind")
    messages = [last, *looks, pages, snapshot.match, snapshot.view]
    return [*(message.SerializeToString() for message in messages), await client.export(match_id), str(end).encode()]


async def shown_by_a_new_server(place: Place, match_id: str, archive_url: str) -> list[bytes]:
    """Return what a replica shows that has just started, and knows nothing by heart."""
    async with (
        rules_server(place.server.url, place.keys, buckets=4, archive_url=archive_url) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        return await shown(Client(channel, place.keys.as_player("watcher")), match_id)


async def test_a_match_is_played_tallied_archived_and_read_to_the_byte(
    house: House, publisher: CeleryPublisher, archive_url: str
) -> None:
    """[event_log R26] By every call; also when the server has lost everything, and the index was made anew."""
    place = house.place
    async with running(house.dispatcher(publisher)):
        match_id = await house.create("greedy", "greedy")
        due = await eventually(lambda: to_archive(house, match_id), seconds=60)
        assert due is not None
        before = await shown_by_a_new_server(place, match_id, archive_url)
        await house.log.postpone(bucket_of(match_id), archive_name(match_id, due.closed_at_ms), delay_ms=0)
        assert await eventually(lambda: _only_the_head(place, match_id), seconds=30)
        await eventually(lambda: _nothing_owed(house))
    assert await shown_by_a_new_server(place, match_id, archive_url) == before
    assert await house.tallied() == {"house.0": 1, "house.1": 1}

    await house.redis.flushall()
    async with connect(place.server.url) as connections:
        await load_library(connections.commands, event_log_library())
    assert await shown_by_a_new_server(place, match_id, archive_url) == before
    assert await archives.latest(archive_url, place.server.url, limit=5) == []
    rebuilt = await archives.rebuild(archive_url, place.server.url, progress=lambda _: None)
    listed = await archives.latest(archive_url, place.server.url, player="house.1", limit=5)
    assert (rebuilt.matches, rebuilt.damaged, [each.match_id for each in listed]) == (1, (), [match_id])


async def _only_the_head(place: Place, match_id: str) -> bool:
    return [key.rpartition(b":")[2] for key in await keys_of(place, match_id)] == [b"head"]


async def _nothing_owed(house: House) -> bool:
    return not any([await house.log.owed(bucket) for bucket in house.place.buckets])


@pytest.fixture(scope="module")
def bucket_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an archive in a real S3-compatible store."""
    with object_store(tmp_path_factory.mktemp("store")) as endpoint:
        yield f"s3://{BUCKET}/deep/er?endpoint={endpoint}"


@pytest.fixture(params=["directory", "s3"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty archive in a directory, or in a bucket."""
    [monkeypatch.setenv(name, value) for name, value in ENVIRON.items()]
    url: str = (tmp_path / "a").as_uri() if request.param == "directory" else request.getfixturevalue("bucket_url")
    return url


async def test_a_match_is_moved_from_a_real_server_into_any_archive(
    redis_connections: Connections, anywhere: str
) -> None:
    """[event_log 2.11] Both kinds of archives behind the same steps, on the log in Redis."""
    log = RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=now_ms)
    depot: Any = Depot(log)  # type: ignore[arg-type]
    depot.archive, depot.index = open_archive(anywhere), RedisArchiveIndex(log.caller)
    match = await depot.closed(request_id=anywhere)
    commits = await log.read(match.match_id)
    archiver = Archiver(log, depot.archive, depot.index, depot.judge)
    outcomes = [await archiver.archive(match.match_id, match.updated_at_ms) for _ in range(2)]
    assert outcomes == [Outcome.ARCHIVED, Outcome.REPEATED]
    assert await (await with_archive(log, anywhere)).read(match.match_id) == commits
    assert await depot.index.holds(match.match_id)
