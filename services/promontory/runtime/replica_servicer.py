"""What a process that serves tells about itself, and how it is told to stop by whoever may not signal it."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable

import structlog

from promontory import __version__
from promontory.api.replica.v1 import replica_service_pb2 as pb
from promontory.codec.times import timestamp
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Scope, caller
from promontory.runtime.rpc import Context

log = structlog.get_logger()

REPLICA = pb.DESCRIPTOR.services_by_name["ReplicaService"]


class ReplicaServicer:
    """`promontory.api.replica.v1.ReplicaService` of the process that serves `service`, as `rules.pacific`.

    To drain it sets `stop`, as SIGTERM does.
    """

    def __init__(self, service: str, stop: asyncio.Event, open_streams: Callable[[], int]) -> None:
        self._kind, _, self._game = service.partition(".")
        self._stop, self._open_streams = stop, open_streams
        self._id, self._began_ms = f"{service}-{secrets.token_hex(4)}", clock.now_ms()

    async def GetReplica(self, request: pb.GetReplicaRequest, context: Context) -> pb.GetReplicaResponse:
        """Return what this process is."""
        caller().require(Scope.DRAIN_REPLICA)
        return pb.GetReplicaResponse(replica=self._described())

    async def Drain(self, request: pb.DrainRequest, context: Context) -> pb.DrainResponse:
        """Have this process stop."""
        caller().require(Scope.DRAIN_REPLICA)
        if request.replica_id != self._id:
            raise replica_unknown(request.replica_id, [self._id])
        log.info("drain_asked_for", replica=self._id, caller=caller().subject)
        self._stop.set()
        return pb.DrainResponse(replica=self._described())

    def _described(self) -> pb.Replica:
        return pb.Replica(
            replica_id=self._id,
            kind=self._kind,
            game=self._game,
            release=__version__,
            host=socket.gethostname(),
            start_time=timestamp(self._began_ms),
            state=pb.REPLICA_STATE_DRAINING if self._stop.is_set() else pb.REPLICA_STATE_SERVING,
            open_streams=self._open_streams(),
        )


def replica_unknown(replica: str, known: list[str]) -> Refusal:
    """Return the refusal of a process that is none of those that are `known`."""
    names = ", ".join(known)
    text = f"there is no such process, or no longer; there are: {names or 'none that answer'}"
    return Refusal(Kind.NOT_FOUND, "REPLICA_UNKNOWN", text, metadata={"replica": replica, "replicas": names})
