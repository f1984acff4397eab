"""Matchmaking and the lobby over real gRPC on a real server, with more than one replica."""

from __future__ import annotations

import asyncio
from collections import Counter

import grpc
import pytest

from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.players.v1 import players_service_pb2 as players_pb
from promontory.codec.times import timestamp
from promontory.matchmaking.domain import Window
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Scope
from promontory.runtime.settings import MatchmakingSettings
from tests.support.matchmaking import POOL, SERVICE, house_bots, pool
from tests.support.matchmaking_processes import Peers, Replica, matchmaking_served
from tests.support.serving import Keys, reason_of
from tests.support.waiting import eventually

POOLS = [
    pool(),
    pool(id="housed", house_bots=house_bots("house-1"), house_bots_after_seconds=0.0, rated=False),
    pool(id="narrow", window=Window(points=0, points_per_second=0, most_points=0)),
]


async def enter(replica: Replica, keys: Keys, player: str, *, pool: str = POOL, request_id: str = "one") -> pb.Ticket:
    request = pb.CreateTicketRequest(request_id=request_id, pool=pool, client_entropy=player.encode())
    response = await replica.tickets.CreateTicket(request, metadata=keys.as_player(player))
    return response.ticket


async def watch_to_the_end(replica: Replica, keys: Keys, ticket: pb.Ticket) -> pb.Ticket:
    request = pb.WatchTicketRequest(ticket_id=ticket.ticket_id)
    watch = replica.tickets.WatchTicket(request, metadata=keys.as_player(ticket.player_id), timeout=20)
    return [response.ticket async for response in watch][-1]


async def get(replica: Replica, keys: Keys, ticket: pb.Ticket) -> pb.Ticket:
    request = pb.GetTicketRequest(ticket_id=ticket.ticket_id)
    response = await replica.tickets.GetTicket(request, metadata=keys.as_player(ticket.player_id))
    return response.ticket


async def test_two_players_get_one_match_with_their_entropy(replica: Replica, peers: Peers, keys: Keys) -> None:
    """[fairness 2.3] A ticket's entropy goes into the match's setup."""
    tickets = [await enter(replica, keys, player) for player in ("ann", "bob")]
    ended = [await watch_to_the_end(replica, keys, ticket) for ticket in tickets]
    [(request_id, setup)] = peers.rules.matches.items()
    assert [ticket.state for ticket in ended] == [pb.TICKET_STATE_ASSIGNED] * 2
    assert [ticket.assignment for ticket in ended] == [
        pb.Assignment(service=SERVICE, match_id=f"tc-000-{request_id}", seat=seat) for seat in (0, 1)
    ]
    assert [seat.client_entropy for seat in setup.seats] == [b"ann", b"bob"]
    assert (setup.pool, setup.rated, setup.draw_start, setup.variant) == (POOL, True, True, "standard")


async def test_a_player_waiting_on_one_replica_meets_one_on_another(
    replica: Replica, other_replica: Replica, keys: Keys
) -> None:
    ann, bob = await enter(replica, keys, "ann"), await enter(other_replica, keys, "bob")
    ended = [await watch_to_the_end(replica, keys, ann), await watch_to_the_end(other_replica, keys, bob)]
    assert len({ticket.assignment.match_id for ticket in ended}) == 1


async def test_hundreds_of_tickets_on_two_replicas_each_get_one_match(
    replica: Replica, other_replica: Replica, peers: Peers, keys: Keys
) -> None:
    """No ticket in two matches, none lost."""
    players = [f"p{n}" for n in range(300)]
    entering = [enter((replica, other_replica)[n % 2], keys, player) for n, player in enumerate(players)]
    tickets = await asyncio.gather(*entering)
    ended = await asyncio.gather(*(watch_to_the_end(replica, keys, ticket) for ticket in tickets))
    assert Counter(peers.rules.players) == Counter(players)
    assert {f"tc-000-{request_id}" for request_id in peers.rules.matches} == {
        ticket.assignment.match_id for ticket in ended
    }


async def test_a_suspended_player_gets_no_ticket_of_a_replica_that_has_not_heard_of_it(
    replica: Replica, other_replica: Replica, keys: Keys
) -> None:
    """[PLAYER_SUSPENDED] Not from the moment on that the suspension is acknowledged, whatever replicas remember."""
    waiting = await enter(other_replica, keys, "ann", pool="narrow")
    until_time = timestamp(now_ms() + 60_000)
    request = players_pb.SuspendPlayerRequest(player_id="ann", until_time=until_time)
    await replica.players.SuspendPlayer(request, metadata=keys.as_service(Scope.SUSPEND_PLAYER))
    assert (await get(other_replica, keys, waiting)).state == pb.TICKET_STATE_CANCELLED
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await enter(other_replica, keys, "ann", request_id="two")
    assert reason_of(refused.value) == "PLAYER_SUSPENDED"


async def test_a_waiting_ticket_says_why(replica: Replica, peers: Peers, keys: Keys) -> None:
    alone = await enter(replica, keys, "ann", pool="narrow")
    assert alone.waiting.reason == pb.WAIT_REASON_POOL_EMPTY
    assert (alone.waiting.lowest_rating, alone.waiting.highest_rating) == (1500, 1500)
    assert not alone.waiting.HasField("house_bots_time")
    peers.scoring.points = 1700
    await enter(replica, keys, "bob", pool="narrow")
    waiting = (await get(replica, keys, alone)).waiting
    assert (waiting.reason, waiting.others_waiting) == (pb.WAIT_REASON_OUTSIDE_WINDOW, 1)


