"""Admins: looking into a running platform, and mending what is stuck."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any, Self

import msgspec

from promontory.api.admin.v1 import acts_pb2
from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.replica.v1 import replica_service_pb2 as replica_pb
from promontory.client.connection import Connection, Remote, Token
from promontory.client.matches import MatchSummary, match_of
from promontory.client.outages import OnOutage
from promontory.client.retrying import Timing
from promontory.codec.times import time_of

ADMIN = pb.DESCRIPTOR.services_by_name["AdminService"]
RETRY_SECONDS = 30.0


class Act(msgspec.Struct, frozen=True):
    """What an admin did: `kind` is `match_cancellation` for one, `state` is `begun`, `done` or `refused`.

    `remark` says in words what may be amiss with what was done, as that nothing is known of a suspended player.
    """

    number: int
    admin_id: str
    kind: str
    target: str
    reason: str
    state: str
    begin_time: datetime
    end_time: datetime | None
    refusal: str
    note: str = ""
    until_time: datetime | None = None
    remark: str = ""


class Obligation(msgspec.Struct, frozen=True):
    """What the platform owes to a match; `parked` once it was tried too often."""

    name: str
    kind: str
    match_id: str
    due_time: datetime
    attempts: int
    parked: bool


class CommitSummary(msgspec.Struct, frozen=True):
    """A commit without what is in it; `seat` is None if the platform caused it."""

    version: int
    record_time: datetime
    seat: int | None
    command_id: str
    events: tuple[str, ...]


class Inspection(msgspec.Struct, frozen=True):
    """A match as the log and its service know it: `match` is None where `problem` keeps the service from telling."""

    log_state: str
    version: int
    head: str
    match: MatchSummary | None
    problem: str
    obligations: tuple[Obligation, ...]
    commits: tuple[CommitSummary, ...]


class OpenMatch(msgspec.Struct, frozen=True):
    """A match that is open, and what it is pinned to; `data_hash` in hex."""

    match_id: str
    game: str
    rules_version: str
    data_hash: str
    pool: str
    players: tuple[str, ...]


class Replica(msgspec.Struct, frozen=True):
    """A process that serves, and where; where a `problem` keeps it from telling, `replica_id` is empty.

    `service` is `matchmaking`, `scoring`, or `rules.` and the game; `state` is `serving` or `draining`.
    """

    replica_id: str
    service: str
    address: str
    host: str
    release: str
    start_time: datetime | None
    state: str
    open_streams: int
    problem: str


class AdminClient:
    """The admin service. Use as an async context manager.

    Acts are done once under one `request_id`, by default a random one, however often the connection breaks.
    """

    def __init__(self, endpoints: str | Mapping[str, str], *, token: Token, on_outage: OnOutage | None = None) -> None:
        """Connect nothing yet. Raises `EndpointError` if the endpoints are malformed."""
        self._connection = Connection(
            endpoints, token=token, retry_seconds=RETRY_SECONDS, timing=Timing(), on_outage=on_outage
        )
        self._remote = Remote(self._connection, ADMIN)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def inspect(self, match_id: str, *, commits: int = 10) -> Inspection:
        """Return how a match stands, with its last `commits`. Raises `NotFound`."""
        answer = await self._remote.call("InspectMatch", pb.InspectMatchRequest(match_id=match_id, commits=commits))
        return Inspection(
            log_state=pb.LogState.Name(answer.log_state).removeprefix("LOG_STATE_").lower(),
            version=answer.version,
            head=answer.head.hex(),
            match=match_of(answer.match) if answer.HasField("match") else None,
            problem=answer.problem,
            obligations=tuple(map(_obligation, answer.obligations)),
            commits=tuple(map(_commit, answer.commits)),
        )

    async def open_matches(
        self, *, game: str = "", rules_version: str = "", data_hash: str = ""
    ) -> AsyncGenerator[OpenMatch]:
        """Yield the open matches, of a game, of rules and with data if these are given, in no order."""
        request = pb.ListOpenMatchesRequest(game=game, rules_version=rules_version, data_hash=bytes.fromhex(data_hash))
        async with aclosing(self._remote.stream("ListOpenMatches", request)) as pages:
            async for page in pages:
                for match in page.matches:
                    yield _open_match(match)

    async def obligations(self, *, game: str = "", parked: bool = False) -> AsyncGenerator[Obligation]:
        """Yield what the platform owes to matches, of a game if it is given, and only what is `parked`."""
        request = pb.ListObligationsRequest(game=game, parked=parked)
        async with aclosing(self._remote.pages("ListObligations", request)) as pages:
            async for page in pages:
                for obligation in page.obligations:
                    yield _obligation(obligation)

    async def acts(self, *, admin: str = "", target: str = "") -> AsyncGenerator[Act]:
        """Yield what admins did, the newest first; of one admin, or on one target (a match, player ...), if given."""
        request = pb.ListActsRequest(admin_id=admin, target=target)
        async with aclosing(self._remote.pages("ListActs", request)) as pages:
            async for page in pages:
                for act in page.acts:
                    yield act_of(act)

    async def replicas(self) -> tuple[Replica, ...]:
        """Return the processes that serve rules, matchmaking and scoring, and what does not answer where one should."""
        answer = await self._remote.call("ListReplicas", pb.ListReplicasRequest())
        return tuple(map(_replica, answer.replicas))

    async def drain(self, replica: str, *, reason: str, force: bool = False, request_id: str = "") -> Act:
        """Have a process stop, as on SIGTERM; also the only one of its kind with `force`.

        Raises `NotFound` or `FailedPrecondition`.
        """
        request = pb.DrainReplicaRequest(
            replica_id=replica, force=force, reason=reason, request_id=request_id or _new_id()
        )
        return await self._act("DrainReplica", request)

    async def release(self, obligation: str, *, reason: str, request_id: str = "") -> Act:
        """Have a parked obligation tried anew. Raises `NotFound` or `FailedPrecondition`."""
        request = pb.ReleaseObligationRequest(name=obligation, reason=reason, request_id=request_id or _new_id())
        return await self._act("ReleaseObligation", request)

    async def drop(self, obligation: str, *, reason: str, request_id: str = "") -> Act:
        """Give a parked obligation up. Raises `NotFound` or `FailedPrecondition`."""
        request = pb.DropObligationRequest(name=obligation, reason=reason, request_id=request_id or _new_id())
        return await self._act("DropObligation", request)

    async def cancel(self, match_id: str, *, reason: str, note: str = "", request_id: str = "") -> Act:
        """Cancel an open match, and tell its players `note`. Raises `NotFound` or `FailedPrecondition`."""
        request = pb.CancelMatchRequest(match_id=match_id, note=note, reason=reason, request_id=request_id or _new_id())
        return await self._act("CancelMatch", request)

    async def suspend(self, player: str, until: datetime, *, reason: str, request_id: str = "") -> Act:
        """Keep a player out until a time, which has a time zone."""
        request = pb.SuspendPlayerRequest(player_id=player, reason=reason, request_id=request_id or _new_id())
        request.until_time.FromDatetime(until)
        return await self._act("SuspendPlayer", request)

    async def restore(self, player: str, *, reason: str, request_id: str = "") -> Act:
        """Let a suspended player in again."""
        request = pb.RestorePlayerRequest(player_id=player, reason=reason, request_id=request_id or _new_id())
        return await self._act("RestorePlayer", request)

    async def _act(self, method: str, request: Any) -> Act:
        return act_of((await self._remote.call(method, request)).act)


def _new_id() -> str:
    return secrets.token_hex(16)


def act_of(message: acts_pb2.Act) -> Act:
    """Return the struct of an act."""
    kind = str(message.deed.WhichOneof("kind"))
    deed: Any = getattr(message.deed, kind)
    fields = deed.DESCRIPTOR.fields_by_name
    return Act(
        number=message.number,
        admin_id=message.admin_id,
        kind=kind,
        target=getattr(deed, deed.DESCRIPTOR.fields[0].name),
        reason=message.reason,
        state=acts_pb2.ActState.Name(message.state).removeprefix("ACT_STATE_").lower(),
        begin_time=time_of(message.begin_time),
        end_time=time_of(message.end_time) if message.HasField("end_time") else None,
        refusal=message.refusal,
        note=deed.note if "note" in fields else "",
        until_time=time_of(deed.until_time) if "until_time" in fields else None,
        remark=message.remark,
    )


def _obligation(message: pb.Obligation) -> Obligation:
    return Obligation(
        name=message.name,
        kind=message.kind,
        match_id=message.match_id,
        due_time=time_of(message.due_time),
        attempts=message.attempts,
        parked=message.parked,
    )


def _replica(message: pb.ReplicaPlace) -> Replica:
    told = message.replica
    state = replica_pb.ReplicaState.Name(told.state).removeprefix("REPLICA_STATE_").lower()
    return Replica(
        replica_id=told.replica_id,
        service=message.service,
        address=message.address,
        host=told.host,
        release=told.release,
        start_time=time_of(told.start_time) if message.HasField("replica") else None,
        state=state if message.HasField("replica") else "",
        open_streams=told.open_streams,
        problem=message.problem,
    )


def _commit(message: pb.CommitSummary) -> CommitSummary:
    return CommitSummary(
        version=message.version,
        record_time=time_of(message.record_time),
        seat=message.seat if message.HasField("seat") else None,
        command_id=message.command_id,
        events=tuple(message.events),
    )


def _open_match(message: pb.OpenMatch) -> OpenMatch:
    return OpenMatch(
        match_id=message.match_id,
        game=message.game,
        rules_version=message.rules_version,
        data_hash=message.data_hash.hex(),
        pool=message.pool,
        players=tuple(message.player_ids),
    )
