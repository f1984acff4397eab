"""Calling the platform's other services, under this service's own identity."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from promontory.client.errors import from_call, is_from_transport
from promontory.runtime import tracing
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import ServiceIdentity

CALL_SECONDS = 10


class Peer:
    """A channel to another service and what a call on it needs: `await stub.Method(request, **peer.call())`."""

    def __init__(self, target: str, identity: ServiceIdentity) -> None:
        self.channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._identity = identity

    def call(self) -> dict[str, Any]:
        """Return the keyword arguments of one call: identity, deadline, and the trace it is part of."""
        metadata = (("authorization", f"Bearer {self._identity.token()}"), *tracing.headers())
        return {"metadata": metadata, "timeout": CALL_SECONDS}

    async def aclose(self) -> None:
        """Close the channel."""
        await self.channel.close(None)


async def addresses_of(target: str) -> Sequence[str]:
    """Return every address, as `host:port`, behind the name in `target`; raise `OSError` if there is none."""
    host, _, port = target.removeprefix("dns:").lstrip("/").rpartition(":")
    if not port.isdecimal():
        raise OSError(f"{target} is no host and port")
    found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    names = sorted({str(name) for *_, (name, *_) in found})
    return [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names]


@contextmanager
def peer_errors(name: str) -> Iterator[None]:
    """Turn a failed call of the peer `name` into the refusal `PEER_UNAVAILABLE`.

    Its metadata holds the peer's own `code`, and its `reason` if it gave one.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{name} cannot be reached; repeat with the same request id"
        failure = from_call(error)
        reason = "" if is_from_transport(failure) else failure.reason
        metadata = {"peer": name, "code": error.code().name, "reason": reason}
        raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", text, metadata=metadata) from error


# A channel of its own connects at once, where another one to the same address may be waiting to try again.
_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