async def test_a_claimed_ticket_says_that_its_match_is_being_created(
    replica: Replica, peers: Peers, keys: Keys
) -> None:
    peers.rules.open.clear()
    ann = await enter(replica, keys, "ann")
    await enter(replica, keys, "bob")
    await peers.rules.arrived.wait()
    proposed = await get(replica, keys, ann)
    assert (proposed.state, proposed.waiting.reason) == (pb.TICKET_STATE_PROPOSED, pb.WAIT_REASON_CREATING_MATCH)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await replica.tickets.CancelTicket(
            pb.CancelTicketRequest(ticket_id=ann.ticket_id), metadata=keys.as_player("ann")
        )
    peers.rules.open.set()
    assert reason_of(refused.value) == "TICKET_NOT_WAITING"


async def test_a_house_bot_fills_the_seat(replica: Replica, peers: Peers, keys: Keys) -> None:
    ended = await watch_to_the_end(replica, keys, await enter(replica, keys, "ann", pool="housed"))
    [setup] = peers.rules.matches.values()
    assert ended.assignment.seat == 0
    assert (setup.seats[1].player_id, setup.seats[1].bot_policy) == ("house-1", "greedy")


async def test_two_house_bots_that_a_service_enters_meet(
    settings: MatchmakingSettings, peers: Peers, keys: Keys
) -> None:
    pools = [pool(house_bots=house_bots("house-1", "house-2"))]
    metadata = keys.as_service("pool:house")
    async with matchmaking_served(settings, pools, peers, keys) as replica:
        for bot in ("house-1", "house-2"):
            request = pb.CreateTicketRequest(request_id=bot, pool=POOL, house_bot=bot)
            await replica.tickets.CreateTicket(request, metadata=metadata)
        await peers.rules.arrived.wait()
        created = await eventually(lambda: _matches(peers))
    assert [seat.bot_policy for seat in created[0].seats] == ["greedy", "greedy"]


async def _matches(peers: Peers) -> list[object]:
    return list(peers.rules.matches.values())


async def test_a_cancelled_ticket_ends_its_watch(replica: Replica, keys: Keys) -> None:
    ann = await enter(replica, keys, "ann")
    watching = asyncio.ensure_future(watch_to_the_end(replica, keys, ann))
    request = pb.CancelTicketRequest(ticket_id=ann.ticket_id)
    await replica.tickets.CancelTicket(request, metadata=keys.as_player("ann"))
    assert (await watching).state == pb.TICKET_STATE_CANCELLED


async def test_a_rules_service_that_is_down_for_a_while_loses_nobody(
    replica: Replica, peers: Peers, keys: Keys
) -> None:
    peers.rules.fault = Refusal(Kind.UNAVAILABLE, "EVENT_LOG_UNAVAILABLE", "down")
    tickets = [await enter(replica, keys, player) for player in ("ann", "bob")]
    await eventually(lambda: _called(peers, 2))
    peers.rules.fault = None
    ended = [await watch_to_the_end(replica, keys, ticket) for ticket in tickets]
    assert len({ticket.assignment.match_id for ticket in ended}) == 1
    assert len(set(peers.rules.calls)) == 1


async def _called(peers: Peers, times: int) -> bool:
    return len(peers.rules.calls) >= times


async def test_a_match_that_another_rules_replica_may_create_keeps_its_proposal(
    replica: Replica, peers: Peers, keys: Keys
) -> None:
    """A replica in the middle of an update may not know the rules a match is pinned to."""
    peers.rules.fault = Refusal(Kind.FORBIDDEN_NOW, "RULES_VERSION_UNKNOWN", "not here")
    await enter(replica, keys, "ann")
    await enter(replica, keys, "bob")
    await eventually(lambda: _called(peers, 2))
    assert len(set(peers.rules.calls)) == 1


async def test_tickets_of_a_match_refused_for_good_wait_again_and_are_paired_again(
    replica: Replica, peers: Peers, keys: Keys
) -> None:
    peers.rules.fault = Refusal(Kind.MALFORMED, "BAD_REQUEST", "no")
    tickets = [await enter(replica, keys, player) for player in ("ann", "bob")]
    await eventually(lambda: _called(peers, 1))
    peers.rules.fault = None
    ended = [await watch_to_the_end(replica, keys, ticket) for ticket in tickets]
    assert len({ticket.assignment.match_id for ticket in ended}) == 1
    assert len(set(peers.rules.calls)) == 2


async def test_without_scoring_a_ranked_ticket_is_refused_as_unavailable(
    settings: MatchmakingSettings, peers: Peers, keys: Keys
) -> None:
    peers.scoring_address = "127.0.0.1:1"
    async with matchmaking_served(settings, POOLS, peers, keys) as replica:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await enter(replica, keys, "ann")
    assert (refused.value.code(), reason_of(refused.value)) == (grpc.StatusCode.UNAVAILABLE, "PEER_UNAVAILABLE")


async def test_pools_are_listed_with_who_waits(replica: Replica, keys: Keys) -> None:
    await enter(replica, keys, "ann", pool="narrow")
    response = await replica.tickets.ListPools(pb.ListPoolsRequest(), metadata=keys.as_player("ann"))
    assert [(found.pool, found.waiting) for found in response.pools] == [(POOL, 0), ("housed", 0), ("narrow", 1)]
    assert [found.HasField("house_bots_after") for found in response.pools] == [False, True, False]
