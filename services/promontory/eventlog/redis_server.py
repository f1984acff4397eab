"""Connecting to the server, and refusing one that would lose or forget matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import msgspec
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

OLDEST_VERSION = (7, 0)
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 3.0
BLOCKING_ANSWER_SECONDS = 15.0
CONNECTIONS = 32


class UnsafeServer(Exception):
    """The server is set up so that it would lose matches; `problems` name each setting, its value, and what to do."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("this server must not hold the event log: " + "; ".join(problems))
        self.problems = problems


class ServerUnreachable(Exception):
    """Nothing answers where the server should be."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            f"the event log's server does not answer ({cause}): start it, or name another with PROMONTORY_REDIS_URL"
        )


class Connections(msgspec.Struct, frozen=True):
    """One server's clients: `commands` for all that answers at once, `blocking` for reads that wait up to 10 s.

    Use as an async context manager, or call `aclose`.
    """

    commands: Redis
    blocking: Redis

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.commands.aclose()
        await self.blocking.aclose()


def connect(url: str) -> Connections:
    """Return clients for `url` (redis://, rediss:// or unix://); they connect when first used.

    They never repeat a command by themselves, and give up on one that is not answered in 3 s (blocking: 15 s).
    """
    return Connections(_client(url, ANSWER_SECONDS), _client(url, BLOCKING_ANSWER_SECONDS))


def _client(url: str, answer_seconds: float) -> Redis:
    pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
        url,
        protocol=2,
        retry=Retry(NoBackoff(), 0),
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=answer_seconds,
        max_connections=CONNECTIONS,
        timeout=answer_seconds,
    )
    return Redis.from_pool(pool)


async def check_policy(client: Redis, *, require_aof: bool = True) -> None:
    """Return if the server can be trusted with the log, else raise `UnsafeServer` with all that is wrong.

    Needs no right but INFO. Raises `ServerUnreachable` if the server does not answer.
    """
    try:
        facts = await client.info("everything")
    except (RedisConnectionError, RedisTimeoutError, OSError) as error:
        raise ServerUnreachable(error) from error
    problems = tuple(_problems(facts, require_aof=require_aof))
    if problems:
        raise UnsafeServer(problems)


class Vitals(msgspec.Struct, frozen=True):
    """How a server is: the memory it uses and may use (0: no limit) in bytes, and whether its last write was kept."""

    memory_bytes: int
    memory_limit_bytes: int
    persists: bool


def vitals(facts: Mapping[str, Any]) -> Vitals:
    """Return what the answer to INFO tells of a server's health; one without an append-only file keeps nothing."""
    kept = (facts.get("aof_last_write_status"), facts.get("aof_last_bgrewrite_status"))
    return Vitals(
        memory_bytes=int(facts.get("used_memory", 0)),
        memory_limit_bytes=int(facts.get("maxmemory", 0)),
        persists=bool(facts.get("aof_enabled")) and kept == ("ok", "ok"),
    )


def _problems(facts: Mapping[str, Any], *, require_aof: bool) -> Iterator[str]:
    version = str(facts.get("redis_version", "unknown"))
    if _version(version) < OLDEST_VERSION:
        yield f"its version is {version}: use Redis 7.0 or Valkey 7.2, or newer"
    role = facts.get("role", "unknown")
    if role != "master":
        yield f"its role is {role!r}: connect to the primary, a replica takes no commits"
    policy = facts.get("maxmemory_policy", "unknown")
    if policy != "noeviction":
        yield (
            f"maxmemory-policy is {policy!r}, so it may delete matches when memory runs out: "
            "set `maxmemory-policy noeviction`"
        )
    if require_aof and not facts.get("aof_enabled"):
        yield (
            "appendonly is 'no', so a restart loses matches: set `appendonly yes`, "
            "or allow a log that is not durable with PROMONTORY_REQUIRE_AOF=false"
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
