"""Connecting to the server, and refusing one that would lose or forget matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

import msgspec
import structlog
from redis.asyncio import Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from promontory.eventlog.redis_cluster import ClusterRedis, Topology, address_of, primaries
from promontory.eventlog.redis_packing import PackingPool
from promontory.eventlog.redis_sentinel import PrimaryPool, Sentinels
from promontory.eventlog.redis_shared import SharedRedis
from promontory.eventlog.server_groups import Host, Kind, ServerGroup, is_group, server_group

log = structlog.get_logger()

OLDEST_VERSION = (7, 0)
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 3.0
BLOCKING_ANSWER_SECONDS = 15.0
GUIDE_SECONDS = 1.0
"""How long a Sentinel, or a node that is asked for the map of its cluster, may take."""
CONNECTIONS = 32
LINES = 4
"""Commands share one connection; while that is being left, others."""
WAITING_CONNECTIONS = 4096
"""Of a cluster, each bucket's feed is waited for on a connection of its own."""


MakePool = Callable[..., PackingPool]
"""Makes a pool of connections with the options it is given."""


class UnsafeServer(Exception):
    """The server is set up so that it would lose matches; `problems` name each setting, its value, and what to do."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("this server must not hold the event log: " + "; ".join(problems))
        self.problems = problems


class ServerUnreachable(Exception):
    """Nothing answers where the server should be, or what answers takes neither the user nor the password.

    `problem` says what is so, `remedy` what is to be done about it.
    """

    def __init__(self, cause: Exception) -> None:
        if any(isinstance(each, AuthenticationError | NoPermissionError) for each in (cause, cause.__cause__)):
            self.problem = f"the event log's server is there but refuses the user: {cause}"
            self.remedy = "correct the user and password in PROMONTORY_REDIS_URL, or the user's rights on the server"
        else:
            self.problem = f"the event log's server does not answer ({cause})"
            self.remedy = "start it, or name another with PROMONTORY_REDIS_URL"
        super().__init__(f"{self.problem}: {self.remedy}")


class Connections(msgspec.Struct, frozen=True):
    """Clients of what holds the log: `commands` for what answers at once, `blocking` for reads that wait up to 10 s.

    `guide` tells them where to turn to, if there are several servers. Use as an async context manager, or call
    `aclose`.
    """

    commands: Redis
    blocking: Redis
    guide: Sentinels | Topology | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.commands.aclose()
        await self.blocking.aclose()
        if self.guide is not None:
            await self.guide.aclose()


def connect(url: str) -> Connections:
    """Return clients for `url`; they connect when first used.

    That is redis://, rediss:// or unix:// for one server, sentinel:// or cluster:// for several (`server_groups`). They
    repeat no command that may have been done, and give up on one that is not answered in 3 s (blocking: 15 s).

    Raises `ServerUrlError` if the URL of several servers is malformed.
    """
    if not is_group(url):
        pool = partial(PackingPool.from_url, url)
        return Connections(_shared(pool), Redis.from_pool(pool(**_manners(BLOCKING_ANSWER_SECONDS))))
    group = server_group(url)
    return _by_sentinel(group) if group.kind is Kind.SENTINEL else _by_cluster(group)


def _shared(pool: MakePool, *, before: Callable[[], None] = lambda: None) -> SharedRedis:
    """Return a client for commands over pools made by `pool`; see `SharedRedis`."""
    lines = pool(**{**_manners(ANSWER_SECONDS, connections=LINES), "socket_timeout": None})
    return SharedRedis(pool(**_manners(ANSWER_SECONDS)), lines, answer_seconds=ANSWER_SECONDS, before=before)


def _manners(answer_seconds: float, *, connections: int = CONNECTIONS) -> dict[str, Any]:
    """Return the options of every pool: nothing is repeated, and nothing waits for ever."""
    return {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": answer_seconds,
        "max_connections": connections,
        "timeout": answer_seconds,
    }


def _by_sentinel(group: ServerGroup) -> Connections:
    options = {**group.account.options, **(group.tls or {}), "db": group.database}
    asking = {**_manners(GUIDE_SECONDS), "socket_connect_timeout": GUIDE_SECONDS, **group.sentinel_account.options}
    sentinels = Sentinels([_node(host, group, asking) for host in group.hosts], group.primary)

    def pool(**manners: Any) -> PrimaryPool:
        return PrimaryPool(sentinels, tls=group.tls is not None, **manners, **options)

    blocking = Redis.from_pool(pool(**_manners(BLOCKING_ANSWER_SECONDS)))
    return Connections(_shared(pool, before=sentinels.glance), blocking, sentinels)


def _by_cluster(group: ServerGroup) -> Connections:
    asking = {**_manners(GUIDE_SECONDS), "socket_connect_timeout": GUIDE_SECONDS, **group.account.options}
    topology = Topology(group.hosts, partial(_node, group=group, options=asking))

    def shared(host: Host) -> Redis:
        return _shared(lambda **manners: _node_pool(host, group, {**manners, **group.account.options}))

    waiting = {**_manners(BLOCKING_ANSWER_SECONDS, connections=WAITING_CONNECTIONS), **group.account.options}
    blocking = partial(_node, group=group, options=waiting)
    seed = group.hosts[0]
    return Connections(ClusterRedis(topology, shared, seed=seed), ClusterRedis(topology, blocking, seed=seed), topology)


def _node(host: Host, group: ServerGroup, options: Mapping[str, Any]) -> Redis:
    """Return a client of one server or Sentinel of `group`."""
    return Redis.from_pool(_node_pool(host, group, options))


def _node_pool(host: Host, group: ServerGroup, options: Mapping[str, Any]) -> PackingPool:
    tls: Mapping[str, Any] = {} if group.tls is None else {"connection_class": SSLConnection, **group.tls}
    return PackingPool(**{"host": host[0], "port": host[1], **tls, **options})


async def check_policy(client: Redis, *, require_aof: bool = True) -> None:
    """Return if the server can be trusted with the log, else raise `UnsafeServer` with all that is wrong.

    In a cluster that is every primary. Where replicas stand by, a warning tells of a primary that acknowledges commits
    which none of them has. Needs no right but INFO. Raises `ServerUnreachable` if a server does not answer, or not this
    user.
    """
    try:
        servers = await primaries(client)
        facts = {address_of(server): await server.info("everything") for server in servers}
    except (RedisConnectionError, RedisTimeoutError, NoPermissionError, OSError) as error:
        raise ServerUnreachable(error) from error
    problems = {name: tuple(_problems(each, require_aof=require_aof)) for name, each in facts.items()}
    if any(problems.values()):
        raise UnsafeServer(tuple(_placed(name, text) for name, found in problems.items() for text in found))
    if isinstance(client, ClusterRedis) or isinstance(client.connection_pool, PrimaryPool):
        _warn_of_lone_commits(facts)


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


def worst(found: Sequence[Vitals]) -> Vitals:
    """Return how the nodes of a cluster are: as the fullest of them, and as well kept as the worst."""
    fullest = max(found, key=lambda each: (each.memory_bytes / (each.memory_limit_bytes or 2**63), each.memory_bytes))
    return msgspec.structs.replace(fullest, persists=all(each.persists for each in found))


def _placed(name: str, problem: str) -> str:
    return f"{name}: {problem}" if name else problem


def _warn_of_lone_commits(facts: Mapping[str, Mapping[str, Any]]) -> None:
    for name, each in facts.items():
        if "min_slaves_good_slaves" not in each:
            log.warning("replicas_not_required", server=name, setting="min-replicas-to-write", advice="set it to 1")


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
