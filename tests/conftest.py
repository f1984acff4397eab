"""Fixtures every part may use: one embedded server a test process, and clients of it."""

from __future__ import annotations

import gc
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.redis_server import Connections, connect
from promontory.runtime.embedded import EmbeddedServer
from tests.support.standing_by import Group, cluster, sentinel_group

GROUPS: dict[str, Callable[[Path], AbstractContextManager[Group]]] = {"sentinel": sentinel_group, "cluster": cluster}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the suites of adapters be run on servers that stand in for one another (`make ha-test`)."""
    parser.addoption("--servers", choices=["single", *GROUPS], default="single", help="what tests have for a log")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected, which stays to the end, out of every later search for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The test process's own server (under xdist each worker has one), durable like the real one."""
    with EmbeddedServer(tmp_path_factory.mktemp("valkey"), fsync="everysec") as server:  # nobody kills it
        yield server


@pytest.fixture(scope="session")
def valkey_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the test process's server. Its keys outlive a test: use names of your own (`unique_stream`)."""
    kind = request.config.getoption("--servers")
    if kind in GROUPS:
        with GROUPS[kind](tmp_path_factory.mktemp(kind)) as group:
            yield group.url
        return
    server: EmbeddedServer = request.getfixturevalue("valkey")
    yield server.url


@pytest.fixture
async def redis_connections(valkey_url: str) -> AsyncIterator[Connections]:
    """Clients of the test process's server, with the event log's functions loaded."""
    connections = connect(valkey_url)
    await load_library(connections.commands, event_log_library())
    yield connections
    await connections.aclose()


@pytest.fixture
def redis_client(redis_connections: Connections) -> Redis:
    """The client for commands that answer at once. A part with fixed key names may `flushdb()`: functions stay."""
    return redis_connections.commands


@pytest.fixture
def unique_stream() -> str:
    """A stream id in a bucket that no other test uses."""
    return f"tc-{uuid.uuid4().hex}-a"
