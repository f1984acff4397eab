"""A log that went back behind what it acknowledged is offered that again; what does not fit is told of."""

from __future__ import annotations

from typing import Self

import pytest
from structlog.testing import capture_logs

from promontory.eventlog import resending
from promontory.eventlog.port import START, LogCorrupt, Position, Proposed, StreamStatus, VersionConflict, bucket_of
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.eventlog.resending import Resending
from promontory.runtime.clock import now_ms
from tests.support.event_logs import append_chain, position, proposal


@pytest.fixture
def log(redis_connections: Connections) -> RedisEventLog:
    """The log as the process that is acknowledged has it."""
    return _log(redis_connections)


@pytest.fixture
def other(redis_connections: Connections) -> RedisEventLog:
    """The log as another process has it."""
    return _log(redis_connections)


def _log(connections: Connections) -> RedisEventLog:
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)


class Backup:
    """What the server holds of a stream now, to go back to as a failover may."""

    def __init__(self, log: RedisEventLog, stream: str) -> None:
        self._call = log.caller
        self._keys = [f"{{{bucket_of(stream)}}}:m:{stream}:{part}" for part in ("log", "head", "idem")]

    async def take(self) -> Self:
        self._values = await self._call.pipeline(*(("DUMP", key) for key in self._keys))
        return self

    async def restore(self) -> None:
        pairs = zip(self._keys, self._values, strict=True)
        await self._call.pipeline(*(("RESTORE", key, 0, value, "REPLACE") for key, value in pairs))


async def test_a_read_after_what_was_acknowledged_finds_it_again(
    log: RedisEventLog, other: RedisEventLog, unique_stream: str
) -> None:
    """[event_log 2.8] Nobody notices that it was gone."""
    before = await append_chain(log, unique_stream, 2)
    backup = await Backup(log, unique_stream).take()
    end = await append_chain(log, unique_stream, 3, after=before)
    await backup.restore()
    with capture_logs() as logs:
        assert await log.read(unique_stream, after=end) == ()
    assert [(each["event"], each["commits"]) for each in logs] == [("commits_offered_again", 3)]
    assert (await other.read(unique_stream))[-1].position == end


async def test_an_append_goes_after_what_was_acknowledged(
    log: RedisEventLog, other: RedisEventLog, unique_stream: str
) -> None:
    before = await append_chain(log, unique_stream, 1)
    backup = await Backup(log, unique_stream).take()
    end = await append_chain(log, unique_stream, 1, after=before)
    await backup.restore()
    assert (await log.append(unique_stream, proposal("0:3"), expected=end)).version == 3
    assert len(await other.read(unique_stream)) == 3


async def test_a_commit_that_closed_a_stream_closes_it_again(log: RedisEventLog, unique_stream: str) -> None:
    """However long ago it says it was made."""
    before = await append_chain(log, unique_stream, 1)
    backup = await Backup(log, unique_stream).take()
    last = Proposed(proposal().events, "0:last", "content", closes=True, recorded_at_ms=now_ms())
    end = position(await log.append(unique_stream, last, expected=before))
    await backup.restore()
    assert await log.read(unique_stream, after=end) == ()
    head = await log.head(unique_stream)
    assert head is not None
    assert head.status is StreamStatus.CLOSED


async def test_what_went_on_without_it_is_left_alone_and_the_loss_told_once(
    log: RedisEventLog, other: RedisEventLog, unique_stream: str
) -> None:
    """[event_log 2.8] The chain decides: no commit is put after another history."""
    before = await append_chain(log, unique_stream, 1)
    backup = await Backup(log, unique_stream).take()
    end = await append_chain(log, unique_stream, 2, after=before)
    await backup.restore()
    await other.append(unique_stream, proposal("1:2"), expected=before)
    with capture_logs() as logs:
        with pytest.raises(VersionConflict):
            await log.append(unique_stream, proposal("0:4"), expected=end)
        with pytest.raises(LogCorrupt):
            await log.read(unique_stream, after=end)
    assert [(each["event"], each["first"], each["commits"]) for each in logs] == [("commits_lost", 2, 2)]
    assert [each.command_id for each in await other.read(unique_stream)] == ["0:1", "1:2"]


async def test_all_streams_are_looked_at_after_an_outage(
    log: RedisEventLog, other: RedisEventLog, unique_stream: str
) -> None:
    """[event_log 2.8] Also those that nobody reads just then."""
    before = await append_chain(log, unique_stream, 1)
    backup = await Backup(log, unique_stream).take()
    end = await append_chain(log, unique_stream, 1, after=before)
    await backup.restore()
    await log._resending.offer_all()
    assert (await other.read(unique_stream))[-1].position == end


async def test_nothing_is_lost_where_another_process_went_on_after_it(
    log: RedisEventLog, other: RedisEventLog, unique_stream: str
) -> None:
    after = await append_chain(log, unique_stream, 2)
    await append_chain(other, unique_stream, 2, after=after)
    with capture_logs() as logs:
        await log._resending.offer_all()
    assert logs == []


@pytest.mark.parametrize(("seconds", "most_bytes"), [(61.0, resending.KEPT_BYTES), (0.0, 100)])
async def test_what_is_old_or_too_much_is_forgotten(
    log: RedisEventLog, unique_stream: str, monkeypatch: pytest.MonkeyPatch, seconds: float, most_bytes: int
) -> None:
    monkeypatch.setattr(resending, "KEPT_BYTES", most_bytes)
    times = iter((0.0, seconds, seconds))
    kept = Resending(log, lambda: next(times))
    for version in (1, 2):
        kept.keep(unique_stream, proposal(), expected=START, position=Position(version, b""))
    assert not await kept.offer(unique_stream)
