"""How every event log tells of its obligations one by one, and tries one anew."""

from __future__ import annotations

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.owing import Owing, Owings
from promontory.eventlog.port import START, EventLog, bucket_of
from promontory.eventlog.redis_owing import RedisOwings
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime.clock import now_ms
from tests.support.event_logs import proposal

SOON, LATER = "tally|m", "clock|m"
Logs = tuple[EventLog, Owings]


@pytest.fixture(params=["memory", "redis"])
async def logs(request: pytest.FixtureRequest, redis_connections: Connections, unique_stream: str) -> Logs:
    """A log in which one obligation is due now and one in a minute, and what tells of them."""
    memory = MemoryEventLog(clock=now_ms)
    redis = RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=now_ms)
    found: Logs = (memory, memory) if request.param == "memory" else (redis, RedisOwings(redis))
    await found[0].append(unique_stream, proposal(due={LATER: 60_000, SOON: 0}), expected=START)
    return found


async def test_obligations_are_told_the_earliest_due_first(logs: Logs, unique_stream: str) -> None:
    """With how often each was handed out."""
    log, owings = logs
    await log.claim(bucket_of(unique_stream), limit=10, lease_ms=0, max_attempts=5)
    found = await owings.owings(bucket_of(unique_stream))
    assert [(each.name, each.attempts) for each in found] == [(SOON, 1), (LATER, 0)]
    assert found[0].due_ms <= now_ms() < found[1].due_ms
    assert await owings.owings("tc:fff") == []


async def test_a_renewed_obligation_is_due_for_the_first_time(logs: Logs, unique_stream: str) -> None:
    log, owings = logs
    bucket = bucket_of(unique_stream)
    await log.claim(bucket, limit=10, lease_ms=60_000, max_attempts=5)
    await owings.renew(bucket, SOON)
    (claimed,) = await log.claim(bucket, limit=10, lease_ms=60_000, max_attempts=5)
    assert (claimed.name, claimed.attempt) == (SOON, 1)


async def test_renewing_or_settling_what_is_not_owed_does_nothing(logs: Logs, unique_stream: str) -> None:
    _, owings = logs
    bucket = bucket_of(unique_stream)
    before: list[Owing] = list(await owings.owings(bucket))
    await owings.renew(bucket, "list|m")
    await owings.settle(bucket, "list|m")
    assert list(await owings.owings(bucket)) == before
    await owings.settle(bucket, SOON)
    assert [each.name for each in await owings.owings(bucket)] == [LATER]
