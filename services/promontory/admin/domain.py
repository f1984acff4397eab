"""Acts of admins: who did what to what, why, and what came of it; read from the record of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from google.protobuf.message import DecodeError

from promontory.api.admin.v1 import acts_pb2 as pb
from promontory.codec.stored import canonical
from promontory.eventlog.port import Commit, LogCorrupt, StoredEvent

STREAM = "ad-000-acts"
"""The stream of the record: one for the whole platform."""
BEGUN = pb.ActBegun.DESCRIPTOR.full_name
ENDED = pb.ActEnded.DESCRIPTOR.full_name


class Why(msgspec.Struct, frozen=True):
    """Why an admin does something, and the name of the intent."""

    reason: str
    request_id: str


def target_of(deed: pb.Deed) -> str:
    """Return the match, the player, the obligation or the process that a deed is done to."""
    kind = getattr(deed, str(deed.WhichOneof("kind")))
    return str(getattr(kind, kind.DESCRIPTOR.fields[0].name))


def command_id_of(begun: pb.ActBegun) -> str:
    """Return the command id that has an intent of an admin recorded once."""
    return f"begin:{begun.admin_id} {begun.request_id}"


def content_of(begun: pb.ActBegun) -> bytes:
    """Return what must be the same when an intent is repeated: what is to be done, and why."""
    return canonical(pb.ActBegun(deed=begun.deed, reason=begun.reason))


def stored(event: pb.ActBegun | pb.ActEnded) -> StoredEvent:
    """Return an event of the record as it is stored."""
    return StoredEvent(event.DESCRIPTOR.full_name, canonical(event))


def applied(acts: dict[int, pb.Act], commit: Commit) -> None:
    """Add what `commit` of the record says to `acts`, by number. Raises `LogCorrupt` if that is no act."""
    try:
        (event,) = commit.events
        _APPLIED[event.type](acts, commit.version, event.payload)
    except (DecodeError, LookupError, ValueError) as error:
        raise LogCorrupt(STREAM, commit.version, f"no act: {error}") from error


def _begin(acts: dict[int, pb.Act], number: int, payload: bytes) -> None:
    event = pb.ActBegun.FromString(payload)
    acts[number] = pb.Act(
        number=number,
        admin_id=event.admin_id,
        deed=event.deed,
        reason=event.reason,
        request_id=event.request_id,
        begin_time=event.begin_time,
        state=pb.ACT_STATE_BEGUN,
    )


def _end(acts: dict[int, pb.Act], _: int, payload: bytes) -> None:
    event = pb.ActEnded.FromString(payload)
    act = acts[event.number]
    act.state, act.refusal_code = event.state, event.refusal_code
    act.refusal, act.refusal_message, act.remark = event.refusal, event.refusal_message, event.remark
    act.end_time.CopyFrom(event.end_time)


_APPLIED = {BEGUN: _begin, ENDED: _end}


def drained_before(number: int, acts: Iterable[pb.Act]) -> frozenset[str]:
    """Return the processes that were drained by those of `acts` before the act `number`, or may be just now.

    By this, two admins who drain the last two of a kind at once do so one after the other.
    """
    earlier = [act for act in acts if act.number < number and act.state != pb.ACT_STATE_REFUSED]
    return frozenset(act.deed.replica_drain.replica_id for act in earlier if act.deed.HasField("replica_drain"))


def chosen(acts: Iterable[pb.Act], *, admin_id: str, target: str) -> Sequence[pb.Act]:
    """Return those of `acts` of an admin and on a target, where these are given."""
    return [act for act in acts if admin_id in ("", act.admin_id) and (not target or target == target_of(act.deed))]
