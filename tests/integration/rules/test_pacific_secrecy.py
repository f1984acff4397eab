"""What a rules service of Pacific sends over the wire, from a log in Redis: nothing that is hidden from who gets it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Any

import grpc
import pytest
from redis.asyncio import Redis

from promontory.codec.pacific import CODEC
from tests.support.pacific_leaks import Padded, Unredacted
from tests.support.pacific_observer import Observer, Told, differences
from tests.support.pacific_worlds import SECRET_PHASES, Arranged, Pair, pairs
from tests.support.refereeing import SEED
from tests.support.rules_servers import AS_BYTES, Client, as_platform, as_player, server_of
from tests.support.serving import Keys

GAMES = [(2, 6), (3, 6), (4, 13), (5, 2)]
Tell = Callable[..., Awaitable[Told]]
PAIRS = {f"{seats}-{seed} {pair.secret}": pair for seats, seed in GAMES for pair in pairs(seats, seed)}
SECRET = {
    name: pair
    for name, pair in PAIRS.items()
    if pair.secret == "reserved draws" or (pair.hides_answers and (pair.observer is None or "last" in pair.secret))
}


class Wire:
    """A rules service at the other end of a channel. Refusals come with all their trailing metadata."""

    def __init__(self, channel: grpc.aio.Channel, keys: Keys) -> None:
        self._channel, self._keys = channel, keys
        self._client = cache(self._new_client)

    async def ask(self, who: str, method: str, **fields: Any) -> tuple[bool, bytes]:
        """Call a method; see `Service`."""
        request = getattr(CODEC.messages, f"{method}Request")(**fields)
        try:
            return True, await self._client(who).raw(method, request.SerializeToString())
        except grpc.aio.AioRpcError as error:
            return False, repr((error.code(), error.details(), tuple(error.trailing_metadata() or ()))).encode()

    async def watch(self, who: str, **fields: Any) -> AsyncIterator[bytes]:
        """Watch a match; see `Service`."""
        method = self._channel.unary_stream(f"/{CODEC.service.full_name}/WatchMatch", *AS_BYTES)
        request = CODEC.messages.WatchMatchRequest(**fields)
        async for message in method(request.SerializeToString(), metadata=self._client(who).metadata):
            yield bytes(message)

    def _new_client(self, who: str) -> Client:
        metadata = as_platform(self._keys) if who == "platform" else as_player(self._keys, who)
        return Client(self._channel, metadata, game="pacific")


@pytest.fixture
def tell(redis_client: Redis, valkey_url: str, keys: Keys) -> Tell:
    """Return what plays one world of a pair on an empty server, and returns all that the pair's observer is told."""

    async def told(pair: Pair, number: int, kind: type[Arranged] = Arranged) -> Told:
        await redis_client.flushdb()
        rules = pair.worlds[number].rules(kind)
        settings: Any = {"buckets": 4, "heartbeat_seconds": 0.02}
        async with (
            server_of(rules, valkey_url, keys=keys, seed=lambda: SEED, any_time=True, **settings) as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            return await Observer(Wire(channel, keys), pair, pair.worlds[number]).live()

    return told


@pytest.mark.parametrize("name", SECRET)
async def test_two_worlds_that_differ_in_what_is_hidden_send_the_same_bytes(tell: Tell, name: str) -> None:
    """[Pacific 7] Answers, streams, lists, previews, refusals with their metadata, heartbeats; players, spectators."""
    assert differences(await tell(SECRET[name], 0), await tell(SECRET[name], 1)) == []


def test_every_secret_phase_is_watched() -> None:
    """[Pacific 2.1] By spectators and by who is the last one waited for, with 2 to 5 seats."""
    assert {pair.worlds[0].end.phase for pair in SECRET.values()} >= {*SECRET_PHASES}
    assert {pair.seats for pair in SECRET.values()} == {2, 3, 4, 5}
    assert {pair.observer is None for pair in SECRET.values()} == {True, False}


@pytest.mark.parametrize(("leaky", "occasion"), [(Unredacted, "WatchMatch"), (Padded, "ListMatchEvents in pages")])
async def test_a_game_that_leaks_is_caught(tell: Tell, leaky: type[Arranged], occasion: str) -> None:
    """The test of the test: cards that are named, and messages that are longer for longer names."""
    pair = SECRET["4-13 put_out_first last"]
    assert occasion in differences(await tell(pair, 0, leaky), await tell(pair, 1, leaky))
