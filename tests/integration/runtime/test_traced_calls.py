"""Calls, appends and tasks of processes that trace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import grpc
import pytest
from redis.asyncio import Redis

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, EventLogUnavailable
from promontory.eventlog.redis_calls import Caller
from promontory.games.kernel import Rejected
from promontory.relay.domain import Task
from promontory.relay.traced_publisher import TracedPublisher
from promontory.rules.traced_log import traced_log
from promontory.runtime import tracing
from promontory.runtime.broker import BOTS, PLAY_BOT_TURN
from promontory.runtime.clock import now_ms
from promontory.runtime.identity import Caller as Who
from promontory.runtime.identity import Scope, serve_as
from promontory.runtime.redis_trails import KEPT_SECONDS, RedisTrails
from promontory.runtime.tracing import NO_CAUSE, Cause
from tests.integration.runtime.conftest import Scripted
from tests.support.event_logs import proposal
from tests.support.rules_servers import DESCRIPTOR, Client
from tests.support.serving import Keys, served
from tests.support.tracing import SAMPLED, TRACE, Traced, trace_of

MATCH = "tc-000-a"
TRACED = (("traceparent", SAMPLED),)


@pytest.fixture
def traced() -> Iterator[Traced]:
    """This process, which traces what begins elsewhere."""
    yield Traced(ratio=1)
    tracing.use(None)


@pytest.fixture
async def channel(traced: Traced, scripted: Scripted, keys: Keys) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server that traces."""
    async with served([(DESCRIPTOR, scripted)], keys) as address, grpc.aio.insecure_channel(address) as channel:
        yield channel


class Trails:
    """Trails in memory."""

    def __init__(self) -> None:
        self.left: dict[str, Cause] = {}

    async def leave(self, match_id: str, cause: Cause) -> None:
        """Keep it."""
        self.left[match_id] = cause

    async def found(self, match_ids: Sequence[str]) -> Sequence[Cause]:
        """Return what was left."""
        return [self.left.get(match_id, NO_CAUSE) for match_id in match_ids]


async def refuse(request: Any, context: Any) -> Any:
    raise Rejected("NOT_YOUR_TURN", rule="[T-1]", cards="L3")


async def test_a_service_s_call_is_part_of_its_trace_and_a_player_s_refers_to_it(
    channel: grpc.aio.Channel, scripted: Scripted, keys: Keys, traced: Traced
) -> None:
    """[event_log 5.2] A player cannot have more traced than the operator wants."""
    scripted.unary = refuse
    for metadata in (keys.as_service(), keys.as_player("ada")):
        with pytest.raises(grpc.aio.AioRpcError, match="NOT_YOUR_TURN"):
            await Client(channel, (*metadata, *TRACED)).call("GetMatch", match_id=MATCH)
    of_service, of_player = traced.spans()
    assert (trace_of(of_service), [trace_of(link) for link in of_service.links]) == (TRACE, [])
    assert (trace_of(of_player) == TRACE, [trace_of(link) for link in of_player.links]) == (False, [TRACE])
    assert of_player.name == "TranscontinentalService/GetMatch"
    assert dict(of_player.attributes or {}) == {
        "rpc.system": "grpc",
        "promontory.match_id": MATCH,
        "rpc.grpc.status_code": grpc.StatusCode.FAILED_PRECONDITION.value[0],
        "promontory.reason": "NOT_YOUR_TURN",
    }
    assert of_player.status.is_unset


@pytest.mark.parametrize(
    ("who", "goes_on"),
    [
        (Who("ada", frozenset()), True),
        (Who("service:worker", frozenset({Scope.PLAY_FOR_THE_HOUSE}), service=True), False),
    ],
    ids=["a player", "a house bot"],
)
async def test_what_a_commit_owes_is_traced_on_from_a_player_s_command(traced: Traced, who: Who, goes_on: bool) -> None:
    """A house bot's command is referred to: matches among bots would be one trace else."""
    serve_as(who)
    trails = Trails()
    log = traced_log(MemoryEventLog(clock=now_ms), trails)
    appended = await log.append(MATCH, proposal(due={"bot|tc-000-a|0|1": 0}), expected=START)
    (span,) = traced.spans()
    context = f"00-{trace_of(span)}-{span.context.span_id:016x}-03"
    assert trails.left == {MATCH: Cause(parent=context) if goes_on else Cause(link=context)}
    assert (await log.head(MATCH), (span.attributes or {})["promontory.version"]) != (None, 0)
    assert appended.version == 1


async def test_a_commit_that_owes_nothing_leaves_no_trail(traced: Traced) -> None:
    trails = Trails()
    await traced_log(MemoryEventLog(clock=now_ms), trails).append(MATCH, proposal(), expected=START)
    assert trails.left == {}
    assert [span.name for span in traced.spans()] == ["append"]


async def test_a_task_carries_the_trace_its_match_was_changed_in(traced: Traced) -> None:
    sent = list[Task]()

    class Broker:
        async def publish(self, tasks: Sequence[Task]) -> None:
            sent.extend(tasks)

    trails = Trails()
    await trails.leave(MATCH, Cause(parent=SAMPLED))
    task = Task(PLAY_BOT_TURN, BOTS, ("transcontinental", MATCH, 0, 1), f"bot|{MATCH}|0|1", attempt=1)
    await TracedPublisher(Broker(), trails).publish([task])  # type: ignore[arg-type]
    (span,) = traced.spans()
    assert [each.trace for each in sent] == [f"00-{TRACE}-{span.context.span_id:016x}-01"]
    assert (span.attributes or {})["promontory.obligation"] == "bot"


async def test_trails_are_kept_beside_the_log_for_minutes(redis_client: Redis, unique_stream: str) -> None:
    trails = RedisTrails(Caller(redis_client, attempts=1, deadline_seconds=1))
    await trails.leave(unique_stream, Cause(link=SAMPLED))
    assert await trails.found([unique_stream, "tc-000-none"]) == [Cause(link=SAMPLED), NO_CAUSE]
    bucket = unique_stream.rpartition("-")[0].replace("-", ":")
    assert 0 < await redis_client.ttl(f"{{{bucket}}}:trail:{unique_stream}") <= KEPT_SECONDS


async def test_a_store_that_is_away_costs_a_trail_and_nothing_else(redis_client: Redis) -> None:
    class Away(Caller):
        async def call(self, send: Any) -> Any:
            raise EventLogUnavailable("no answer")

    trails = RedisTrails(Away(redis_client, attempts=1, deadline_seconds=1))
    await trails.leave(MATCH, Cause(parent=SAMPLED))
    assert await trails.found([MATCH]) == [NO_CAUSE]
