"""Celery's broker, with a client that is kept, and connections that find the primary that Sentinels name.

Kombu makes a client for each message that is sent, taken or acknowledged: half of what a worker's task costs beside
what it is for. And redis-py's connections ask the Sentinels at first, but reconnect in the middle of a transaction to
the server they had. To one that became a replica they do so for ever: a worker that gives its messages back is deaf
from then on.
"""

from __future__ import annotations

from socket import socket
from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import (
    Channel,
    SentinelChannel,
    SentinelManagedSSLConnection,
    SentinelTransport,
    Transport,
)
from redis import Redis
from redis.sentinel import SentinelManagedConnection


class _Thrifty(Channel):
    """A channel that keeps its client for as long as its pool of connections."""

    _kept: Redis | None = None

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:  # one that takes a connection for itself
            return super()._create_client(asynchronous)  # type: ignore[no-untyped-call]
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()  # type: ignore[no-untyped-call]
        return self._kept


class _Connection(SentinelManagedConnection):
    def _connect(self) -> socket:
        self.host, self.port = self.connection_pool.get_master_address()
        found: socket = super()._connect()  # type: ignore[no-untyped-call]
        return found


class _TlsConnection(SentinelManagedSSLConnection):
    def _connect(self) -> socket:
        self.host, self.port = self.connection_pool.get_master_address()
        found: socket = super()._connect()  # type: ignore[no-untyped-call]
        return found


class _ToPrimary(_Thrifty, SentinelChannel):
    connection_class = _Connection
    connection_class_ssl = _TlsConnection


class ServerTransport(Transport):
    """What `redis://` and its like stand for once `replace_transports` was called."""

    Channel = _Thrifty


class PrimaryTransport(SentinelTransport):
    """What `sentinel://` stands for once `replace_transports` was called."""

    Channel = _ToPrimary


def replace_transports() -> None:
    """Have Celery connect to the broker by the transports here, in this process."""
    server, primary = (f"{__name__}:{each.__name__}" for each in (ServerTransport, PrimaryTransport))
    TRANSPORT_ALIASES.update(redis=server, rediss=server, sentinel=primary)
