"""The stores of matchmaking that one suite is run against."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest

from promontory.eventlog.functions import load_library
from promontory.eventlog.redis_server import Connections
from promontory.matchmaking.memory import Memory, MemoryDoors, MemoryTickets
from promontory.matchmaking.memory_lobby import MemoryLists, MemoryTables
from promontory.matchmaking.ports import Doors, Lists, Tables, Tickets
from promontory.matchmaking.redis_lists import RedisLists
from promontory.matchmaking.redis_tables import RedisTables
from promontory.matchmaking.redis_tickets import RedisDoors, RedisTickets, Server, matchmaking_library
from promontory.runtime.clock import now_ms

OVER_SECONDS = 0.0
RETENTION_SECONDS = 60.0


class Store(msgspec.Struct, frozen=True):
    """The ports under test, which share what they keep. A starting table's lease ends at once."""

    tickets: Tickets
    tables: Tables
    lists: Lists
    doors: Doors


@pytest.fixture(params=["memory", "redis"])
async def store(request: pytest.FixtureRequest, redis_connections: Connections) -> AsyncIterator[Store]:
    if request.param == "memory":
        memory = Memory(now_ms)
        tables = MemoryTables(memory, lease_seconds=OVER_SECONDS)
        yield Store(MemoryTickets(memory), tables, MemoryLists(memory), MemoryDoors(memory))
        return
    await redis_connections.commands.flushdb()
    await load_library(redis_connections.commands, matchmaking_library())
    server = Server(redis_connections.commands, blocking=redis_connections.blocking)
    await server.start()
    yield Store(
        RedisTickets(server, retention_seconds=RETENTION_SECONDS),
        RedisTables(server, retention_seconds=RETENTION_SECONDS, lease_seconds=OVER_SECONDS),
        RedisLists(server),
        RedisDoors(server),
    )


@pytest.fixture
def tickets(store: Store) -> Tickets:
    return store.tickets


@pytest.fixture
def tables(store: Store) -> Tables:
    return store.tables


@pytest.fixture
def lists(store: Store) -> Lists:
    return store.lists
