"""A cluster behind the face of one client: commands go to the primary of their keys' slot, wherever that moves.

redis-py's own client for clusters repeats what may have been done, and with a map of the cluster that it knows to be
old. This one repeats only what a node has answered that it did not do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any
from weakref import WeakSet

import msgspec
from redis.asyncio import Redis
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from promontory.eventlog.redis_shared import in_one_write, leave
from promontory.eventlog.server_groups import Host

SLOTS = 16_384
LOOK_SECONDS = 1.0
"""How old the map may become while the cluster is used."""
DOUBT_SECONDS = 0.1
"""The same, once a node failed or said that it is old."""
REDIRECTIONS = 5

Connect = Callable[[Host], Redis]
"""Makes a client of one node."""

_KEYLESS = frozenset({"PING", "TIME", "INFO", "CONFIG", "FUNCTION", "DBSIZE", "ACL", "ROLE"})
_STALE = frozenset({"CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING"})


class ClusterMap(msgspec.Struct, frozen=True):
    """Which node is the primary of each slot, and all nodes that are known."""

    owners: tuple[Host | None, ...]
    nodes: tuple[Host, ...]

    @property
    def primaries(self) -> tuple[Host, ...]:
        """The nodes that slots are served by, in the order of their addresses."""
        return tuple(sorted({owner for owner in self.owners if owner}))


class Topology:
    """The map of a cluster, learnt from any node; `seeds` are tried while no other is known."""

    def __init__(self, seeds: Sequence[Host], connect: Connect) -> None:
        self._seeds, self._connect, self._random = tuple(seeds), connect, Random()  # noqa: S311 - spreads questions
        self._clients: dict[Host, Redis] = {}
        self._map: ClusterMap | None = None
        self._read_at, self._max_age = float("-inf"), LOOK_SECONDS
        self._reading: asyncio.Task[ClusterMap] | None = None
        self._followers: WeakSet[ClusterRedis] = WeakSet()
        self._is_closed = False

    def tell(self, follower: ClusterRedis) -> None:
        """Have `follower` drop its connections to nodes that are no primaries any more."""
        self._followers.add(follower)

    async def map(self) -> ClusterMap:
        """Return the map as it was a moment ago.

        Raises `redis.exceptions.ConnectionError` if there is none yet and no node answers, or all is closed.
        """
        if self._is_closed:
            raise RedisConnectionError("the client of the cluster is closed")
        if self._map is not None and asyncio.get_running_loop().time() - self._read_at <= self._max_age:
            return self._map
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._has_read)
        return await asyncio.shield(self._reading) if self._map is None else self._map

    def doubt(self) -> None:
        """Look at the map again soon."""
        self._max_age = DOUBT_SECONDS

    def moved(self, slot: int, host: Host) -> None:
        """Note that `host` serves `slot` now."""
        if self._map is not None:
            owners = list(self._map.owners)
            owners[slot] = host
            self._map = ClusterMap(tuple(owners), self._map.nodes)
        self.doubt()

    async def aclose(self) -> None:
        """Close all connections."""
        self._is_closed = True
        if self._reading is not None:
            await asyncio.wait([self._reading])
        for client in self._clients.values():
            await client.aclose()

    def _has_read(self, reading: asyncio.Task[ClusterMap]) -> None:
        self._reading, self._read_at = None, asyncio.get_running_loop().time()
        if not reading.cancelled() and reading.exception() is None:
            self._max_age = LOOK_SECONDS

    async def _read(self) -> ClusterMap:
        nodes = list(self._map.nodes) if self._map else []
        failures: list[str] = []
        self._random.shuffle(nodes)
        for host in (*nodes, *self._seeds):
            if host not in self._clients:
                self._clients[host] = self._connect(host)
            try:
                found = cluster_map(await self._clients[host].execute_command("CLUSTER", "SLOTS"), host)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with this node, the next may answer
                failures.append(f"{host[0]}:{host[1]}: {error!r}")
                continue
            if found.primaries:
                await self._take(found)
                return found
            failures.append(f"{host[0]}:{host[1]}: knows no slots")
        raise RedisConnectionError(f"no node of the cluster tells where slots are: {'; '.join(failures)}")

    async def _take(self, found: ClusterMap) -> None:
        self._map = found
        for follower in tuple(self._followers):
            await follower.leave_all_but(found.primaries)


class ClusterRedis(Redis):
    """A client whose commands go to the primary of their key's slot; those without a key all to the same one.

    What one command or function touches must share a slot. `connect` makes the client of a node; `topology` may be
    shared by several.
    """

    def __init__(self, topology: Topology, connect: Connect, *, seed: Host) -> None:
        unused = connect(seed).connection_pool
        super().__init__(connection_pool=unused)
        self._topology, self._make = topology, connect
        self._nodes: dict[Host, Redis] = {}
        self._is_closed = False
        topology.tell(self)

    async def primaries(self) -> Sequence[Redis]:
        """Return a client of each primary, in the order of their addresses."""
        return [self._node(host) for host in (await self._topology.map()).primaries]

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the answer of the node that serves the command's key, which is found again if it has moved."""
        slot = slot_of(args)
        for _ in range(REDIRECTIONS):
            node = await self._serving(slot)
            try:
                return await self._ask_node(node, args, options)
            except MovedError as moved:
                self._topology.moved(moved.slot_id, _address(moved, node))
            except AskError as ask:
                return await _asking(self._node(_address(ask, node)), args)
        raise RedisConnectionError("the nodes of the cluster do not agree on where a slot is")

    async def execute_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the answers to `commands`, sent to each node in one write. They must be safe to repeat."""
        places: dict[Redis, list[int]] = {}
        for place, command in enumerate(commands):
            places.setdefault(await self._serving(slot_of(command)), []).append(place)
        work = [self._execute_on(node, [commands[place] for place in mine]) for node, mine in places.items()]
        answers: dict[int, Any] = {}
        for mine, found in zip(places.values(), await asyncio.gather(*work, return_exceptions=True), strict=True):
            if isinstance(found, BaseException):
                raise found
            answers.update(zip(mine, found, strict=True))
        return [answers[place] for place in range(len(commands))]

    async def by_node(self, keys: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return `keys` in groups that one node each serves."""
        owners = (await self._topology.map()).owners
        groups: dict[Host | None, list[str]] = {}
        for key in keys:
            groups.setdefault(owners[_slot_of_key(key)], []).append(key)
        return tuple(groups.values())

    async def flushdb(self, asynchronous: bool = False, **options: Any) -> Any:
        """Delete everything, on every primary."""
        return all([await each.flushdb(asynchronous, **options) for each in await self.primaries()])

    async def dbsize(self, **options: Any) -> int:
        """Return the number of keys on all primaries."""
        return sum([await each.dbsize(**options) for each in await self.primaries()])

    async def leave_all_but(self, hosts: Iterable[Host]) -> None:
        """Close the connections to any other node, also those that somebody waits on for an answer."""
        for host in self._nodes.keys() - set(hosts):
            await self._nodes.pop(host).aclose()

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        self._is_closed = True
        await self.leave_all_but(())
        await super().aclose(close_connection_pool)

    async def _serving(self, slot: int) -> Redis:
        host = (await self._topology.map()).owners[slot]
        if host is None:
            self._topology.doubt()
            raise RedisConnectionError(f"no node serves slot {slot}")
        return self._node(host)

    def _node(self, host: Host) -> Redis:
        if self._is_closed:
            raise RedisConnectionError("the client of the cluster is closed")
        if host not in self._nodes:
            self._nodes[host] = self._make(host)
        return self._nodes[host]

    async def _ask_node(self, node: Redis, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        try:
            return await node.execute_command(*args, **options)
        except ResponseError as error:
            if (error.status_code or str(error).split(" ", 1)[0]) in _STALE:
                self._topology.doubt()
            raise
        except Exception:
            await self._lose(node)
            raise

    async def _execute_on(self, node: Redis, commands: Sequence[Sequence[Any]]) -> list[Any]:
        try:
            return await in_one_write(node, commands)
        except AskError:  # moved, or moving: one by one, they are led to where they belong
            return [await self.execute_command(*command) for command in commands]
        except ResponseError:
            self._topology.doubt()
            raise
        except Exception:
            await self._lose(node)
            raise

    async def _lose(self, node: Redis) -> None:
        self._topology.doubt()
        await leave(node)


async def primaries(client: Redis) -> Sequence[Redis]:
    """Return the clients of all servers that together hold what `client` reaches: itself, unless it is a cluster's."""
    return await client.primaries() if isinstance(client, ClusterRedis) else [client]


def address_of(server: Redis) -> str:
    """Return `host:port` of a cluster's node; nothing for a server that is found in another way."""
    options = server.connection_pool.connection_kwargs
    return f"{options['host']}:{options['port']}" if "host" in options else ""


def cluster_map(rows: Sequence[Any], told_by: Host) -> ClusterMap:
    """Return the map in the answer to `CLUSTER SLOTS`; a node without a name is the one that told."""
    owners: list[Host | None] = [None] * SLOTS
    nodes: dict[Host, None] = {}
    for first, last, *members in rows:
        hosts = [(member[0].decode() if member[0] else told_by[0], int(member[1])) for member in members]
        nodes.update(dict.fromkeys(hosts))
        owners[first : last + 1] = [hosts[0]] * (last + 1 - first)
    return ClusterMap(tuple(owners), tuple(nodes))


def slot_of(command: Sequence[Any]) -> int:
    """Return the slot of the command's first key; 0 for a command without keys, so that these go to one node."""
    key = _key_of(command)
    if key is None:
        return 0
    return key_slot(key if isinstance(key, bytes) else str(key).encode())


@lru_cache(maxsize=8192)
def _slot_of_key(key: str) -> int:
    return key_slot(key.encode())


def _key_of(command: Sequence[Any]) -> Any:
    name, *arguments = command
    if name == "FCALL":
        return arguments[2] if int(arguments[1]) else None
    if name == "XREAD":
        return arguments[arguments.index("STREAMS") + 1]
    return None if not arguments or str(name).split(" ", 1)[0] in _KEYLESS else arguments[0]


def _address(redirection: AskError, node: Redis) -> Host:
    """Return where to; without a name it is another port of the node that said so."""
    return redirection.host or node.connection_pool.connection_kwargs["host"], redirection.port


async def _asking(node: Redis, command: Sequence[Any]) -> Any:
    """Return the answer of a node that a slot is being moved to."""
    return (await in_one_write(node, [("ASKING",), command]))[1]
