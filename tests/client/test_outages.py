"""What the client says of servers that do not answer, or are not what their endpoint says they are."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

import promontory
from promontory import AsyncClient, Timing
from promontory.client.outages import Outage, OutageWatch, Recovery
from tests.client.conftest import HASTY, Connect, World
from tests.client.referee import SERVICE, UNAVAILABLE
from tests.client.services import MATCHMAKING, POOL, Queue
from tests.support.serving import Keys, served
from tests.support.waiting import eventually

Told = list[Outage | Recovery]
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages are told at the first failure."""
    monkeypatch.setattr("promontory.client.outages.TELL_SECONDS", 0.0)


async def test_an_address_at_which_nothing_answers_is_told_long_before_the_client_gives_up() -> None:
    """Once, and the error names the address too."""
    told: Told = []
    async with AsyncClient(NOWHERE, retry_seconds=1.5, timing=HASTY, on_outage=told.append) as client:
        with pytest.raises(promontory.Unavailable, match=r"nothing answers at 127\.0\.0\.1:1 "):
            await client.pools()
    assert list(map(str, told)) == ["nothing answers at 127.0.0.1:1; trying for 1.5 s"]


async def test_a_short_interruption_is_not_worth_a_word(world: World, connect: Connect) -> None:
    told: Told = []
    world.faults.refuse("GetMatch", UNAVAILABLE)
    await connect(on_outage=told.append).spectate("transcontinental", world.referee.match_id).look()
    assert told == []


@pytest.mark.usefixtures("at_once")
async def test_the_end_of_an_outage_is_told(world: World, connect: Connect) -> None:
    told: Told = []
    world.faults.refuse("GetMatch", UNAVAILABLE)
    await connect(on_outage=told.append).spectate("transcontinental", world.referee.match_id).look()
    assert list(map(str, told)) == [
        f"{world.address} cannot serve just now: out of order; trying for 5 s",
        f"{world.address} answers again",
    ]


@pytest.mark.usefixtures("at_once")
async def test_a_stream_that_breaks_is_told_like_a_call_that_fails(world: World, connect: Connect) -> None:
    told: Told = []
    world.faults.refuse("WatchMatch", UNAVAILABLE)
    client = connect(on_outage=told.append)
    await anext(client.spectate("transcontinental", world.referee.match_id).updates())
    assert [type(each) for each in told] == [Outage, Recovery]


def test_the_hint_follows_the_problem() -> None:
    outage = Outage(NOWHERE, "nothing answers", retry_seconds=30, hint="is it up?")
    assert str(outage) == "nothing answers (is it up?); trying for 30 s"


async def test_addresses_fail_and_recover_one_by_one() -> None:
    told: Told = []
    watch = OutageWatch(told.append, 30)
    watch.answered("a:1")
    watch.failed("a:1", promontory.Unavailable("gone"))
    watch.answered("b:2")
    assert told == []


@pytest.fixture
async def matchmaking_alone(world: World, keys: Keys) -> object:
    """An address with matchmaking, and nothing else."""
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(served([(MATCHMAKING, world.queue)], keys))


@pytest.fixture
def queue(world: World) -> Queue:
    return world.queue


async def test_no_match_is_made_that_the_client_could_not_play(
    world: World, queue: Queue, matchmaking_alone: str
) -> None:
    """Its one address leads to matchmaking only: that is found out before there is a ticket."""
    async with AsyncClient(matchmaking_alone, token=world.token("ada"), timing=HASTY) as client:
        with pytest.raises(promontory.Unimplemented) as caught:
            await client.play(POOL)
    text = str(caught.value)
    assert queue.tickets == {}
    assert caught.value.reason == "METHOD_UNKNOWN"
    assert f"{matchmaking_alone} has no method {SERVICE.full_name}/GetMatch; is that where transcontinental is?" in text
    assert "matchmaking=host:port,transcontinental=host:port" in text
    assert caught.value.metadata["address"] == matchmaking_alone


async def test_a_game_without_an_endpoint_gets_no_ticket(world: World, queue: Queue) -> None:
    async with AsyncClient({"matchmaking": world.address}, token=world.token("ada"), timing=HASTY) as client:
        with pytest.raises(promontory.EndpointError, match="no endpoint for 'transcontinental'"):
            await client.play(POOL)
    assert queue.tickets == {}


async def test_a_game_that_is_down_gets_no_ticket(world: World, queue: Queue) -> None:
    endpoints = {"matchmaking": world.address, "transcontinental": NOWHERE}
    async with AsyncClient(endpoints, token=world.token("ada"), timing=HASTY, retry_seconds=0.1) as client:
        with pytest.raises(promontory.Unavailable, match=NOWHERE):
            await client.play(POOL)
    assert queue.tickets == {}


async def test_the_game_is_asked_for_once(world: World, client: AsyncClient) -> None:
    first, second = await client.prepare(POOL), await client.prepare(POOL)
    assert (first.game, second) == ("transcontinental", first)
    assert len(world.faults.requests("GetMatch")) == 1


async def test_a_pool_that_there_is_not_is_answered_with_those_that_there_are(client: AsyncClient) -> None:
    with pytest.raises(promontory.NotFound, match=r"no pool 'chess'; there are: transcontinental\.ranked, trans"):
        await client.prepare("chess")


async def test_a_client_can_be_closed_in_an_outage() -> None:
    told: Told = []
    timing = Timing(first_pause_seconds=0.001, longest_pause_seconds=0.02)
    client = AsyncClient(NOWHERE, timing=timing, on_outage=told.append)
    asking = asyncio.create_task(client.pools())
    await eventually(lambda: _any(told))
    await client.close()
    with pytest.raises(promontory.ClientClosed):
        await asking


async def _any(told: Told) -> bool:
    return bool(told)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("out of order", "EVENT_LOG_UNAVAILABLE: out of order"),
        ("no: EVENT_LOG_UNAVAILABLE", "no: EVENT_LOG_UNAVAILABLE"),
    ],
)
def test_an_error_reads_with_its_reason_once(message: str, text: str) -> None:
    assert str(promontory.Unavailable(message, reason="EVENT_LOG_UNAVAILABLE")) == text
