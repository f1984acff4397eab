"""Commands that share a connection: each gets its own answer, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import BlockingConnectionPool
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import DataError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from promontory.eventlog.redis_shared import SharedRedis, in_one_write, leave
from promontory.runtime.embedded import EmbeddedServer
from tests.support.waiting import eventually

PATIENT_SECONDS, HASTY_SECONDS = 20.0, 0.2
AT_ONCE = 200


def shared(
    server: EmbeddedServer,
    answer_seconds: float = PATIENT_SECONDS,
    kind: type[BlockingConnectionPool] = BlockingConnectionPool,
) -> SharedRedis:
    pool, lines = (
        each.from_url(server.url, protocol=2, max_connections=4, socket_timeout=None)
        for each in (BlockingConnectionPool, kind)
    )
    return SharedRedis(pool, lines, answer_seconds=answer_seconds, before=lambda: None)


@pytest.fixture
def server(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer(tmp_path)


@pytest.fixture
async def client(server: EmbeddedServer) -> AsyncIterator[SharedRedis]:
    with server:
        client = shared(server)
        yield client
        await client.aclose()


async def connection_of(client: SharedRedis) -> int:
    found: int = await client.execute_command("CLIENT", "ID")
    return found


async def test_commands_that_come_together_get_each_its_own_answer(client: SharedRedis) -> None:
    answers = await asyncio.gather(*(client.execute_command("ECHO", number) for number in range(AT_ONCE)))
    assert answers == [str(number).encode() for number in range(AT_ONCE)]
    assert await client.execute_command("CLIENT", "LIST") != []
    assert len({await connection_of(client) for _ in range(3)}) == 1


async def test_the_answer_to_a_call_that_was_given_up_is_nobody_elses(client: SharedRedis) -> None:
    await client.ping()
    given_up = [asyncio.create_task(client.execute_command("ECHO", "given up")) for _ in range(3)]
    kept = asyncio.create_task(client.execute_command("ECHO", "kept"))
    await asyncio.sleep(0)
    for task in given_up:
        task.cancel()
    assert await kept == b"kept"
    assert await client.execute_command("ECHO", "after") == b"after"
    assert all(task.cancelled() for task in given_up)


async def test_an_error_is_that_of_its_own_command_only(client: SharedRedis) -> None:
    right, wrong, later = await asyncio.gather(
        client.set("number", 1), client.execute_command("LPUSH", "number", 2), client.get("number"),
        return_exceptions=True,
    )  # fmt: skip
    assert (right, later) == (True, b"1")
    assert isinstance(wrong, ResponseError)


async def test_commands_in_one_write_are_all_done_though_one_is_refused(client: SharedRedis) -> None:
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await in_one_write(client, [("SET", "a", 1), ("LPUSH", "a", 2), ("SET", "b", 3)])
    assert await in_one_write(client, [("GET", "a"), ("GET", "b")]) == [b"1", b"3"]


async def test_of_commands_of_which_one_cannot_be_sent_none_is(client: SharedRedis) -> None:
    """Its neighbours' answers would be taken for those of later commands."""
    with pytest.raises(DataError):
        await in_one_write(client, [("SET", "a", 1), ("SET", "b", None)])
    assert await client.execute_command("ECHO", "later") == b"later"
    assert await client.get("a") is None


async def test_an_error_that_nobody_waits_for_any_more_is_let_go(client: SharedRedis) -> None:
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    await client.set("number", 1)
    given_up = asyncio.create_task(client.execute_command("LPUSH", "number", 2))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await client.ping()
    gc.collect()
    assert told == []


class Doubted(BlockingConnectionPool):
    """Connections of which `doubt` tells right after each was opened, until it says no more."""

    doubt: Callable[[], Coroutine[Any, Any, None]] | None = None

    async def get_connection(self, *_: Any, **__: Any) -> Any:
        connection = await super().get_connection()
        if self.doubt is not None:
            asyncio.get_running_loop().create_task(self.doubt())
        return connection


@pytest.mark.parametrize("turns", range(3))
async def test_a_connection_that_is_left_before_its_first_command_holds_up_nobody(
    server: EmbeddedServer, turns: int
) -> None:
    """Whatever turn of the event loop it is left in: no command waits on it, and it is given back."""
    with server:
        client = shared(server, kind=Doubted)
        lines = client._lines
        assert isinstance(lines, Doubted)

        async def doubt() -> None:
            lines.doubt = None
            for _ in range(turns):
                await asyncio.sleep(0)
            await leave(client)

        for _ in range(lines.max_connections + 1):
            lines.doubt = doubt
            async with asyncio.timeout(PATIENT_SECONDS):
                assert await client.ping()
            await leave(client)
        await client.aclose()


async def test_whoever_waits_on_a_server_that_dies_gets_no_answer_and_the_next_command_a_new_one(
    client: SharedRedis, server: EmbeddedServer
) -> None:
    waiting = asyncio.create_task(client.execute_command("BLPOP", "nothing", 0))
    await client.client_list()
    server.kill()
    with pytest.raises(RedisConnectionError):
        await waiting
    server.start()
    assert await client.ping()


async def test_no_answer_in_time_ends_the_connection_for_all_that_wait_on_it(server: EmbeddedServer) -> None:
    with server:
        client = shared(server, HASTY_SECONDS)
        before = await connection_of(client)
        stuck = [asyncio.create_task(client.execute_command("BLPOP", "nothing", 0)) for _ in range(2)]
        for task in stuck:
            with pytest.raises(RedisTimeoutError):
                await task
        assert await connection_of(client) != before
        await client.aclose()


async def test_what_is_under_way_ends_on_the_connection_that_is_left(client: SharedRedis) -> None:
    before = await connection_of(client)
    waiting = asyncio.create_task(client.execute_command("BLPOP", "list", 0))
    await asyncio.sleep(0)
    await leave(client)
    after = await connection_of(client)
    await client.rpush("list", "found")
    assert list(await waiting) == [b"list", b"found"]
    assert after != before

    async def is_closed() -> bool:
        return all(int(each["id"]) != before for each in await client.client_list())

    await eventually(is_closed)


async def test_closing_ends_what_is_under_way(client: SharedRedis) -> None:
    waiting = asyncio.create_task(client.execute_command("BLPOP", "nothing", 0))
    await asyncio.sleep(0)
    await client.aclose()
    with pytest.raises(RedisConnectionError):
        await waiting
    with pytest.raises(RedisConnectionError, match="closed"):
        await client.ping()


async def test_whoever_opens_the_connection_may_give_up_without_harm_to_others(client: SharedRedis) -> None:
    first = asyncio.create_task(client.execute_command("ECHO", "first"))
    second = asyncio.create_task(client.execute_command("ECHO", "second"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == b"second"
