"""Records that this release cannot read, as after going back to it from a later one: they stop nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.players.v1 import players_service_pb2 as players_pb
from promontory.eventlog.redis_server import connect
from promontory.matchmaking.redis_tickets import DUE, ENDS, key
from promontory.runtime.settings import MatchmakingSettings
from tests.support.matchmaking import NOW_MS, POOL, pool
from tests.support.matchmaking_processes import Peers, Replica, matchmaking_served
from tests.support.serving import Keys
from tests.support.waiting import eventually

STRANGE = b'{"from": "a later release"}'


@pytest.fixture
async def replica(settings: MatchmakingSettings, peers: Peers, keys: Keys) -> AsyncIterator[Replica]:
    async with connect(settings.redis_url) as connections:
        await _write_strange(connections.commands)
    async with matchmaking_served(settings, [pool()], peers, keys) as served:
        yield served


async def _write_strange(redis: Redis) -> None:
    await redis.hset(key("w", POOL), "tk-strange", b"0|0|" + STRANGE)
    await redis.hset(key("x", "pr-strange"), "body", STRANGE)
    await redis.hset(key("b", "tb-strange"), mapping={"body": STRANGE, "revision": 1, "fingerprint": "f"})
    await redis.zadd(ENDS, {"tb-strange": 0, "tb-gone": 0})
    await redis.zadd(DUE, {"pr-strange": 0, "tb-strange": 0})
    await redis.set(key("forgotten", "eve"), STRANGE)
    await redis.zadd(key("forget", "due"), {"eve": 0, "gone": 0})
    await redis.zadd(key("g", "ann"), {"tb-strange": NOW_MS})
    await redis.zadd(key("m", "ann"), {"tc-000-strange": NOW_MS})
    await redis.hset(key("e", "ann"), "tc-000-strange", STRANGE)


async def test_others_are_paired_listed_expired_and_forgotten(replica: Replica, keys: Keys) -> None:
    ann, bob = keys.as_player("ann"), keys.as_player("bob")
    request = lobby_pb.CreateTableRequest(request_id="one", game="transcontinental", seats=2)
    table = (await replica.tables.CreateTable(request, metadata=ann)).table
    first = (await replica.tickets.CreateTicket(pb.CreateTicketRequest(request_id="a", pool=POOL), metadata=ann)).ticket
    await replica.tickets.CreateTicket(pb.CreateTicketRequest(request_id="b", pool=POOL), metadata=bob)

    async def is_assigned() -> bool:
        found = await replica.tickets.GetTicket(pb.GetTicketRequest(ticket_id=first.ticket_id), metadata=ann)
        return found.ticket.state == pb.TICKET_STATE_ASSIGNED

    await eventually(is_assigned)
    assert len((await replica.tables.ListMatches(lobby_pb.ListMatchesRequest(), metadata=ann)).matches) == 1
    tables = (await replica.tables.ListTables(lobby_pb.ListTablesRequest(), metadata=ann)).tables
    assert [each.table_id for each in tables] == [table.table_id]
    forgotten = await replica.players.ForgetPlayer(players_pb.ForgetPlayerRequest(player_id="ann"), metadata=ann)
    assert forgotten.forgetting.tables_left == 1
