"""What every store of forgettings does, whatever it keeps them in."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.eventlog.functions import load_library
from promontory.eventlog.redis_server import Connections
from promontory.matchmaking.forgetting import Forgetting, Forgettings
from promontory.matchmaking.memory_forgettings import MemoryForgettings
from promontory.matchmaking.redis_forgettings import RedisForgettings
from promontory.matchmaking.redis_tickets import Server, matchmaking_library

BEGUN = Forgetting(player="ann", account="a1", requested_ms=1000)
DONE = replace(BEGUN, revoked_ms=1001, completed_ms=2000, tickets=2, resigned=("tc-000-1",), pools=("pool",))


@pytest.fixture(params=["memory", "redis"])
async def forgettings(request: pytest.FixtureRequest, redis_connections: Connections) -> Forgettings:
    if request.param == "memory":
        return MemoryForgettings()
    await redis_connections.commands.flushdb()
    await load_library(redis_connections.commands, matchmaking_library())
    server = Server(redis_connections.commands, blocking=redis_connections.blocking)
    return RedisForgettings(server, retention_seconds=60)


async def test_a_forgetting_is_found_as_it_was_saved(forgettings: Forgettings) -> None:
    assert await forgettings.find("ann") is None
    await forgettings.save(BEGUN, due_ms=1)
    assert await forgettings.find("ann") == BEGUN
    await forgettings.save(DONE, due_ms=1)
    assert await forgettings.find("ann") == DONE


async def test_what_is_not_done_is_due_at_its_time(forgettings: Forgettings) -> None:
    await forgettings.save(BEGUN, due_ms=1000)
    await forgettings.save(replace(BEGUN, player="bob"), due_ms=1500)
    assert list(await forgettings.due(999, limit=10)) == []
    assert list(await forgettings.due(1000, limit=10)) == ["ann"]
    assert list(await forgettings.due(2000, limit=1)) == ["ann"]
    await forgettings.save(BEGUN, due_ms=3000)
    assert list(await forgettings.due(2000, limit=10)) == ["bob"]


async def test_what_is_done_is_due_no_more(forgettings: Forgettings) -> None:
    await forgettings.save(BEGUN, due_ms=1000)
    await forgettings.save(DONE, due_ms=1000)
    assert list(await forgettings.due(5000, limit=10)) == []
