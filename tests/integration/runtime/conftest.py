"""A server whose methods do what a test tells them, and callers of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest

from tests.support.observing import captured_lines
from tests.support.rules_servers import DESCRIPTOR, Client, as_player
from tests.support.serving import Keys, create_keys, served


class Scripted:
    """A servicer of Transcontinental: `unary` serves all methods that answer once, `stream` those that stream."""

    def __init__(self) -> None:
        self.unary: Any = None
        self.stream: Any = None

    def __getattr__(self, name: str) -> Any:
        kind = "stream" if DESCRIPTOR.methods_by_name[name].server_streaming else "unary"

        def serve(request: Any, context: Any) -> Any:
            return getattr(self, kind)(request, context)

        return serve


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Keys of players and services."""
    return create_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """The log lines of the test."""
    with captured_lines() as lines:
        yield lines


@pytest.fixture
def scripted() -> Scripted:
    """What the server's methods do."""
    return Scripted()


@pytest.fixture
async def channel(scripted: Scripted, keys: Keys) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to the server."""
    async with served([(DESCRIPTOR, scripted)], keys) as address, grpc.aio.insecure_channel(address) as channel:
        yield channel


@pytest.fixture
def ada(channel: grpc.aio.Channel, keys: Keys) -> Client:
    """The player ada."""
    return Client(channel, as_player(keys, "ada"))
