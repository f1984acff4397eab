"""The event log on a real server: faults of the network, of the data, of clocks and of memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.port import (
    START,
    ClockSkew,
    CommandIdReused,
    EventLogUnavailable,
    FeedNote,
    Fenced,
    LogCorrupt,
    StoredEvent,
    bucket_of,
)
from promontory.eventlog.redis_calls import ServerRefused
from promontory.eventlog.redis_server import Connections, connect
from promontory.eventlog.redis_streams import BUCKETS_KEY, PAGE_ENTRIES, BucketsShrunk, RedisEventLog, Tuning
from promontory.runtime.clock import now_ms
from promontory.runtime.embedded import EmbeddedServer
from tests.support.event_logs import EVENT, append_chain, position, proposal
from tests.support.faults import FaultProxy

MINUTE_MS = 60_000


def log_at(connections: Connections, *, skew_ms: int = 0, attempts: int = 3) -> RedisEventLog:
    tuning = Tuning(attempts=attempts)
    clock = (lambda: now_ms() + skew_ms) if skew_ms else now_ms
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock, tuning=tuning)


@pytest.fixture
def log(redis_connections: Connections) -> RedisEventLog:
    return log_at(redis_connections)


@pytest.fixture
def keys(unique_stream: str) -> dict[str, str]:
    tag = f"{{{bucket_of(unique_stream)}}}"
    parts = {part: f"{tag}:m:{unique_stream}:{part}" for part in ("log", "head", "idem")}
    return parts | {part: f"{tag}:{part}" for part in ("feed", "due", "tries", "park", "fence")}


@pytest.fixture
async def proxy(valkey: EmbeddedServer, redis_connections: Connections) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(valkey.socket_path, valkey.socket_path.with_name("proxy.sock")) as proxy:
        yield proxy


@pytest.fixture
async def faulty(proxy: FaultProxy) -> AsyncIterator[Connections]:
    """Connections that run through the proxy."""
    connections = connect(proxy.url)
    yield connections
    await connections.aclose()


# Replies and requests that are lost


async def test_a_lost_reply_is_resolved_by_the_command_id(
    proxy: FaultProxy, faulty: Connections, unique_stream: str
) -> None:
    """The server made the commit, nobody heard: the repeated call learns of it and makes no second one."""
    proxy.lose_reply(to=b"append_")
    appended = await log_at(faulty).append(unique_stream, proposal(), expected=START)
    assert (appended.version, appended.duplicate, proxy.lost) == (1, True, 1)
    assert len(await log_at(faulty).read(unique_stream)) == 1


async def test_a_lost_request_is_sent_again(proxy: FaultProxy, faulty: Connections, unique_stream: str) -> None:
    proxy.lose_request(containing=b"append_")
    appended = await log_at(faulty).append(unique_stream, proposal(), expected=START)
    assert (appended.version, appended.duplicate, proxy.lost) == (1, False, 1)


async def test_an_outcome_that_stays_unknown_is_said_to_be(
    proxy: FaultProxy, faulty: Connections, unique_stream: str
) -> None:
    proxy.lose_reply(to=b"append_", times=3)
    with pytest.raises(EventLogUnavailable):
        await log_at(faulty).append(unique_stream, proposal(), expected=START)
    assert proxy.lost == 3
    assert (await log_at(faulty).append(unique_stream, proposal(), expected=START)).duplicate


async def test_the_client_itself_never_repeats_an_append(
    proxy: FaultProxy, faulty: Connections, unique_stream: str
) -> None:
    proxy.lose_reply(to=b"append_", times=2)
    with pytest.raises(EventLogUnavailable):
        await log_at(faulty, attempts=1).append(unique_stream, proposal(), expected=START)
    assert proxy.lost == 1


@pytest.mark.parametrize("command", [b"XRANGE", b"HMGET"])
async def test_a_read_whose_reply_is_lost_is_repeated(
    proxy: FaultProxy, faulty: Connections, log: RedisEventLog, unique_stream: str, command: bytes
) -> None:
    await append_chain(log, unique_stream, 2)
    proxy.lose_reply(to=command)
    assert len(await log_at(faulty).read(unique_stream)) == 2
    assert proxy.lost == 1


async def test_a_cancelled_call_leaves_no_foreign_reply_behind(
    log: RedisEventLog, unique_stream: str, redis_client: Redis
) -> None:
    """After a call is cancelled in mid-flight, the next one on the pool gets its own answer."""
    await append_chain(log, unique_stream, 3)
    reading = asyncio.create_task(log.read(unique_stream))
    await asyncio.sleep(0)
    reading.cancel()
    answers = await asyncio.gather(*(redis_client.echo(f"canary {number}") for number in range(20)))
    assert answers == [f"canary {number}".encode() for number in range(20)]


async def test_a_transport_that_breaks_with_a_foreign_error_is_an_unknown_outcome(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closed transports raise `TypeError` or `AttributeError` on some Python versions."""
    await append_chain(log, unique_stream, 1)

    async def broken(*_: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'write'")

    monkeypatch.setattr(redis_client, "execute_command", broken)
    with pytest.raises(EventLogUnavailable):
        await log.head(unique_stream)


# Epochs


async def test_a_writer_follows_the_bucket_into_its_next_epoch(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    after = await append_chain(log, unique_stream, 1)
    await redis_client.set(keys["fence"], "2")
    assert (await log.append(unique_stream, proposal("0:second"), expected=after)).version == 2


async def test_a_bucket_in_recovery_takes_no_commit(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    after = await append_chain(log, unique_stream, 1)
    await redis_client.set(keys["fence"], "2!")
    with pytest.raises(Fenced) as refused:
        await log.append(unique_stream, proposal("0:second"), expected=after)
    assert refused.value.fence == "2!"
    await redis_client.set(keys["fence"], "2")
    assert (await log.append(unique_stream, proposal("0:second"), expected=after)).version == 2


@pytest.mark.parametrize("fence", ["0", "2", "", "1!"])
async def test_the_server_refuses_a_wrong_fence(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str], fence: str
) -> None:
    await append_chain(log, unique_stream, 1)
    names = [keys[part] for part in ("log", "head", "idem", "feed", "due", "fence", "tries")]
    arguments = (fence, 1, "", "0:x", "f", "h", "open", "", unique_stream, 100, 1, "t", "d", 0)
    append = event_log_library().function("append")
    assert await redis_client.execute_command("FCALL", append, 7, *names, *arguments) == [b"FENCED", b"1"]


async def test_the_first_append_of_a_bucket_opens_its_first_epoch(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    await append_chain(log, unique_stream, 1)
    assert await redis_client.get(keys["fence"]) == b"1"


# What is stored, and what is noticed when it changes


async def test_a_commit_is_stored_under_its_number(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    """`XRANGE log 1 1` is exactly commit 1; its first entry tells how many events it has."""
    events = [StoredEvent("a.B", b"1"), StoredEvent("a.C", b"2")]
    head = position(await log.append(unique_stream, proposal(events=events), expected=START)).head
    first = {b"t": b"a.B", b"d": b"1", b"n": b"2", b"c": b"0:first", b"h": head, b"m": b"meta"}
    stored = [(b"1-0", first), (b"1-1", {b"t": b"a.C", b"d": b"2"})]
    assert await redis_client.xrange(keys["log"], "1", "1") == stored


@pytest.mark.parametrize("deleted", ["1-0", "2-0", "2-1", "3-0", "3-1"])
async def test_a_deleted_entry_is_noticed(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str], deleted: str
) -> None:
    await _three_commits_of_two(log, unique_stream)
    await redis_client.xdel(keys["log"], deleted)
    with pytest.raises(LogCorrupt) as corrupt:
        await log.read(unique_stream)
    assert corrupt.value.version == int(deleted[0])


@pytest.mark.parametrize("field", ["t", "d", "c", "m", "h", "n"])
async def test_an_altered_field_is_noticed(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str], field: str
) -> None:
    """The chain covers the bytes that are stored: whatever changes, verification fails from that commit on."""
    await append_chain(log, unique_stream, 3)
    await _alter(redis_client, keys["log"], field)
    with pytest.raises(LogCorrupt) as corrupt:
        await log.read(unique_stream)
    assert corrupt.value.version == 3


@pytest.mark.parametrize("change", [{"v": "2"}, {"v": "4"}, {"h": b"0" * 16}])
async def test_a_head_that_does_not_fit_the_log_is_noticed(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str], change: dict[Any, Any]
) -> None:
    await append_chain(log, unique_stream, 3)
    await redis_client.hset(keys["head"], mapping=change)
    with pytest.raises(LogCorrupt):
        await log.read(unique_stream)


async def test_a_log_without_its_head_is_noticed(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    await append_chain(log, unique_stream, 3)
    await redis_client.delete(keys["head"])
    with pytest.raises(LogCorrupt):
        await log.read(unique_stream)


async def test_nothing_is_appended_to_a_log_that_is_ahead_of_its_head(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    after = await append_chain(log, unique_stream, 1)
    await redis_client.xadd(keys["log"], {"t": "stray"}, id="7-0")
    with pytest.raises(LogCorrupt):
        await log.append(unique_stream, proposal("0:second"), expected=after)
    assert await redis_client.xlen(keys["log"]) == 2


async def test_the_commits_before_the_damage_stay_readable(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    await append_chain(log, unique_stream, 3)
    await redis_client.xdel(keys["log"], "3-0")
    assert len(await log.read(unique_stream, limit=2)) == 2


async def test_a_limit_counts_commits_however_many_pages_they_fill(log: RedisEventLog, unique_stream: str) -> None:
    after, events = await append_chain(log, unique_stream, 1), 3 * PAGE_ENTRIES * (EVENT,)
    long = await log.append(unique_stream, proposal("0:long", events=events), expected=after)
    await append_chain(log, unique_stream, 1, after=position(long))
    first, second = await log.read(unique_stream, limit=2)
    assert (first.position, len(second.events)) == (after, len(events))


@pytest.mark.parametrize("digest", [16 * "7c", 32 * "0a"])
async def test_what_older_writers_kept_of_a_command_is_understood(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str], digest: str
) -> None:
    """[event_log 2.2] They kept digests as hex digits; a command that is repeated after an update finds its commit."""
    await append_chain(log, unique_stream, 1)
    await redis_client.hset(keys["idem"], "0:1", f"{digest}|1")
    assert await log.find(unique_stream, "0:1") == (digest, 1)
    assert (await log.append(unique_stream, proposal("0:1", fingerprint=digest), expected=START)).duplicate
    with pytest.raises(CommandIdReused):
        await log.append(unique_stream, proposal("0:1", fingerprint=digest[::-1]), expected=START)


async def test_a_digest_is_kept_as_its_bytes(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    """Of a match's memory, what its commands' ids take would else be a third."""
    await log.append(unique_stream, proposal("0:1", fingerprint=32 * "0a"), expected=START)
    assert await redis_client.hget(keys["idem"], "0:1") == b"\xff" + 32 * b"\n" + b"|1"
    assert await log.command_ids(unique_stream) == {"0:1": (32 * "0a", 1)}


async def test_an_unfinished_call_of_the_function_writes_nothing(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    """Scripts do not roll back, so the function checks that its arguments are complete before the first write."""
    after = await append_chain(log, unique_stream, 1)
    names = [keys[part] for part in ("log", "head", "idem", "feed", "due", "fence", "tries")]
    arguments = ("1", 1, after.head, "0:x", "f", "h", "open", "", unique_stream, 100, 2, "t", "d", 1, "bot", "soon")
    append = event_log_library().function("append")
    assert await redis_client.execute_command("FCALL", append, 7, *names, *arguments) == [b"MALFORMED"]
    assert len(await log.read(unique_stream)) == 1


# Obligations


async def test_an_exhausted_obligation_is_parked_once(
    log: RedisEventLog, unique_stream: str, redis_client: Redis, keys: dict[str, str]
) -> None:
    await log.append(unique_stream, proposal(due={"bot|x": 0}), expected=START)
    bucket = bucket_of(unique_stream)
    claims = [(await log.claim(bucket, limit=1, lease_ms=-1, max_attempts=2))[0] for _ in range(4)]
    assert [(claimed.attempt, claimed.exhausted) for claimed in claims] == [
        (1, False),
        (2, False),
        (3, True),
        (4, True),
    ]
    parked: list[Any] = await redis_client.execute_command("XRANGE", keys["park"], "-", "+")
    assert [fields for _, fields in parked] == [{b"o": b"bot|x", b"why": b"tries"}]


@pytest.mark.parametrize("skew_ms", [-MINUTE_MS, MINUTE_MS])
async def test_nothing_is_claimed_when_the_clocks_differ(
    redis_connections: Connections, unique_stream: str, skew_ms: int
) -> None:
    """A clock that jumped must not time out every match at once."""
    skewed = log_at(redis_connections, skew_ms=skew_ms)
    await skewed.append(unique_stream, proposal(due={"bot|x": 0}), expected=START)
    with pytest.raises(ClockSkew):
        await skewed.claim(bucket_of(unique_stream), limit=1, lease_ms=0, max_attempts=1)
    claims = await log_at(redis_connections).claim(bucket_of(unique_stream), limit=1, lease_ms=0, max_attempts=1)
    assert [claimed.attempt for claimed in claims] == [1]


@pytest.mark.parametrize("skew_ms", [-MINUTE_MS, MINUTE_MS])
async def test_nothing_is_recorded_at_another_time_than_the_servers(
    redis_connections: Connections, unique_stream: str, skew_ms: int
) -> None:
    """[event_log R17] A writer whose clock jumped must not take anybody's time; what was recorded is still found."""
    log, timed = log_at(redis_connections), proposal()
    with pytest.raises(ClockSkew):
        await log.append(unique_stream, replace(timed, recorded_at_ms=now_ms() + skew_ms), expected=START)
    assert await log.head(unique_stream) is None
    await log.append(unique_stream, replace(timed, recorded_at_ms=now_ms()), expected=START)
    again = await log.append(unique_stream, replace(timed, recorded_at_ms=now_ms() + skew_ms), expected=START)
    assert (again.version, again.duplicate) == (1, True)


async def test_a_note_by_an_older_writer_may_tell_of_something_due(
    redis_connections: Connections, unique_stream: str, keys: dict[str, str]
) -> None:
    """While an update rolls, whoever follows the feed looks once too often rather than too late."""
    await redis_connections.commands.xadd(keys["feed"], {"r": unique_stream, "v": "1", "e": "1"})
    _, notes = await log_at(redis_connections).feed({bucket_of(unique_stream): "0"}, block_ms=0)
    assert notes == [FeedNote(unique_stream, 1, 0)]


async def test_the_feed_is_capped(redis_connections: Connections, unique_stream: str, keys: dict[str, str]) -> None:
    capped = RedisEventLog(
        redis_connections.commands, blocking=redis_connections.blocking, clock=now_ms, tuning=Tuning(feed_notes=10)
    )
    await append_chain(capped, unique_stream, 250)
    assert await redis_connections.commands.xlen(keys["feed"]) < 200
    assert len(await capped.read(unique_stream)) == 250


# Memory


@pytest.fixture
async def limited(tmp_path: Path) -> AsyncIterator[Connections]:
    """A server of its own, whose memory a test may limit."""
    with EmbeddedServer(tmp_path) as server:
        connections = connect(server.url)
        await load_library(connections.commands, event_log_library())
        yield connections
        await connections.aclose()


async def test_a_full_server_refuses_commits_whole(limited: Connections, unique_stream: str) -> None:
    log = log_at(limited)
    big = proposal("0:big", events=[StoredEvent("a.B", bytes(100_000))] * 3, due={"bot|x": 0})
    after = position(await log.append(unique_stream, proposal(due={"bot|y": 0}), expected=START))
    await limited.commands.config_set("maxmemory", 1)
    with pytest.raises(ServerRefused, match="OOM"):
        await log.append(unique_stream, big, expected=after)
    assert [commit.version for commit in await log.read(unique_stream)] == [1]
    assert await log.find(unique_stream, "0:big") is None
    await log.settle(bucket_of(unique_stream), "bot|y")
    assert await log.oldest_due(bucket_of(unique_stream)) is None
    await limited.commands.config_set("maxmemory", 0)
    assert (await log.append(unique_stream, big, expected=after)).version == 2


async def _three_commits_of_two(log: RedisEventLog, stream: str) -> None:
    events = [StoredEvent("a.B", b"1"), StoredEvent("a.C", b"2")]
    after = START
    for number in range(3):
        after = position(await log.append(stream, proposal(f"0:{number}", events=events), expected=after))


async def _alter(client: Redis, key: str, field: str) -> None:
    """Put the last entry back under the same id, one field changed, as no client of the log could."""
    entries: list[Any] = await client.execute_command("XRANGE", key, "-", "+")
    last_id, last_fields = entries.pop()
    altered = {**last_fields, field.encode(): b"9" + last_fields[field.encode()]}
    await client.delete(key)
    for entry_id, fields in [*entries, (last_id, altered)]:
        await client.xadd(key, fields, id=entry_id)


async def test_the_number_of_buckets_may_grow_but_not_shrink(log: RedisEventLog, redis_client: Redis) -> None:
    """[event_log 2.2] Matches in a bucket that nobody looks after would wait for ever."""
    await redis_client.delete(BUCKETS_KEY)
    await log.agree_on_buckets(64)
    await log.agree_on_buckets(64)
    await log.agree_on_buckets(128)
    with pytest.raises(BucketsShrunk, match="PROMONTORY_BUCKETS=128"):
        await log.agree_on_buckets(64)
    await redis_client.delete(BUCKETS_KEY)
