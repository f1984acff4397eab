"""A server that would lose or forget matches is refused, and one without our functions named."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError

from promontory.eventlog.functions import (
    Library,
    LibraryMissing,
    event_log_library,
    load_library,
    verify_library,
)
from promontory.eventlog.port import START
from promontory.eventlog.redis_calls import ServerRefused
from promontory.eventlog.redis_server import Connections, ServerUnreachable, UnsafeServer, check_policy, connect
from promontory.eventlog.redis_snapshot import SnapshotRefused
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.local.backups import back_up
from promontory.runtime.clock import now_ms
from promontory.runtime.embedded import EmbeddedServer
from tests.house.source import ROOT
from tests.support.event_logs import append_chain, proposal
from tests.support.waiting import eventually

OTHER_SOURCE = """#!lua name=promontory_other_SHA8
redis.register_function('answer_SHA8', function() return 42 end)
"""


@pytest.fixture
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Redis]:
    """A client of a server of its own, with the settings the test asks for."""
    with EmbeddedServer(tmp_path, settings=request.param) as server:
        connections = connect(server.url)
        yield connections.commands
        await connections.aclose()


# Policy


async def test_the_embedded_server_can_be_trusted(redis_client: Redis) -> None:
    await check_policy(redis_client)


@pytest.mark.parametrize(
    ("client", "setting"),
    [
        ({"maxmemory-policy": "allkeys-lru"}, "maxmemory-policy is 'allkeys-lru'"),
        ({"maxmemory-policy": "volatile-ttl"}, "maxmemory-policy is 'volatile-ttl'"),
        ({"appendonly": "no"}, "appendonly is 'no'"),
        ({"replicaof": "127.0.0.1 9"}, "role is 'slave'"),
    ],
    indirect=["client"],
)
async def test_a_dangerous_setting_is_refused_by_name(client: Redis, setting: str) -> None:
    with pytest.raises(UnsafeServer, match=setting) as refused:
        await check_policy(client)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize("client", [{"maxmemory-policy": "allkeys-lfu", "appendonly": "no"}], indirect=True)
async def test_all_that_is_wrong_is_said_at_once(client: Redis) -> None:
    with pytest.raises(UnsafeServer) as refused:
        await check_policy(client)
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize("client", [{"appendonly": "no"}], indirect=True)
async def test_a_log_that_is_not_durable_can_be_allowed(client: Redis) -> None:
    await check_policy(client, require_aof=False)


@pytest.mark.parametrize("version", ["6.2.14", "5.0.7", "unknown"])
async def test_a_server_without_functions_is_refused(
    redis_client: Redis, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    facts = await redis_client.info("everything")

    async def older(*_: str) -> dict[str, object]:
        return {**facts, "redis_version": version}

    monkeypatch.setattr(redis_client, "info", older)
    with pytest.raises(UnsafeServer, match=f"version is {version}"):
        await check_policy(redis_client)


# Functions


@pytest.mark.parametrize("client", [{}], indirect=True)
async def test_functions_are_loaded_once(client: Redis) -> None:
    library = event_log_library()
    with pytest.raises(LibraryMissing, match="promontory load-functions"):
        await verify_library(client, library)
    assert await load_library(client, library)
    assert not await load_library(client, library)
    await verify_library(client, library)


async def test_a_library_is_named_after_its_content(redis_client: Redis) -> None:
    """Two versions of one library live side by side, so old and new services can during a rolling update."""
    first, second = Library("other", OTHER_SOURCE), Library("other", OTHER_SOURCE.replace("42", "43"))
    await load_library(redis_client, first)
    await load_library(redis_client, second)
    assert await redis_client.execute_command("FCALL", first.function("answer"), 0) == 42
    assert await redis_client.execute_command("FCALL", second.function("answer"), 0) == 43


@pytest.mark.parametrize("client", [{}], indirect=True)
async def test_a_log_does_not_start_without_its_functions(client: Redis) -> None:
    log = RedisEventLog(client, blocking=client, clock=now_ms)
    with pytest.raises(LibraryMissing):
        await log.start()
    with pytest.raises(ServerRefused, match="promontory load-functions"):
        await log.append("tc-0a7-a", proposal(), expected=START)


async def test_a_service_account_needs_no_right_to_load_code(valkey: EmbeddedServer, redis_client: Redis) -> None:
    """What a service may do is call functions and read: no EVAL, SCRIPT, FUNCTION or CONFIG."""
    calls = "+fcall +xrange +xrevrange +xread +hmget +hget +set +zrange +ping +hello +info"
    inside_functions = "+get +xadd +hset +hdel +hincrby +zadd +zrem +time"
    allowed = f"{calls} {inside_functions}"
    await redis_client.execute_command("ACL", "SETUSER", "service", "on", ">secret", "~{*}*", "-@all", *allowed.split())
    service = connect(f"unix://service:secret@{valkey.socket_path}")
    log = RedisEventLog(service.commands, blocking=service.blocking, clock=now_ms)
    await check_policy(service.commands)
    await log.start()
    end = await append_chain(log, "tc-acl-a", 2)
    assert (await log.read("tc-acl-a"))[-1].position == end
    assert len((await log.feed({"tc:acl": "0"}, block_ms=0))[1]) == 2
    assert (await log.claim("tc:acl", limit=1, lease_ms=0, max_attempts=1)) == []
    with pytest.raises(NoPermissionError):
        await load_library(service.commands, event_log_library())
    await service.aclose()


# Connections


async def test_a_wait_longer_than_the_adapter_allows_ends_in_time(redis_connections: Connections) -> None:
    """The feed's wait must end before the client's socket timeout does, else it looks like a lost server."""
    socket_timeout = redis_connections.blocking.connection_pool.connection_kwargs["socket_timeout"]
    assert socket_timeout > 10


async def test_clients_reconnect_after_a_restart(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    server.start()
    connections = connect(server.url)
    await load_library(connections.commands, event_log_library())
    log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)
    after = await append_chain(log, "tc-0a7-a", 1)
    socket_path = server.socket_path
    server.kill()
    server.start()
    assert server.socket_path == socket_path
    await eventually(lambda: append_chain(log, "tc-0a7-a", 1, after=after))
    await connections.aclose()
    server.stop()


async def test_a_server_that_does_not_answer_is_named_with_the_setting(tmp_path: Path) -> None:
    """Not an error number, but what to do."""
    async with connect(f"unix://{tmp_path / 'nobody.sock'}") as connections:
        with pytest.raises(ServerUnreachable, match="PROMONTORY_REDIS_URL"):
            await check_policy(connections.commands)


@pytest.mark.parametrize(
    ("user", "password", "said"),
    [("promontory", "wrong", "refuses the user"), ("lame", "right", "refuses the user")],
)
async def test_a_server_that_refuses_the_user_is_not_said_to_be_down(
    tmp_path: Path, user: str, password: str, said: str
) -> None:
    """A wrong password, or a right that lacks: starting the server would not help."""
    settings = {"user promontory": "on >right ~* &* +@all", "user lame": "on >right ~* &* -@all"}
    with EmbeddedServer(tmp_path, settings=settings) as server:
        parts = urlsplit(server.url)
        async with connect(f"unix://{user}:{password}@{parts.path}") as connections:
            with pytest.raises(ServerUnreachable, match=said) as refused:
                await check_policy(connections.commands)
    assert "start it" not in str(refused.value)


async def test_the_user_for_backups_may_back_up_and_no_more(tmp_path: Path) -> None:
    """[docs/operators.md, security] With the rights that the page lists; with fewer it says which."""
    page = (ROOT / "docs" / "operators.md").read_text("utf-8")
    rights = re.search(r"^user backup on >SECRET (.+)$", page, re.MULTILINE)
    settings = {"user backup": f"on >s {rights and rights[1]}", "user reader": "on >s ~* &* -@all +@connection +info"}
    with EmbeddedServer(tmp_path / "server", settings=settings) as server:
        path = urlsplit(server.url).path
        made = await back_up(f"unix://backup:s@{path}", tmp_path / "backup", archive_url="")
        assert [part.name for part in made.parts] == ["log.rdb"]
        with pytest.raises(SnapshotRefused, match=r"\+replconf"):
            await back_up(f"unix://reader:s@{path}", tmp_path / "other", archive_url="")
        async with Redis.from_url(f"unix://backup:s@{path}") as redis:
            with pytest.raises(NoPermissionError):
                await redis.get("anything")
