"""Celery's broker on the primary that Sentinels name, with connections that find it whenever they are made.

redis-py's connections ask the Sentinels at first, but reconnect in the middle of a transaction to the server they had.
To one that became a replica they do so for ever: a worker that gives its messages back is deaf from then on.
"""

from __future__ import annotations

from socket import socket

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import SentinelChannel, SentinelManagedSSLConnection, SentinelTransport
from redis.sentinel import SentinelManagedConnection


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


class _Channel(SentinelChannel):
    connection_class = _Connection
    connection_class_ssl = _TlsConnection


class Transport(SentinelTransport):
    """What `sentinel://` stands for once `find_primaries` was called."""

    Channel = _Channel


def find_primaries() -> None:
    """Have Celery connect to Sentinels' primaries by `Transport`, in this process."""
    TRANSPORT_ALIASES["sentinel"] = f"{__name__}:{Transport.__name__}"
