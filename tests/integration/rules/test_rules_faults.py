"""The rules service when answers of the event log are lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from redis.asyncio import Redis

from promontory.eventlog.port import bucket_of
from promontory.eventlog.redis_server import Connections
from promontory.games.transcontinental.commands import DrawCard, EndWork
from promontory.games.transcontinental.vocabulary import Source
from promontory.runtime.embedded import EmbeddedServer
from tests.support.faults import FaultProxy
from tests.support.rules_servers import Client, as_platform, as_player, rules_server
from tests.support.serving import Keys, reason_of

ClientOf = Callable[..., Client]
DRAW = DrawCard(0, Source.DECK)
ATTEMPTS = 3


@pytest.fixture
async def proxy(valkey: EmbeddedServer, redis_connections: Connections) -> AsyncIterator[FaultProxy]:
    """A way to the server on which answers are lost."""
    async with FaultProxy(valkey.socket_path, valkey.socket_path.with_name("rules.sock")) as proxy:
        yield proxy


@pytest.fixture
async def shaky(proxy: FaultProxy, keys: Keys) -> AsyncIterator[ClientOf]:
    """Clients of a replica that reaches the server through the proxy."""
    async with (
        rules_server(proxy.url, keys, buckets=4) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield lambda name: Client(channel, as_platform(keys) if name == "platform" else as_player(keys, name))


async def test_a_commit_whose_answer_was_lost_is_answered_as_if_it_was_not(proxy: FaultProxy, shaky: ClientOf) -> None:
    """[event_log 2.4] No answer: outcome unknown, so the same command id again, and the client notices nothing."""
    match_id = await shaky("platform").create(uuid.uuid4().hex)
    proxy.lose_reply(to=b"append_")
    drawn = await shaky("ada").submit(match_id, DRAW, request_id="1")
    assert (drawn.version, len(drawn.events), len(drawn.view.hand_card_ids), proxy.lost) == (2, 1, 11, 1)
    ended = await shaky("ada").submit(match_id, EndWork(0), request_id="2", expected=2)
    assert ended.version == 3


async def test_an_outcome_that_stays_unknown_is_said_to_be_and_found_by_repeating(
    proxy: FaultProxy, shaky: ClientOf
) -> None:
    """[EVENT_LOG_UNAVAILABLE] UNAVAILABLE with RetryInfo; repeat with the same request id."""
    match_id = await shaky("platform").create(uuid.uuid4().hex)
    proxy.lose_reply(to=b"append_", times=ATTEMPTS)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await shaky("ada").submit(match_id, DRAW, request_id="1")
    details = rpc_status.from_call(error.value).details  # type: ignore[arg-type]
    assert (error.value.code().name, reason_of(error.value)) == ("UNAVAILABLE", "EVENT_LOG_UNAVAILABLE")
    assert any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in details)
    assert (await shaky("ada").submit(match_id, DRAW, request_id="1")).version == 2
    assert (await shaky("eve").call("GetMatch", match_id=match_id)).match.version == 2


async def test_a_creation_whose_answer_was_lost_makes_one_match(proxy: FaultProxy, shaky: ClientOf) -> None:
    """[CreateMatch] Idempotent for a given caller and request id."""
    request_id = uuid.uuid4().hex
    proxy.lose_reply(to=b"append_")
    first = await shaky("platform").create(request_id)
    assert await shaky("platform").create(request_id) == first
    assert (await shaky("eve").call("GetMatch", match_id=first)).match.version == 1


async def test_a_watcher_outlives_a_feed_that_breaks(proxy: FaultProxy, shaky: ClientOf, client_of: ClientOf) -> None:
    """[event_log 2.6] The feed is followed again, and what came meanwhile is read from the log."""
    match_id = await shaky("platform").create(uuid.uuid4().hex)
    proxy.lose_reply(to=b"XREAD", times=2)
    stream = aiter(shaky("eve").stream("WatchMatch", match_id=match_id))
    first = await anext(stream)
    await client_of("ada").submit(match_id, DRAW, request_id="1")
    commit = await asyncio.wait_for(anext(stream), 20)
    assert (first.snapshot.match.version, commit.commit.version) == (1, 2)


async def test_a_log_that_lost_an_entry_is_reported_and_other_matches_go_on(
    redis_client: Redis, client_of: ClientOf, match_id: str
) -> None:
    """[R18] Detected at load; other matches unaffected."""
    other = await client_of("platform").create(uuid.uuid4().hex)
    await redis_client.xdel(f"{{{bucket_of(match_id)}}}:m:{match_id}:log", "1-1")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await client_of("eve", replica=1).call("GetMatch", match_id=match_id)
    assert (error.value.code().name, reason_of(error.value)) == ("FAILED_PRECONDITION", "LOG_CORRUPT")
    assert (await client_of("ada", replica=1).submit(other, DRAW, request_id="1")).version == 2


async def test_a_bucket_in_recovery_takes_no_commits_and_says_to_come_again(
    redis_client: Redis, client_of: ClientOf, match_id: str
) -> None:
    """[event_log 2.8] Appends of another epoch are refused; nothing is written."""
    fence = f"{{{bucket_of(match_id)}}}:fence"
    await redis_client.set(fence, "2!")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await client_of("ada").submit(match_id, DRAW, request_id="1")
    await redis_client.set(fence, "2")
    assert (error.value.code().name, reason_of(error.value)) == ("UNAVAILABLE", "EVENT_LOG_UNAVAILABLE")
    assert (await client_of("ada").submit(match_id, DRAW, request_id="1")).version == 2
