"""How every event log gives up what is in the archive, and how it is asked what it owes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, Head, Position, StreamArchived, StreamClosed, StreamStatus, bucket_of
from promontory.eventlog.pruning import KEPT_SECONDS, PrunableLog, Pruning, Surrender
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime.clock import now_ms
from tests.support.event_logs import append_chain, position, proposal

ARCHIVE, TALLY = "archive|m|7", "tally|m"


def _memory(_: Connections) -> PrunableLog:
    return MemoryEventLog(clock=now_ms)


def _redis(connections: Connections) -> PrunableLog:
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)


@pytest.fixture(params=[_memory, _redis], ids=["memory", "redis"])
def log(request: pytest.FixtureRequest, redis_connections: Connections) -> PrunableLog:
    make: Callable[[Connections], PrunableLog] = request.param
    return make(redis_connections)


@pytest.fixture
def stream(unique_stream: str) -> str:
    return unique_stream


@pytest.fixture
async def end(log: PrunableLog, stream: str) -> Position:
    """The position of a closed stream of three commits, for which an archiving is owed."""
    second = await append_chain(log, stream, 2)
    last = proposal("0:last", closes=True, due={ARCHIVE: 600_000})
    return position(await log.append(stream, last, expected=second))


def surrender(end: Position, *after: str) -> Surrender:
    return Surrender(end, "somewhere", meets=ARCHIVE, after=after)


async def test_a_closed_stream_is_given_up_and_its_head_kept(log: PrunableLog, stream: str, end: Position) -> None:
    """[event_log 2.11] Log, ids and snapshot go; the obligation is met."""
    assert await log.prune(stream, surrender(end)) is Pruning.DONE
    assert await log.head(stream) == Head(end, StreamStatus.ARCHIVED)
    assert (await log.command_ids(stream), await log.owed(bucket_of(stream))) == ({}, [])


async def test_reading_what_was_given_up_says_so(log: PrunableLog, stream: str, end: Position) -> None:
    await log.prune(stream, surrender(end))
    with pytest.raises(StreamArchived):
        await log.read(stream)
    with pytest.raises(StreamClosed):
        await log.append(stream, proposal("0:more"), expected=end)
    assert await log.read(stream, after=end) == ()
    assert await log.find(stream, "0:last") is None


async def test_giving_up_twice_is_done(log: PrunableLog, stream: str, end: Position) -> None:
    """[event_log R15] Tasks run twice."""
    done = [await log.prune(stream, surrender(end)) for _ in range(3)]
    assert done == [Pruning.DONE] * 3


async def test_an_open_stream_is_never_given_up(log: PrunableLog, stream: str) -> None:
    """[event_log 2.11] Live logs are never trimmed."""
    here = await append_chain(log, stream, 2)
    assert await log.prune(stream, surrender(here)) is Pruning.OPEN
    assert len(await log.read(stream)) == 2


@pytest.mark.parametrize("other", [Position(3, b"0" * 16), Position(2, b""), START])
async def test_only_the_very_history_that_was_archived_is_given_up(
    log: PrunableLog, stream: str, end: Position, other: Position
) -> None:
    """Version and hash: a log that went back and grew again is another one."""
    assert await log.prune(stream, surrender(other)) is Pruning.CONFLICT
    assert len(await log.read(stream)) == 3
    assert await log.owed(bucket_of(stream)) == [ARCHIVE]


async def test_nothing_is_given_up_while_something_else_is_owed(log: PrunableLog, stream: str, end: Position) -> None:
    """A rated match stays until it is tallied."""
    await log.owe(bucket_of(stream), TALLY, delay_ms=0)
    assert await log.prune(stream, surrender(end, TALLY)) is Pruning.OWED
    assert len(await log.read(stream)) == 3
    await log.settle(bucket_of(stream), TALLY)
    assert await log.prune(stream, surrender(end, TALLY)) is Pruning.DONE


async def test_a_stream_that_is_gone_owes_nothing(log: PrunableLog, stream: str) -> None:
    await log.owe(bucket_of(stream), ARCHIVE, delay_ms=0)
    assert await log.prune(stream, surrender(Position(3, b"0" * 16))) is Pruning.DONE
    assert await log.owed(bucket_of(stream)) == []


async def test_the_command_ids_are_told_with_what_stands_for_their_content(
    log: PrunableLog, stream: str, end: Position
) -> None:
    assert await log.command_ids(stream) == {"0:1": ("content", 1), "0:2": ("content", 2), "0:last": ("content", 3)}


async def test_what_is_postponed_goes_on_counting_its_attempts(log: PrunableLog, stream: str) -> None:
    """An archive that is away is asked less and less often."""
    bucket = bucket_of(stream)
    await log.owe(bucket, ARCHIVE, delay_ms=0)
    await log.owe(bucket, ARCHIVE, delay_ms=600_000)  # it is there: nothing changes
    (first,) = await log.claim(bucket, limit=9, lease_ms=600_000, max_attempts=5)
    await log.postpone(bucket, ARCHIVE, delay_ms=0)
    (second,) = await log.claim(bucket, limit=9, lease_ms=600_000, max_attempts=5)
    await log.postpone(bucket, ARCHIVE, delay_ms=600_000)
    assert (first.attempt, second.attempt) == (1, 2)
    assert await log.claim(bucket, limit=9, lease_ms=1, max_attempts=5) == []


async def test_what_is_not_owed_is_not_postponed(log: PrunableLog, stream: str) -> None:
    """Another worker met it meanwhile."""
    await log.postpone(bucket_of(stream), ARCHIVE, delay_ms=0)
    assert await log.owed(bucket_of(stream)) == []


async def test_closed_streams_are_found(log: PrunableLog, stream: str, end: Position) -> None:
    """For an archive that is set up later than the matches were played."""
    await append_chain(log, f"{stream}-open", 1)
    found = {each async for each in log.closed_streams()}
    assert (stream in found, f"{stream}-open" in found) == (True, False)
    await log.prune(stream, surrender(end))
    assert stream not in {each async for each in log.closed_streams()}


async def test_the_server_forgets_the_head_after_a_week(redis_connections: Connections, stream: str) -> None:
    """[event_log 2.11]."""
    log = _redis(redis_connections)
    closed = position(await log.append(stream, proposal(closes=True), expected=START))
    await log.prune(stream, surrender(closed))
    head = f"{{{bucket_of(stream)}}}:m:{stream}:head"
    keys = [key async for page in log.caller.keys(f"*{stream}:*", page=1000) for key in page]
    assert keys == [head.encode()]
    assert KEPT_SECONDS - 60 < await redis_connections.commands.ttl(head) <= KEPT_SECONDS
    assert await redis_connections.commands.hget(head, "l") == b"somewhere"
