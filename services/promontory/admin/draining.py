"""Draining processes: one is told to stop while others of its kind serve, and whoever runs it starts it anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from promontory.admin.ports import Replicas
from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.replica.v1 import replica_service_pb2 as replica_pb
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.replica_servicer import replica_unknown


class Draining:
    """The use cases of draining."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas = replicas

    async def listed(self) -> Sequence[pb.ReplicaPlace]:
        """Return the processes that are found, and what does not answer."""
        return await self._replicas.found()

    async def drain(self, replica_id: str, *, force: bool, again: bool, leaving: Collection[str] = ()) -> None:
        """Have the process `replica_id` stop, if one of its kind that is none of `leaving` serves, or it is forced.

        Where it is done `again`, because nobody knows whether it was, that it is gone means that it was. Raises the
        refusals `REPLICA_UNKNOWN`, `REPLICA_LAST` and `PEER_UNAVAILABLE`.
        """
        places = [place for place in await self._replicas.found() if place.HasField("replica")]
        place = next((place for place in places if place.replica.replica_id == replica_id), None)
        if place is not None and not _is_draining(place):
            staying = [other for other in places if other.replica.replica_id not in leaving]
            if not force and not any(_stands_in(other, place) for other in staying):
                raise _replica_last(place)
            await self._replicas.drain(place)
        elif place is None and not again:
            raise replica_unknown(replica_id, [place.replica.replica_id for place in places])


def _is_draining(place: pb.ReplicaPlace) -> bool:
    return place.replica.state == replica_pb.REPLICA_STATE_DRAINING


def _stands_in(other: pb.ReplicaPlace, place: pb.ReplicaPlace) -> bool:
    """Tell whether `other` serves what `place` does, and goes on."""
    serves, wanted = other.replica, place.replica
    is_alike = (serves.kind, serves.game) == (wanted.kind, wanted.game)
    return is_alike and serves.replica_id != wanted.replica_id and not _is_draining(other)


def _replica_last(place: pb.ReplicaPlace) -> Refusal:
    text = f"no other process serves {place.service}: start one before, or force it"
    metadata = {"replica": place.replica.replica_id, "service": place.service}
    return Refusal(Kind.FORBIDDEN_NOW, "REPLICA_LAST", text, metadata=metadata)
