"""A primary that Sentinel watches: found by asking the Sentinels, left as soon as they name another.

redis-py's own pool for Sentinel does not wait for a free connection, believes the first Sentinel that answers, and
talks to whatever server is at that address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from redis.asyncio import Connection, Redis, SSLConnection
from redis.exceptions import ConnectionError as RedisConnectionError

from promontory.eventlog.redis_packing import PackingPool
from promontory.eventlog.server_groups import Host

LOOK_SECONDS = 1.0
"""How old the Sentinels' word may become while connections are used."""


class Sentinels:
    """The Sentinels that watch the primary called `name`, each of `clients` one of them. Connects when first asked."""

    def __init__(self, clients: Sequence[Redis], name: str) -> None:
        self._clients, self._name = clients, name
        self._primary: Host | None = None
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[Host] | None = None
        self._pools: WeakSet[PrimaryPool] = WeakSet()

    def tell(self, pool: PrimaryPool) -> None:
        """Have `pool` drop its connections when the primary changes."""
        self._pools.add(pool)

    def doubt(self) -> None:
        """Ask again before the next connection is made."""
        self._primary = None

    def glance(self) -> None:
        """Ask again, beside whatever goes on, if the last time is long ago."""
        if self._asking is None and asyncio.get_running_loop().time() - self._asked_at > LOOK_SECONDS:
            self._ask().add_done_callback(_ignore)

    async def primary(self) -> Host:
        """Return where the primary is. Raises `redis.exceptions.ConnectionError` if no Sentinel says so."""
        return await asyncio.shield(self._ask()) if self._primary is None else self._primary

    async def aclose(self) -> None:
        """Close all connections."""
        if self._asking is not None:
            await asyncio.wait([self._asking])
        for client in self._clients:
            await client.aclose()

    def _ask(self) -> asyncio.Task[Host]:
        """Return the one question under way."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._learn())
            self._asking.add_done_callback(self._asked)
        return self._asking

    def _asked(self, asking: asyncio.Task[Host]) -> None:
        self._asking, self._asked_at = None, asyncio.get_running_loop().time()
        _ignore(asking)

    async def _learn(self) -> Host:
        found = await self._vote()
        for pool in tuple(self._pools):
            await pool.leave_all_but(found)
        self._primary = found
        return found

    async def _vote(self) -> Host:
        """Return what most Sentinels say: one that was away may still name the last primary."""
        votes, failures = Counter[Host](), list[str]()
        waiting = {asyncio.create_task(_told(client, self._name)) for client in self._clients}
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for answer in done:
                if error := answer.exception():
                    failures.append(repr(error))
                elif host := answer.result():
                    votes[host] += 1
            if votes and 2 * votes.most_common(1)[0][1] > len(self._clients):
                break
        for task in waiting:
            task.add_done_callback(_ignore)
        if not votes:
            raise RedisConnectionError(f"no Sentinel knows the primary {self._name!r}: {'; '.join(failures) or 'none'}")
        return votes.most_common(1)[0][0]


class PrimaryPool(PackingPool):
    """Connections to the primary that `sentinels` name; `options` are those of a `BlockingConnectionPool`."""

    def __init__(self, sentinels: Sentinels, *, tls: bool, **options: Any) -> None:
        kind = PrimaryTlsConnection if tls else PrimaryConnection
        super().__init__(connection_class=kind, sentinels=sentinels, **options)
        self._sentinels = sentinels
        sentinels.tell(self)

    async def get_connection(self, command_name: Any = None, *keys: Any, **options: Any) -> Any:
        """Return a connection to the primary, waiting for one if all are in use."""
        self._sentinels.glance()
        return await super().get_connection()  # type: ignore[no-untyped-call]

    async def disconnect(self, inuse_connections: bool = True) -> None:
        """Close connections; whoever does so doubts the primary."""
        self._sentinels.doubt()
        await super().disconnect(inuse_connections)

    async def leave_all_but(self, host: Host) -> None:
        """Close the connections to any other server than `host`, also those that somebody waits on for an answer."""
        for connection in (*self._available_connections, *self._in_use_connections):
            assert isinstance(connection, Connection)  # noqa: S101 - for the checker
            if connection.is_connected and (connection.host, connection.port) != host:
                await connection.disconnect(nowait=True)  # over TLS, one that hangs would not agree to it


class _ToPrimary(Connection):
    """A connection that finds its server when it is made, and refuses one that is not a primary."""

    def __init__(self, *, sentinels: Sentinels, **options: Any) -> None:
        super().__init__(**options)
        self._sentinels = sentinels

    async def _connect(self) -> None:
        self.host, self.port = await self._sentinels.primary()
        await super()._connect()  # type: ignore[no-untyped-call]

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        await super().on_connect_check_health(check_health)
        await self.send_command("ROLE")
        role, *_ = await self.read_response()
        if role != b"master":
            self._sentinels.doubt()
            raise RedisConnectionError(f"{self.host}:{self.port} is no primary any more: its role is {role!r}")


class PrimaryConnection(_ToPrimary):
    """A connection to the primary."""


class PrimaryTlsConnection(_ToPrimary, SSLConnection):
    """A connection to the primary over TLS."""


async def _told(sentinel: Redis, name: str) -> Host | None:
    answer: list[bytes] | None = await sentinel.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    return (answer[0].decode(), int(answer[1])) if answer else None


def _ignore(task: asyncio.Task[Any]) -> None:
    """Take note of how `task` ended, which nobody else may wait for."""
    if not task.cancelled():
        task.exception()
