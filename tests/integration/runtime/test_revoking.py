"""Tokens that are revoked and players who are suspended, over a real channel: calls are refused, and streams end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.runtime.clock import now_ms
from promontory.runtime.identity import caller
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import Players, Suspension, account_of
from tests.integration.runtime.conftest import Scripted
from tests.support.rules_servers import DESCRIPTOR, Client, as_player
from tests.support.serving import Keys, reason_of, served
from tests.support.waiting import eventually

HOUR_SECONDS = 3600


class Served:
    """A server with a directory of players, and what calls it."""

    def __init__(self, channel: grpc.aio.Channel, keys: Keys, directory: MemoryDirectory, players: Players) -> None:
        self.channel, self.keys, self.directory, self.players = channel, keys, directory, players

    def client(self, subject: str) -> Client:
        """Return a client with a new token of `subject`."""
        return Client(self.channel, as_player(self.keys, subject))

    async def revoke(self, subject: str) -> None:
        """Revoke the tokens of `subject`, and let the server know."""
        await self.directory.revoke(account_of(subject))
        await self.players.refresh()

    async def suspend(self, subject: str) -> None:
        """Keep `subject` out for an hour, and let the server know."""
        await self.directory.suspend(Suspension(account_of(subject), now_ms() + 1000 * HOUR_SECONDS))
        await self.players.refresh()


@pytest.fixture
async def here(scripted: Scripted, keys: Keys) -> AsyncIterator[Served]:
    """A server that tells each caller's player id, and streams until it is told to stop."""

    async def answer(request: Any, context: Any) -> Any:
        return pb.GetMatchResponse(match={"match_id": caller().subject})

    async def stream(request: Any, context: Any) -> Any:
        yield pb.WatchMatchResponse(commit={"version": 1})
        await asyncio.Event().wait()

    scripted.unary, scripted.stream = answer, stream
    directory = MemoryDirectory()
    players = Players(directory, opaque=True, token_seconds=HOUR_SECONDS)
    async with (
        served([(DESCRIPTOR, scripted)], keys, players=players) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield Served(channel, keys, directory, players)


async def test_methods_know_no_subject(here: Served) -> None:
    """[event_log 5.5] What they write down is the opaque id."""
    answer = await here.client("ada").call("GetMatch")
    assert answer.match.match_id == await here.directory.find("ada") != "ada"


async def test_a_revoked_token_is_refused(here: Served) -> None:
    """[TOKEN_REVOKED] And nobody else's."""
    ada, ben = here.client("ada"), here.client("ben")
    await here.revoke("ada")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await ada.call("GetMatch")
    assert (refused.value.code(), reason_of(refused.value)) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
    await ben.call("GetMatch")


async def test_streams_end_when_their_callers_token_is_revoked(here: Served) -> None:
    """[event_log 5.1] A revoked login's stream ends, and nobody else's."""
    ada, ben = (aiter(here.client(name).stream("WatchMatch")) for name in ("ada", "ben"))
    await anext(ada)
    await anext(ben)
    await here.revoke("ada")
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await anext(ada)
    assert reason_of(ended.value) == "TOKEN_REVOKED"
    going_on = asyncio.ensure_future(anext(ben))
    done, _ = await asyncio.wait([going_on], timeout=0.1)
    assert not done
    going_on.cancel()


async def test_a_suspended_player_who_reads_slowly_learns_it_too(here: Served, scripted: Scripted) -> None:
    """[PLAYER_SUSPENDED] After what was sent before: the server stands in the middle of sending more."""
    sent = 0

    async def flood(request: Any, context: Any) -> Any:
        nonlocal sent
        for sent in range(1, 501):
            yield pb.WatchMatchResponse(commit={"version": sent, "match": {"match_id": "x" * 60_000}})

    async def is_stuck() -> bool:
        before = sent
        await asyncio.sleep(0.05)
        return 0 < before == sent

    scripted.stream = flood
    watching = aiter(here.client("ada").stream("WatchMatch"))
    await anext(watching)
    await eventually(is_stuck)
    await here.suspend("ada")
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        [_ async for _ in watching]
    assert (reason_of(ended.value), sent < 500) == ("PLAYER_SUSPENDED", True)


async def test_a_suspended_player_is_refused_and_streams_end(here: Served) -> None:
    """[PLAYER_SUSPENDED] Whatever the token says, until the suspension ends or is taken back; and nobody else."""
    ada, ben = here.client("ada"), here.client("ben")
    watching = aiter(ada.stream("WatchMatch"))
    await anext(watching)
    await here.suspend("ada")
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await anext(watching)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await ada.call("GetMatch")
    assert [reason_of(error) for error in (ended.value, refused.value)] == ["PLAYER_SUSPENDED"] * 2
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    await ben.call("GetMatch")
    assert await here.directory.restore(account_of("ada"))
    await here.players.refresh()
    await ada.call("GetMatch")
