"""Calling the platform's other services, under this service's own identity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import ServiceIdentity

CALL_SECONDS = 10


class Peer:
    """A channel to another service and what a call on it needs: `await stub.Method(request, **peer.call())`."""

    def __init__(self, target: str, identity: ServiceIdentity) -> None:
        self.channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._identity = identity

    def call(self) -> dict[str, object]:
        """Return the keyword arguments of one call: identity and deadline."""
        return {"metadata": (("authorization", f"Bearer {self._identity.token()}"),), "timeout": CALL_SECONDS}

    async def close(self) -> None:
        """Close the channel."""
        await self.channel.close(None)


@contextmanager
def peer_errors(name: str) -> Iterator[None]:
    """Turn a failed call of the peer `name` into the refusal `PEER_UNAVAILABLE`."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{name} cannot be reached; repeat with the same request id"
        code = error.code().name
        raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", text, metadata={"peer": name, "code": code}) from error


_OPTIONS = [
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
