"""A call is repeated where that is safe, under one request id, for a limited time."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import msgspec
import pytest

import promontory
from promontory import AsyncClient, DeadlineExceeded, Unavailable
from promontory.client.errors import Internal
from promontory.client.retrying import Patience, Timing
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Source
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import PLAYER_SCOPES
from tests.client.conftest import HASTY, Connect, World
from tests.client.referee import HANG, SERVICE, UNAVAILABLE, Referee
from tests.client.services import POOL
from tests.support.serving import Keys, served
from tests.support.waiting import eventually

DRAW = DrawCard(0, Source.DECK)
IMPATIENT = msgspec.structs.replace(HASTY, call_seconds=0.05)
AT_ONCE = Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "stopping", metadata={"retrySeconds": 0})


async def test_a_submission_is_repeated_under_the_same_request_id(world: World, client: AsyncClient) -> None:
    world.faults.refuse("SubmitCommand", AT_ONCE, AT_ONCE, AT_ONCE)
    update = await client.seat("transcontinental", world.referee.match_id, 0).submit(DRAW, expected_version=1)
    first, *repeated = world.faults.requests("SubmitCommand")
    assert update.version == 2
    assert repeated == [first, first, first]
    assert first.request_id


async def test_a_submission_whose_answer_was_lost_takes_effect_once(world: World, client: AsyncClient) -> None:
    world.faults.lose_answer("SubmitCommand", AT_ONCE, AT_ONCE)
    update = await client.seat("transcontinental", world.referee.match_id, 0).submit(DRAW, expected_version=1)
    assert update.version == world.referee.version == 2


async def test_a_submission_without_an_answer_in_time_is_repeated(world: World, connect: Connect) -> None:
    world.faults.refuse("SubmitCommand", HANG)
    seated = connect(timing=IMPATIENT).seat("transcontinental", world.referee.match_id, 0)
    assert (await seated.submit(DRAW)).version == 2


async def test_a_call_that_a_stopping_server_cancels_is_repeated(keys: Keys) -> None:
    referee = Referee()
    referee.faults.refuse("GetMatch", HANG)
    async with served([(SERVICE, referee)], keys) as address:
        token = keys.players.mint("ada", PLAYER_SCOPES, life=timedelta(minutes=1))
        client = AsyncClient(address, token=token, timing=HASTY, retry_seconds=20)
        looking = asyncio.create_task(client.spectate("transcontinental", Referee.match_id).look())
        await eventually(lambda: _has_arrived(referee))
    async with served([(SERVICE, referee)], keys, listen=address), client:
        assert (await looking).version == 1


async def _has_arrived(referee: Referee) -> bool:
    return referee.faults.hanging > 0


async def test_a_call_without_a_request_id_is_not_repeated_when_time_is_up(world: World, connect: Connect) -> None:
    world.faults.refuse("GetMatch", HANG)
    with pytest.raises(DeadlineExceeded):
        await connect(timing=IMPATIENT).spectate("transcontinental", world.referee.match_id).look()
    assert world.faults.requests("GetMatch") == []


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.UNAVAILABLE], ids=lambda kind: kind.name)
async def test_no_other_failure_is_repeated(world: World, client: AsyncClient, kind: Kind) -> None:
    world.faults.refuse("CreateTicket", Refusal(kind, "SOME_REASON", "no"))
    with pytest.raises(promontory.PromontoryError, match="SOME_REASON"):
        await client.enter(POOL)
    assert len(world.faults.requests("CreateTicket")) == 1


async def test_a_ticket_is_entered_once_however_often_the_call_is_repeated(world: World, client: AsyncClient) -> None:
    world.faults.lose_answer("CreateTicket", AT_ONCE, AT_ONCE)
    ticket = await client.enter(POOL)
    assert list(world.queue.tickets) == [ticket.ticket_id]


async def test_the_client_gives_up_after_its_time(world: World, connect: Connect) -> None:
    world.faults.refuse("CreateTicket", *[UNAVAILABLE] * 3)
    with pytest.raises(Unavailable, match="EVENT_LOG_UNAVAILABLE"):
        await connect(retry_seconds=0.5).enter(POOL)
    assert len(world.faults.requests("CreateTicket")) == 1, "the server asked to wait longer than the client may"


async def test_every_attempt_asks_for_the_token_anew(world: World, connect: Connect) -> None:
    tokens = iter([world.token("ada"), world.token("bob")])
    world.faults.refuse("CreateTicket", AT_ONCE)
    ticket = await connect(token=lambda: next(tokens)).enter(POOL)
    assert world.queue.tickets[ticket.ticket_id].player_id == "bob"


async def test_entropy_is_drawn_unless_the_caller_names_the_intent(world: World, client: AsyncClient) -> None:
    await client.enter(POOL)
    await client.enter(POOL)
    await client.enter(POOL, request_id="mine")
    await client.enter(POOL, entropy=b"dice")
    entropies = [request.client_entropy for request in world.faults.requests("CreateTicket")]
    assert [len(entropy) for entropy in entropies] == [32, 32, 0, 4]
    assert entropies[0] != entropies[1]


async def test_a_closed_client_refuses_calls(client: AsyncClient) -> None:
    await client.close()
    with pytest.raises(promontory.ClientClosed):
        await client.pools()


async def test_closing_ends_calls_under_way(world: World, client: AsyncClient) -> None:
    world.faults.refuse("GetMatch", HANG)
    call = asyncio.create_task(client.spectate("transcontinental", world.referee.match_id).look())
    await client.pools()
    await client.close()
    with pytest.raises(promontory.ClientClosed):
        await call


def unsigned(payload: bytes) -> str:
    return f"head.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.signature"


async def test_the_token_names_the_player(connect: Connect) -> None:
    assert connect("bob").player == "bob"
    assert (await connect("bob").rating(POOL)).player_id == "bob"


@pytest.mark.parametrize("token", ["", "opaque", "a.b.c", unsigned(b"[]"), unsigned(b"{}"), unsigned(b"{")])
async def test_a_token_that_names_nobody_speaks_for_no_player(connect: Connect, token: str) -> None:
    with pytest.raises(ValueError, match="name the player"):
        _ = connect(token=token).player


class Pauses(list[float]):
    """Instead of sleeping, notes for how long."""

    async def sleep(self, seconds: float) -> None:
        """Return at once."""
        self.append(seconds)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Pauses:
    noted = Pauses()
    monkeypatch.setattr("promontory.client.retrying.asyncio.sleep", noted.sleep)
    return noted


async def pause(patience: Patience, *, times: int, error: promontory.PromontoryError) -> None:
    for _ in range(times):
        await patience.pause(error)


async def test_pauses_double_up_to_the_longest_and_vary(pauses: Pauses) -> None:
    patience = Patience(Timing(first_pause_seconds=1, longest_pause_seconds=5), 1000)
    await pause(patience, times=6, error=Unavailable("down"))
    longest = [1, 2, 4, 5, 5, 5]
    assert [limit / 2 <= seconds <= limit for seconds, limit in zip(pauses, longest, strict=True)] == [True] * 6
    assert len(set(pauses)) == 6


async def test_a_pause_is_as_long_as_the_server_asks_and_a_little_more(pauses: Pauses) -> None:
    patience = Patience(Timing(first_pause_seconds=1), 1000)
    await patience.pause(Unavailable("down", retry_after=7))
    assert 7.5 <= pauses[0] <= 8


async def test_pauses_begin_anew_after_progress(pauses: Pauses) -> None:
    patience = Patience(Timing(first_pause_seconds=1), 1000)
    await pause(patience, times=4, error=Unavailable("down"))
    patience.renew()
    await patience.pause(Unavailable("down"))
    assert pauses[-1] <= 1


async def test_a_pause_beyond_the_limit_raises_instead(pauses: Pauses) -> None:
    error = Internal("cut")
    with pytest.raises(Internal) as caught:
        await Patience(Timing(first_pause_seconds=10, longest_pause_seconds=10), 4).pause(error)
    assert caught.value is error
    assert pauses == []
