"""Limits over a real channel: who asks for too much is told which limit, how much it is, and how long to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.runtime import clock
from promontory.runtime.limits import Limits
from promontory.runtime.settings import ServerSettings
from tests.integration.runtime.conftest import Scripted
from tests.support.observing import counted, details_of
from tests.support.rules_servers import DESCRIPTOR, Client, as_player
from tests.support.serving import Keys, served

SMALL = Limits(calls_per_second=4, commands_per_second=2, metadata_bytes=1000, streams_per_player=2)
COMMANDS, CALLS = 6, 12
"""How many of them the small limits allow at once."""


class Moment:
    """A clock that stands still unless it is moved."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> Moment:
    """The time, in the test's hands."""
    found = Moment()
    monkeypatch.setattr(clock, "monotonic", found)
    return found


@pytest.fixture
async def channel(scripted: Scripted, keys: Keys, moment: Moment) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server with small limits, all of whose methods answer with nothing."""

    async def answer(request: Any, context: Any) -> Any:
        return pb.GetMatchResponse()

    scripted.unary = answer
    async with (
        served([(DESCRIPTOR, scripted)], keys, limits=SMALL) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield channel


async def refusal(call: Any) -> tuple[dict[str, str], int]:
    """Return the metadata of the refusal `LIMIT_REACHED` in which `call` ends, and how many ms it asks to wait."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    details = details_of(raised.value)
    assert (raised.value.code(), details["ErrorInfo"].reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    (violation,) = details["QuotaFailure"].violations
    assert violation.quota_id == details["ErrorInfo"].metadata["limitName"]
    retry = details.get("RetryInfo")
    return dict(details["ErrorInfo"].metadata), retry.retry_delay.ToMilliseconds() if retry else 0


@pytest.mark.parametrize(
    ("method", "allowed", "limit"),
    [("SubmitCommand", COMMANDS, "max_commands_per_second"), ("GetMatch", CALLS, "max_calls_per_second")],
)
async def test_calls_that_come_too_fast_are_refused(
    ada: Client, moment: Moment, method: str, allowed: int, limit: str
) -> None:
    """[event_log 5.2] A token bucket for each player; after the wait that the refusal names the call passes."""
    before = counted("promontory_limits_reached_total", limit=limit)
    for _ in range(allowed):
        await ada.call(method)
    metadata, wait_ms = await refusal(ada.call(method))
    assert (metadata["limitName"], int(metadata["limit"])) == (limit, allowed // 3)
    assert wait_ms == 3000 / allowed
    assert counted("promontory_limits_reached_total", limit=limit) == before + 1
    moment.seconds += wait_ms / 1000
    await ada.call(method)


async def test_reading_goes_on_when_commands_are_used_up(ada: Client, channel: grpc.aio.Channel, keys: Keys) -> None:
    """[anchors 69] Nor do others pay for it."""
    for _ in range(COMMANDS):
        await ada.call("Resign")
    await refusal(ada.call("SubmitCommand"))
    await ada.call("GetMatch")
    await Client(channel, as_player(keys, "ben")).call("SubmitCommand")


async def test_the_platforms_own_calls_are_not_counted(channel: grpc.aio.Channel, keys: Keys) -> None:
    """House bots play through services."""
    house = Client(channel, keys.as_service("house:play"))
    for _ in range(2 * CALLS):
        await house.call("SubmitCommand")


async def test_metadata_that_is_too_large_is_refused(channel: grpc.aio.Channel, keys: Keys) -> None:
    """Waiting does not help."""
    padded = Client(channel, (*as_player(keys, "ada"), ("padding", "x" * 1000)))
    metadata, wait_ms = await refusal(padded.call("GetMatch"))
    assert (metadata, wait_ms) == ({"limitName": "max_metadata_bytes", "limit": "1000"}, 0)


async def test_more_calls_than_a_connection_may_have_wait_in_the_client(scripted: Scripted, keys: Keys) -> None:
    """[MAX_CALLS_PER_CONNECTION] Nothing is refused: what is one too many goes out when another has ended."""
    arrived, let_go = list[str](), asyncio.Event()

    async def serve(request: Any, context: Any) -> Any:
        arrived.append(request.match_id)
        await let_go.wait()
        return pb.GetMatchResponse()

    scripted.unary = serve
    settings = ServerSettings(max_calls_per_connection=2)
    async with (
        served([(DESCRIPTOR, scripted)], keys, settings=settings) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        ada = Client(channel, as_player(keys, "ada"))
        await ada.channel.channel_ready()
        calls = [asyncio.create_task(ada.call("GetMatch", match_id=f"{number}")) for number in range(3)]
        await asyncio.wait(calls, timeout=0.2)
        assert len(arrived) == 2
        let_go.set()
        await asyncio.gather(*calls)
    assert sorted(arrived) == ["0", "1", "2"]
