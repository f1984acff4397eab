"""Servers with failures to order, and clients of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta

import msgspec
import pytest

from promontory import AsyncClient, Timing
from promontory.client.loops import LoopThread
from promontory.runtime.identity import PLAYER_SCOPES
from tests.client.referee import SERVICE, Faults, Referee
from tests.client.services import LOBBY, MATCHMAKING, SCORING, Lounge, Queue, Scorer
from tests.support.serving import Keys, create_keys, served

HASTY = Timing(call_seconds=2, first_pause_seconds=0.001, longest_pause_seconds=0.02, heartbeat_seconds=2)
"""Pauses that tests can afford."""


class World(msgspec.Struct, frozen=True):
    """Everything served at one address."""

    address: str
    keys: Keys
    faults: Faults
    referee: Referee
    queue: Queue
    lounge: Lounge

    def token(self, player: str) -> str:
        """Return a token of `player`."""
        return self.keys.players.mint(player, PLAYER_SCOPES, life=timedelta(minutes=5))


Connect = Callable[..., AsyncClient]


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return create_keys(tmp_path_factory.mktemp("keys"))


async def open_world(stack: AsyncExitStack, keys: Keys) -> World:
    """Serve everything until `stack` is left."""
    faults = Faults()
    referee, queue, lounge = Referee(faults, heartbeat_seconds=HASTY.heartbeat_seconds), Queue(faults), Lounge()
    queue.open.set()
    servicers = [(SERVICE, referee), (MATCHMAKING, queue), (SCORING, Scorer()), (LOBBY, lounge)]
    address = await stack.enter_async_context(served(servicers, keys))
    return World(address, keys, faults, referee, queue, lounge)


@pytest.fixture
async def world(keys: Keys) -> AsyncIterator[World]:
    """Everything, served in the loop of the test."""
    async with AsyncExitStack() as stack:
        yield await open_world(stack, keys)


@pytest.fixture
def world_apart(keys: Keys) -> Iterator[World]:
    """Everything, served in a thread of its own: for tests that block."""
    thread, stack = LoopThread(), AsyncExitStack()
    yield thread.run(open_world(stack, keys))
    thread.stop(stack.aclose())


@pytest.fixture
async def connect(world: World) -> AsyncIterator[Connect]:
    """What connects a player, by default `ada`, with a client that does not wait long."""
    async with AsyncExitStack() as stack:

        def connected(player: str = "ada", **options: object) -> AsyncClient:
            settings = {"token": world.token(player), "timing": HASTY, "retry_seconds": 5.0, **options}
            client = AsyncClient(world.address, **settings)  # type: ignore[arg-type]
            stack.push_async_callback(client.close)
            return client

        yield connected


@pytest.fixture
def client(connect: Connect) -> AsyncClient:
    """The client of `ada`."""
    return connect()
