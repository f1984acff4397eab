"""The event log while its servers change: who is talked to, what is found there, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from structlog.testing import capture_logs

from promontory.eventlog.functions import LibraryMissing, event_log_library, load_library, verify_library
from promontory.eventlog.port import (
    START,
    EventLogUnavailable,
    FeedNote,
    LogCorrupt,
    PartlyUnavailable,
    Position,
    VersionConflict,
    bucket_of,
    chain,
)
from promontory.eventlog.redis_cluster import address_of, primaries
from promontory.eventlog.redis_sentinel import Sentinels
from promontory.eventlog.redis_server import Connections, UnsafeServer, check_policy, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.local.functions import keep_loaded
from promontory.runtime.clock import now_ms
from tests.support.event_logs import append_chain, proposal
from tests.support.standing_by import Group, cluster, sentinel_group
from tests.support.waiting import eventually

STREAMS = tuple(f"tc-{bucket:03x}-a" for bucket in range(16))
STREAM, KEY = STREAMS[0], "{tc:000}:feed"
FAILOVER_SECONDS = 60.0


@pytest.fixture
def by_sentinel(tmp_path: Path) -> Iterator[Group]:
    with sentinel_group(tmp_path) as running:
        yield running


@pytest.fixture
def unguarded(tmp_path: Path) -> Iterator[Group]:
    """Servers that acknowledge what no replica has."""
    with sentinel_group(tmp_path, guarded=False) as running:
        yield running


@pytest.fixture
def by_cluster(tmp_path: Path) -> Iterator[Group]:
    with cluster(tmp_path, guarded=False) as running:
        yield running


@pytest.fixture(params=["by_sentinel", "by_cluster"])
def group(request: pytest.FixtureRequest) -> Group:
    found: Group = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def connections(group: Group) -> AsyncIterator[Connections]:
    async with connect(group.url) as found:
        await load_library(found.commands, event_log_library())
        yield found


@pytest.fixture
def log(connections: Connections) -> RedisEventLog:
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)


async def _fill(log: RedisEventLog) -> list[Position]:
    return [await append_chain(log, stream, 3) for stream in STREAMS]


# Failover


async def test_the_next_primary_has_all_commits_and_the_functions(group: Group, log: RedisEventLog) -> None:
    """[event_log P49] Functions are replicated; nobody loads anything in a failover."""
    ends = await _fill(log)
    group.kill(group.owner(KEY))
    end = await eventually(partial(_append, log, ends[0]), seconds=FAILOVER_SECONDS)
    assert [len(await log.read(stream)) for stream in STREAMS] == [4, *[3] * 15]
    assert (await log.read(STREAM))[-1].position == end
    await log.start()


async def test_commits_that_a_failover_lost_are_offered_again(unguarded: Group) -> None:
    """[event_log 2.8] By the process that was acknowledged, as soon as it reads, appends, or is answered again."""
    async with connect(unguarded.url) as found:
        await load_library(found.commands, event_log_library())
        log = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        ends = await _lose_commits(log, unguarded)
        assert await eventually(partial(_commits_after, log, STREAM, ends[0]), seconds=FAILOVER_SECONDS) == [5]
        await eventually(partial(_holds, unguarded.url, ends[1]))


async def test_commits_that_are_lost_for_good_are_noticed(unguarded: Group) -> None:
    """[event_log O6] Who knows of them is told that the log does not hold them, and is not taken back silently."""
    async with connect(unguarded.url) as found:
        await load_library(found.commands, event_log_library())
        ends = await _lose_commits(RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms), unguarded)
    async with connect(unguarded.url) as found:
        other = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        with pytest.raises(LogCorrupt, match="does not hold the position"):
            await eventually(partial(_commits_after, other, STREAM, ends[0]), seconds=FAILOVER_SECONDS)
        with pytest.raises(VersionConflict):
            await other.append(STREAM, proposal("0:next"), expected=ends[0])
        assert len(await other.read(STREAM)) == 3


async def test_whoever_waits_for_a_feed_is_told_after_a_handover(group: Group, log: RedisEventLog) -> None:
    """[event_log P41] No connection stays with the server that was the primary."""
    ends = await _fill(log)
    cursors, _ = await log.feed(dict.fromkeys(("tc:000", "tc:001"), "$"), block_ms=0)
    victim = group.owner(KEY)
    waiting = asyncio.create_task(eventually(partial(_notes, log, cursors), seconds=FAILOVER_SECONDS))
    await asyncio.to_thread(group.hand_over, victim)
    await eventually(partial(_has_moved, group, victim), seconds=FAILOVER_SECONDS)
    await eventually(partial(_append, log, ends[0]), seconds=FAILOVER_SECONDS)
    (note,) = await waiting
    assert (note.stream, note.version) == (STREAM, 4)


async def test_a_server_that_is_no_primary_any_more_is_left(by_sentinel: Group) -> None:
    """[event_log P41] Its role counts, not that it is where a Sentinel said."""
    replica = next(port for port in by_sentinel.servers if port != by_sentinel.owner(KEY))
    async with connect(by_sentinel.url) as found:
        assert isinstance(found.guide, Sentinels)
        found.guide._primary = ("127.0.0.1", replica)  # what they said before
        with pytest.raises(RedisConnectionError, match="no primary"):
            await found.commands.ping()
        assert await found.commands.ping()


# A cluster


async def test_buckets_lie_on_all_nodes(by_cluster: Group) -> None:
    """[event_log 2.2] All that concerns a bucket shares a slot, and buckets are spread."""
    async with connect(by_cluster.url) as found:
        await load_library(found.commands, event_log_library())
        log = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        await _fill(log)
        assert all([await server.dbsize() > 4 for server in await primaries(found.commands)])
        assert {each.stream async for page in log.openings("tc") for each in page} == set(STREAMS)


async def test_a_shard_that_is_gone_does_not_hide_the_others(by_cluster: Group) -> None:
    """[event_log R9] What is owed there is known, and so is that more may be."""
    async with connect(by_cluster.url) as found:
        await load_library(found.commands, event_log_library())
        log = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        for stream in STREAMS:
            await log.append(stream, proposal(due={f"tally|{stream}": 0}), expected=START)
        by_cluster.kill(by_cluster.owner(KEY))
        with pytest.raises(PartlyUnavailable) as refused:
            await log.backlogs([bucket_of(stream) for stream in STREAMS])
        assert "tc:000" not in refused.value.found
        assert len(refused.value.found) > 4


async def test_a_slot_that_moves_takes_its_commits_along(by_cluster: Group) -> None:
    """[event_log R10] Whoever appends meanwhile is sent after it."""
    async with connect(by_cluster.url) as found:
        await load_library(found.commands, event_log_library())
        log = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        ends = await _fill(log)
        owner = by_cluster.owner(KEY)
        target = by_cluster.owner("{tc:001}:feed")
        assert target != owner
        cursors, _ = await log.feed(dict.fromkeys(map(bucket_of, STREAMS), "$"), block_ms=0)
        appending = asyncio.create_task(append_chain(log, STREAM, 500, after=ends[0]))
        await asyncio.to_thread(by_cluster.move_slot, KEY, to=target)
        await eventually(partial(_has_moved, by_cluster, owner), seconds=FAILOVER_SECONDS)
        end = await appending
        assert end.version == 503
        assert (await log.read(STREAM))[-1].position == end
        assert await _told(log, cursors, count=500) == [FeedNote(STREAM, version) for version in range(4, 504)]


async def test_a_primary_without_the_functions_is_named(by_cluster: Group) -> None:
    """[event_log P49] A node that joins has none; loading again gives it what it lacks."""
    async with connect(by_cluster.url) as found:
        library = event_log_library()
        assert await load_library(found.commands, library)
        newcomer = (await primaries(found.commands))[-1]
        await newcomer.execute_command("FUNCTION", "FLUSH")
        with pytest.raises(LibraryMissing, match=address_of(newcomer)):
            await verify_library(found.commands, library)
        assert await load_library(found.commands, library)
        await verify_library(found.commands, library)


async def test_a_watch_loads_what_a_newcomer_lacks(by_cluster: Group) -> None:
    """[event_log P49] `promontory load-functions --watch`."""
    told: list[str] = []
    watching = asyncio.create_task(keep_loaded(by_cluster.url, every_seconds=0.05, tell=told.append))
    await eventually(partial(_are, told, 2))
    async with connect(by_cluster.url) as found:
        await (await primaries(found.commands))[1].execute_command("FUNCTION", "FLUSH")
        await eventually(partial(_are, told, 4))
        await verify_library(found.commands, event_log_library())
    watching.cancel()
    assert {line.partition(" ")[0] for line in told} == {"loaded"}


async def _are(lines: Sequence[str], count: int) -> bool:
    return len(lines) == count


async def test_every_primary_must_keep_what_it_is_told(by_cluster: Group) -> None:
    async with connect(by_cluster.url) as found:
        careless = (await primaries(found.commands))[1]
        await careless.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(UnsafeServer, match=f"{address_of(careless)}: maxmemory-policy") as refused:
            await check_policy(found.commands)
        assert len(refused.value.problems) == 1


# What is said of it


async def test_a_primary_that_needs_no_replica_is_warned_of(by_cluster: Group) -> None:
    """[event_log 2.7] It acknowledges what dies with it."""
    async with connect(by_cluster.url) as found:
        with capture_logs() as logs:
            await check_policy(found.commands)
        assert [each["event"] for each in logs] == ["replicas_not_required"] * 3


async def test_one_that_does_is_not(by_sentinel: Group) -> None:
    async with connect(by_sentinel.url) as found:
        with capture_logs() as logs:
            await check_policy(found.commands)
        assert logs == []


async def _told(log: RedisEventLog, cursors: Mapping[str, str], *, count: int) -> Sequence[FeedNote]:
    """Return the next notes, `count` of them, however many reads they come in."""
    told: list[FeedNote] = []
    while len(told) < count:
        cursors, notes = await log.feed(cursors, block_ms=5_000)
        assert notes, f"{count - len(told)} are missing"
        told += notes
    return told


async def _has_moved(group: Group, victim: int) -> bool:
    return await asyncio.to_thread(group.owner, KEY) != victim


async def _append(log: RedisEventLog, after: Position) -> Position | None:
    """Append a commit to the stream that is always the same, or return None while that cannot be done."""
    try:
        await log.append(STREAM, proposal("0:again"), expected=after)
    except EventLogUnavailable:
        return None
    return Position(after.version + 1, chain(STREAM, after.head, after.version + 1, proposal("0:again")))


async def _lose_commits(log: RedisEventLog, group: Group) -> list[Position]:
    """Have a failover lose the fourth commit of the first two streams; return their ends as acknowledged."""
    ends = await _fill(log)
    victim = group.owner(KEY)
    with group.cut_off(victim):
        found = [await append_chain(log, stream, 1, after=end) for stream, end in zip(STREAMS[:2], ends, strict=False)]
        group.kill(victim)
    return found


async def _commits_after(log: RedisEventLog, stream: str, after: Position) -> Sequence[int] | None:
    """Append one more, and return the versions after `after`; None while that cannot be done."""
    try:
        await log.read(stream, after=after)
        await log.append(stream, proposal("0:next"), expected=after)
        return [commit.version for commit in await log.read(stream, after=after)]
    except EventLogUnavailable:
        return None


async def _holds(url: str, end: Position) -> bool:
    async with connect(url) as found:
        other = RedisEventLog(found.commands, blocking=found.blocking, clock=now_ms)
        head = await other.head(STREAMS[1])
        return head is not None and head.position == end


async def _notes(log: RedisEventLog, cursors: Mapping[str, str]) -> Sequence[FeedNote]:
    try:
        return (await log.feed(cursors, block_ms=10_000))[1]
    except EventLogUnavailable:
        return ()
