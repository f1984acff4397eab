"""Servers behind TLS that hang: whoever leaves them does not wait until they agree."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from redis.asyncio import BlockingConnectionPool, Redis

from promontory.eventlog.redis_sentinel import PrimaryPool, Sentinels
from promontory.eventlog.redis_shared import leave
from promontory.eventlog.server_groups import Host

ROLE = b"*1\r\n$6\r\nmaster\r\n"
HASTY = {"protocol": 2, "socket_connect_timeout": 0.5, "ssl_cert_reqs": "none", "ssl_check_hostname": False}
PATIENCE_SECONDS = 10


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and its certificate."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    years = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2020, 2100))
    unsigned = x509.CertificateBuilder(name, name, key.public_key(), 1)
    signed = unsigned.not_valid_before(next(years)).not_valid_after(next(years)).sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (file := tmp_path / "server.pem").write_bytes(key.private_bytes(*form) + signed.public_bytes(form[0]))
    return file


@pytest.fixture
async def silent(certificate: Path) -> AsyncIterator[Host]:
    """A primary that tells each client its role for every command, and from PING on hears nothing more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.readline():
            words = [await reader.readline() for _ in range(2 * int(size[1:]))]
            writer.write(ROLE)
            if words[1] == b"PING\r\n":
                writer.transport.pause_reading()  # type: ignore[attr-defined]

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    yield server.sockets[0].getsockname()
    server.close()


async def test_leaving_a_server_that_hangs_fails_for_nobody(silent: Host) -> None:
    """What is thrown here would end what follows the feed, and the process with it."""
    pool = BlockingConnectionPool.from_url(f"rediss://{silent[0]}:{silent[1]}", **HASTY)
    await Redis(connection_pool=pool).execute_command("PING")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await leave(Redis(connection_pool=pool))


class Told(Sentinels):
    """Sentinels that name one primary."""

    def __init__(self, primary: Host) -> None:
        super().__init__([], "primary")
        self._told = primary

    async def primary(self) -> Host:
        return self._told

    def glance(self) -> None:
        pass


async def test_the_next_primary_does_not_wait_for_the_last_one_that_hangs(silent: Host) -> None:
    """[failover] However many connections there are to it."""
    pool = PrimaryPool(Told(silent), tls=True, timeout=PATIENCE_SECONDS, **HASTY)
    connections = [await pool.get_connection() for _ in range(2)]
    for connection in connections:
        await connection.send_command("PING")
        await connection.read_response()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await pool.leave_all_but(("127.0.0.1", 1))
    assert [connection.is_connected for connection in connections] == [False, False]
