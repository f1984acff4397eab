"""Calling the platform's other services, under this service's own identity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import ServiceIdentity

CALL_SECONDS = 10


class Peer:
    """A channel to another service and what a call on it needs: `await stub.Method(request, **peer.call())`."""

    def __init__(self, target: str, identity: ServiceIdentity) -> None:
        self.channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._identity = identity

    def call(self) -> dict[str, Any]:
        """Return the keyword arguments of one call: identity and deadline."""
        return {"metadata": (("authorization", f"Bearer {self._identity.token()}"),), "timeout": CALL_SECONDS}

    async def close(self) -> None:
        """Close the channel."""
        await self.channel.close(None)


@contextmanager
def peer_errors(name: str) -> Iterator[None]:
    """Turn a failed call of the peer `name` into the refusal `PEER_UNAVAILABLE`.

    Its metadata holds the peer's own `code`, and its `reason` if it gave one.
    """
    try:
        yield
    except grpc.aio.AioRpcError as error:
        text = f"{name} cannot be reached; repeat with the same request id"
        metadata = {"peer": name, "code": error.code().name, "reason": _reason(error)}
        raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", text, metadata=metadata) from error


def _reason(error: grpc.aio.AioRpcError) -> str:
    """Return the reason in the status the peer sent, or an empty text."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    for detail in status.details if status else ():
        found = error_details_pb2.ErrorInfo()
        if detail.Unpack(found):
            return str(found.reason)
    return ""


_OPTIONS = [
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
]
