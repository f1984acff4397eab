"""Limits as the SDK meets them: what comes too fast is repeated by itself, what is too much is raised."""

from __future__ import annotations

import pytest

from promontory import AsyncClient, ResourceExhausted
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Source
from promontory.runtime.errors import Refusal
from promontory.runtime.limits import Limit, Limits, limit_reached
from tests.client.conftest import HASTY, Connect, World
from tests.client.referee import SERVICE, Referee
from tests.client.services import POOL
from tests.support.serving import Keys, served

DRAW = DrawCard(0, Source.DECK)
PACES = [Limit.CALLS, Limit.COMMANDS, Limit.CREATIONS]


def reached(limit: Limit) -> Refusal:
    return limit_reached(limit, 7, "too much", retry_seconds=0.01)


async def test_a_client_that_is_too_fast_is_slowed_down_and_loses_nothing(keys: Keys) -> None:
    """[anchors 69] Six times as many calls as the server takes in a second."""
    async with served([(SERVICE, Referee())], keys, limits=Limits(calls_per_second=10)) as address:
        token = keys.as_player("ada")[0][1].removeprefix("Bearer ")
        async with AsyncClient(address, token=token, timing=HASTY, retry_seconds=20) as client:
            spectator = client.spectate("transcontinental", Referee.match_id)
            versions = [(await spectator.look()).version for _ in range(36)]
    assert versions == [1] * 36


@pytest.mark.parametrize("limit", PACES)
async def test_a_command_that_comes_too_fast_is_repeated(world: World, client: AsyncClient, limit: Limit) -> None:
    """Under the same request id: it takes effect once."""
    world.faults.refuse("SubmitCommand", reached(limit), reached(limit))
    update = await client.seat("transcontinental", world.referee.match_id, 0).submit(DRAW, expected_version=1)
    first, *repeated = world.faults.requests("SubmitCommand")
    assert (update.version, repeated) == (2, [first, first])


async def test_a_client_that_may_not_repeat_raises_the_limit(world: World, connect: Connect) -> None:
    world.faults.refuse("SubmitCommand", reached(Limit.COMMANDS))
    with pytest.raises(ResourceExhausted) as raised:
        await connect(retry_seconds=0).seat("transcontinental", world.referee.match_id, 0).submit(DRAW)
    assert (raised.value.limit, raised.value.most) == ("max_commands_per_second", 7)


async def test_more_tickets_than_a_player_may_have_is_for_the_caller_to_solve(
    world: World, client: AsyncClient
) -> None:
    world.faults.refuse("CreateTicket", reached(Limit.TICKETS))
    with pytest.raises(ResourceExhausted) as raised:
        await client.enter(POOL)
    assert (raised.value.limit, raised.value.retry_after) == ("max_open_tickets", 0.01)
    assert len(world.faults.requests("CreateTicket")) == 1


async def test_a_stream_waits_until_another_is_closed(world: World, client: AsyncClient) -> None:
    """Whoever watches more matches than are allowed sees them later."""
    world.faults.refuse("WatchMatch", reached(Limit.STREAMS), reached(Limit.STREAMS))
    update = await anext(aiter(client.spectate("transcontinental", world.referee.match_id)))
    assert update.version == 1


async def test_a_request_that_grpc_does_not_take_is_refused_like_any_that_is_too_large(client: AsyncClient) -> None:
    """[MAX_REQUEST_BYTES] Such a one never reaches the platform, which would say so itself."""
    with pytest.raises(ResourceExhausted) as raised:
        await client.enter(POOL, entropy=bytes(5_000_000))
    assert (raised.value.reason, raised.value.limit) == ("LIMIT_REACHED", "max_request_bytes")
