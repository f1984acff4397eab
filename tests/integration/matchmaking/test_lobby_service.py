"""The lobby over real gRPC on a real server, with two replicas."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.api.match.v1 import match_pb2
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pools_pb
from promontory.codec.terms import ClockKind
from promontory.matchmaking.domain import PoolClock
from promontory.runtime.errors import Kind, Refusal
from tests.support.matchmaking import SERVICE, pool
from tests.support.matchmaking_processes import Peers, Replica
from tests.support.serving import Keys, Metadata, reason_of
from tests.support.waiting import eventually

POOLS = [pool(time_control=PoolClock(kind=ClockKind.PER_TURN, base_seconds=90), spectator_delay=3)]
CLOCK = match_pb2.TimeControl(
    kind=match_pb2.CLOCK_KIND_INCREMENT,
    base=Duration(seconds=60),
    increment=Duration(seconds=5),
    grace=Duration(seconds=1),
)
ENDED = match_pb2.Outcome(
    reason=match_pb2.CLOSE_REASON_RESIGNED,
    placements=[match_pb2.Placement(seat=0, place=2, score=4), match_pb2.Placement(seat=1, place=1, score=9)],
)


@pytest.fixture
def ann(keys: Keys) -> Metadata:
    return keys.as_player("ann")


@pytest.fixture
def bob(keys: Keys) -> Metadata:
    return keys.as_player("bob")


async def open_table(replica: Replica, player: Metadata) -> pb.Table:
    request = pb.CreateTableRequest(
        request_id="one",
        game="transcontinental",
        seats=2,
        readiness=pb.READINESS_ALWAYS_READY,
        time_control=CLOCK,
        spectator_delay=2,
    )
    return (await replica.tables.CreateTable(request, metadata=player)).table


async def join(replica: Replica, table: pb.Table, player: Metadata) -> pb.Table:
    request = pb.JoinTableRequest(invite_code=table.invite_code, readiness=pb.READINESS_READY)
    return (await replica.tables.JoinTable(request, metadata=player)).table


async def listed(replica: Replica, player: Metadata) -> Sequence[pb.MatchEntry]:
    return (await replica.tables.ListMatches(pb.ListMatchesRequest(), metadata=player)).matches


async def test_two_friends_meet_at_a_private_table_across_replicas(
    replica: Replica, other_replica: Replica, peers: Peers, ann: Metadata, bob: Metadata
) -> None:
    table = await open_table(replica, ann)
    joined = await join(other_replica, table, bob)
    found = (await replica.tables.GetTable(pb.GetTableRequest(table_id=table.table_id), metadata=bob)).table
    [(request_id, setup)], [entry] = peers.rules.matches.items(), await listed(replica, bob)
    assert found == joined
    assert (found.match_id, found.service) == (f"tc-000-{request_id}", SERVICE)
    assert (setup.time_control, setup.spectator_delay) == (CLOCK, 2)
    assert (entry.match_id, entry.seat, entry.pool, entry.state) == (
        found.match_id,
        1,
        "",
        match_pb2.MATCH_STATE_OPEN,
    )


async def test_a_watcher_on_one_replica_sees_who_comes_on_another(
    replica: Replica, other_replica: Replica, ann: Metadata, bob: Metadata
) -> None:
    table = await open_table(replica, ann)
    watch = aiter(replica.tables.WatchTable(pb.WatchTableRequest(table_id=table.table_id), metadata=ann, timeout=20))
    first = await anext(watch)
    await join(other_replica, table, bob)
    rest = [told async for told in watch]
    assert first.table == table
    assert [told.table.player_ids for told in rest if told.WhichOneof("kind") == "table"][-1] == ["ann", "bob"]
    assert (rest[-1].end.reason, rest[-1].end.resumable) == (pb.TABLE_STREAM_END_REASON_STARTED, False)


async def test_a_matcher_completes_a_starting_table_that_nobody_asks_for(
    replica: Replica, peers: Peers, ann: Metadata, bob: Metadata
) -> None:
    table = await open_table(replica, ann)
    peers.rules.fault = Refusal(Kind.UNAVAILABLE, "EVENT_LOG_UNAVAILABLE", "down")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await join(replica, table, bob)
    assert reason_of(refused.value) == "PEER_UNAVAILABLE"
    peers.rules.fault = None
    entries = await eventually(lambda: listed(replica, ann))
    assert [entry.match_id for entry in entries] == [f"tc-000-{request_id}" for request_id in peers.rules.matches]


async def play_out(replica: Replica, peers: Peers, ann: Metadata, bob: Metadata) -> str:
    """Play a match of Ann and Bob to its end, and return its id."""
    table = await join(replica, await open_table(replica, ann), bob)
    peers.rules.over[table.match_id.removeprefix("tc-000-")] = ENDED
    return table.match_id


async def test_a_closed_match_leaves_the_live_ones(replica: Replica, peers: Peers, keys: Keys) -> None:
    """[RecordClosedMatch] Its players find it among their closed ones."""
    ann, bob, live = keys.as_player("ann"), keys.as_player("bob"), pb.ListLiveMatchesRequest(game="transcontinental")
    match_id = await play_out(replica, peers, ann, bob)
    before = (await replica.tables.ListLiveMatches(live, metadata=bob)).matches
    recording = pb.RecordClosedMatchRequest(match_id=match_id)
    recorded = await replica.tables.RecordClosedMatch(recording, metadata=keys.as_service("match:list"))
    after = (await replica.tables.ListLiveMatches(live, metadata=bob)).matches
    history = pb.ListPlayerMatchesRequest(player_id="ann")
    [closed] = (await replica.tables.ListPlayerMatches(history, metadata=bob)).matches
    assert (recorded.recorded, [entry.match_id for entry in before], list(after)) == (True, [match_id], [])
    assert (closed.match_id, closed.outcome, closed.seat) == (match_id, ENDED, 0)


async def test_a_match_is_played_again_by_those_who_played_it(
    replica: Replica, other_replica: Replica, peers: Peers, ann: Metadata, bob: Metadata
) -> None:
    """[RequestRematch] On the terms of the first match, with the seats moved on."""
    match_id = await play_out(replica, peers, ann, bob)
    asking = pb.RequestRematchRequest(request_id="again", match_id=match_id)
    asked = (await replica.tables.RequestRematch(asking, metadata=ann)).table
    offered = (await other_replica.tables.ListTables(pb.ListTablesRequest(), metadata=bob)).tables
    started = (await other_replica.tables.RequestRematch(asking, metadata=bob)).table
    *_, setup = peers.rules.matches.values()
    assert [each.table_id for each in offered] == [asked.table_id]
    assert [place.player_id for place in asked.places] == ["bob", "ann"]
    assert (started.state, started.rematch_of) == (pb.TABLE_STATE_STARTED, match_id)
    assert ([seat.player_id for seat in setup.seats], setup.time_control) == (["bob", "ann"], CLOCK)


async def test_pools_show_the_terms_of_their_matches(replica: Replica, ann: Metadata) -> None:
    [found] = (await replica.tickets.ListPools(pools_pb.ListPoolsRequest(), metadata=ann)).pools
    assert (found.time_control.base.seconds, found.spectator_delay, found.HasField("abandon_after")) == (90, 3, False)
