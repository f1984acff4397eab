"""The processes that serve, in a test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.replica.v1 import replica_service_pb2 as replica_pb
from promontory.runtime.errors import Kind, Refusal

FIRST, SECOND, OTHER = "rules.pacific-00000001", "rules.pacific-00000002", "scoring-00000003"


class Hall:
    """The port `Replicas`: two processes of Pacific, one of scoring, and an address where nothing answers.

    With `is_deaf` a process is drained, but the answer is lost. Who looks waits until `lookers` do.
    """

    def __init__(self) -> None:
        self.places = [_place(name) for name in (FIRST, SECOND, OTHER)]
        self.drained: list[str] = []
        self.is_deaf = False
        self.lookers, self._all_look = 1, asyncio.Event()

    async def found(self) -> Sequence[pb.ReplicaPlace]:
        self.lookers -= 1
        if self.lookers <= 0:
            self._all_look.set()
        await self._all_look.wait()
        return [*self.places, pb.ReplicaPlace(service="matchmaking", address="10.0.0.9:7401", problem="nothing there")]

    async def drain(self, place: pb.ReplicaPlace) -> None:
        self.drained.append(place.replica.replica_id)
        place.replica.state = replica_pb.REPLICA_STATE_DRAINING
        if self.is_deaf:
            self.places.remove(place)
            raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "no answer")


def _place(name: str) -> pb.ReplicaPlace:
    kind, _, game = name.partition("-")[0].partition(".")
    replica = replica_pb.Replica(replica_id=name, kind=kind, game=game, state=replica_pb.REPLICA_STATE_SERVING)
    return pb.ReplicaPlace(service=name.partition("-")[0], address="10.0.0.1:7401", replica=replica)
