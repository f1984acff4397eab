"""Two replicas of the rules service on one event log, and clients of them."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import grpc
import pytest
import structlog

from promontory.eventlog.redis_server import Connections
from tests.support.rules_servers import Client, RulesServer, as_platform, as_player, rules_server
from tests.support.serving import Keys, create_keys

ClientOf = Callable[..., Client]


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """A line for each call would be thousands; errors are still written."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Keys of players and services."""
    return create_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
async def servers(redis_connections: Connections, valkey_url: str, keys: Keys) -> AsyncIterator[list[RulesServer]]:
    """Two replicas, each with connections of its own."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(rules_server(valkey_url, keys, buckets=4)) for _ in range(2)]


@pytest.fixture
async def client_of(servers: list[RulesServer], keys: Keys) -> AsyncIterator[ClientOf]:
    """Return clients of the first replica, or of `replica`, by player's name."""
    async with AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(grpc.aio.insecure_channel(server.address)) for server in servers]

        def client(name: str, *scopes: str, replica: int = 0) -> Client:
            metadata = as_platform(keys) if name == "platform" else as_player(keys, name, *scopes)
            return Client(channels[replica], metadata)

        yield client


@pytest.fixture
async def match_id(client_of: ClientOf) -> str:
    """A new match of ada (seat 0) and ben."""
    return await client_of("platform").create(uuid.uuid4().hex)
