"""The admin service over gRPC: decode, call one use case, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from promontory.admin.domain import Why
from promontory.admin.draining import Draining
from promontory.admin.inspection import Filter, Inspection, note_of
from promontory.admin.obligations import Obligations, Wanted, kind_of, match_of
from promontory.admin.usecases import Acts, require_admin
from promontory.api.admin.v1 import acts_pb2 as acts_pb
from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.api.match.v1 import events_pb2
from promontory.codec.times import timestamp
from promontory.eventlog.owing import Owing
from promontory.eventlog.port import Commit, StreamStatus
from promontory.runtime.errors import malformed
from promontory.runtime.identity import caller
from promontory.runtime.rpc import Context

MAX_COMMITS, DEFAULT_COMMITS = 100, 10
_STATES = {
    StreamStatus.OPEN: pb.LOG_STATE_OPEN,
    StreamStatus.CLOSED: pb.LOG_STATE_CLOSED,
    StreamStatus.ARCHIVED: pb.LOG_STATE_ARCHIVED,
}


class ActRequest(Protocol):
    """What every request for an act has: why, and the admin's own name for it."""

    reason: str
    request_id: str


class AdminServicer:
    """Serves `promontory.api.admin.v1.AdminService`."""

    def __init__(self, acts: Acts, inspection: Inspection, obligations: Obligations, draining: Draining) -> None:
        self._acts, self._inspection, self._obligations, self._draining = acts, inspection, obligations, draining

    async def InspectMatch(self, request: pb.InspectMatchRequest, context: Context) -> pb.InspectMatchResponse:
        """Return how a match stands."""
        require_admin(caller())
        if not 0 <= request.commits <= MAX_COMMITS:
            raise malformed("commits", f"must be 1 to {MAX_COMMITS}, or 0 for {DEFAULT_COMMITS}")
        found = await self._inspection.match(request.match_id, commits=request.commits or DEFAULT_COMMITS)
        return pb.InspectMatchResponse(
            log_state=_STATES[found.head.status],
            version=found.head.position.version,
            head=found.head.position.head,
            match=found.match,
            problem=found.problem,
            obligations=self._owed(found.owings),
            commits=map(_summary, found.commits),
        )

    async def ListOpenMatches(
        self, request: pb.ListOpenMatchesRequest, context: Context
    ) -> AsyncIterator[pb.ListOpenMatchesResponse]:
        """Stream the open matches."""
        require_admin(caller())
        wanted = Filter(request.game, request.rules_version, request.data_hash)
        async for page in self._inspection.open_matches(wanted):
            if page:
                yield pb.ListOpenMatchesResponse(matches=[_opened(*each) for each in page])

    async def ListObligations(self, request: pb.ListObligationsRequest, context: Context) -> pb.ListObligationsResponse:
        """Return a page of obligations."""
        require_admin(caller())
        wanted = Wanted(request.game, request.parked, request.page_size, request.page_token)
        owings, token = await self._obligations.page(wanted)
        return pb.ListObligationsResponse(obligations=self._owed(owings), next_page_token=token)

    async def ReleaseObligation(
        self, request: pb.ReleaseObligationRequest, context: Context
    ) -> pb.ReleaseObligationResponse:
        """Have a parked obligation tried anew."""
        deed = acts_pb.Deed(obligation_release=acts_pb.ObligationRelease(name=request.name))
        return pb.ReleaseObligationResponse(act=await self._do(deed, request))

    async def DropObligation(self, request: pb.DropObligationRequest, context: Context) -> pb.DropObligationResponse:
        """Give a parked obligation up."""
        deed = acts_pb.Deed(obligation_drop=acts_pb.ObligationDrop(name=request.name))
        return pb.DropObligationResponse(act=await self._do(deed, request))

    async def CancelMatch(self, request: pb.CancelMatchRequest, context: Context) -> pb.CancelMatchResponse:
        """Cancel a match."""
        cancellation = acts_pb.MatchCancellation(match_id=request.match_id, note=request.note)
        return pb.CancelMatchResponse(act=await self._do(acts_pb.Deed(match_cancellation=cancellation), request))

    async def SuspendPlayer(self, request: pb.SuspendPlayerRequest, context: Context) -> pb.SuspendPlayerResponse:
        """Keep a player out for a while."""
        suspension = acts_pb.PlayerSuspension(player_id=request.player_id, until_time=request.until_time)
        return pb.SuspendPlayerResponse(act=await self._do(acts_pb.Deed(player_suspension=suspension), request))

    async def RestorePlayer(self, request: pb.RestorePlayerRequest, context: Context) -> pb.RestorePlayerResponse:
        """Let a suspended player in again."""
        deed = acts_pb.Deed(player_restoration=acts_pb.PlayerRestoration(player_id=request.player_id))
        return pb.RestorePlayerResponse(act=await self._do(deed, request))

    async def ListReplicas(self, request: pb.ListReplicasRequest, context: Context) -> pb.ListReplicasResponse:
        """Return the processes that serve."""
        require_admin(caller())
        return pb.ListReplicasResponse(replicas=await self._draining.listed())

    async def DrainReplica(self, request: pb.DrainReplicaRequest, context: Context) -> pb.DrainReplicaResponse:
        """Have a process stop, for whoever runs it to start it anew."""
        drain = acts_pb.ReplicaDrain(replica_id=request.replica_id, force=request.force)
        return pb.DrainReplicaResponse(act=await self._do(acts_pb.Deed(replica_drain=drain), request))

    async def ListActs(self, request: pb.ListActsRequest, context: Context) -> pb.ListActsResponse:
        """Return a page of acts."""
        acts, token = await self._acts.listed(
            caller(),
            admin_id=request.admin_id,
            target=request.target,
            size=request.page_size,
            token=request.page_token,
        )
        return pb.ListActsResponse(acts=acts, next_page_token=token)

    async def _do(self, deed: acts_pb.Deed, request: ActRequest) -> acts_pb.Act:
        return await self._acts.do(caller(), deed, Why(request.reason, request.request_id))

    def _owed(self, owings: Sequence[Owing]) -> list[pb.Obligation]:
        return [
            pb.Obligation(
                name=owing.name,
                kind=kind_of(owing.name),
                match_id=match_of(owing.name),
                due_time=timestamp(owing.due_ms),
                attempts=owing.attempts,
                parked=self._obligations.is_parked(owing),
            )
            for owing in owings
        ]


def _summary(commit: Commit) -> pb.CommitSummary:
    note = note_of(commit)
    return pb.CommitSummary(
        version=commit.version,
        record_time=timestamp(note.recorded_at_ms),
        seat=note.actor,
        command_id=commit.command_id,
        events=[event.type.rpartition(".")[2] for event in commit.events],
        head=commit.head,
    )


def _opened(match_id: str, created: events_pb2.MatchCreated) -> pb.OpenMatch:
    return pb.OpenMatch(
        match_id=match_id,
        game=created.game,
        rules_version=created.rules_version,
        data_hash=created.data_hash,
        pool=created.setup.pool,
        player_ids=[seat.player_id for seat in created.setup.seats],
    )
