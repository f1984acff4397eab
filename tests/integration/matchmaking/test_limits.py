"""What a player may have open at a time, over a real channel: who has as much is told which limit, and how to go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.players.v1.players_service_pb2 import ExportPlayerRequest
from promontory.matchmaking.domain import Window
from promontory.runtime.settings import MatchmakingSettings
from tests.support.matchmaking import POOL, pool
from tests.support.matchmaking_processes import Peers, Replica, matchmaking_served
from tests.support.observing import details_of
from tests.support.serving import Keys
from tests.support.waiting import eventually

LONELY = Window(points=0, points_per_second=0, most_points=0)
POOLS = [pool(), *(pool(id=name, seats=5, window=LONELY) for name in ("first", "second", "third"))]


class Player:
    """A player, and what they ask a replica for."""

    def __init__(self, replica: Replica, keys: Keys, name: str) -> None:
        self._replica, self._metadata = replica, keys.as_player(name)

    async def enter(self, pool: str) -> pb.Ticket:
        """Enter a queue."""
        request = pb.CreateTicketRequest(request_id=pool, pool=pool)
        return (await self._replica.tickets.CreateTicket(request, metadata=self._metadata)).ticket

    async def look(self, ticket: pb.Ticket) -> pb.Ticket:
        """Return a ticket as it now is."""
        request = pb.GetTicketRequest(ticket_id=ticket.ticket_id)
        return (await self._replica.tickets.GetTicket(request, metadata=self._metadata)).ticket

    async def open_table(self, request_id: str) -> lobby_pb.Table:
        """Open a table."""
        request = lobby_pb.CreateTableRequest(request_id=request_id, game="transcontinental", seats=2)
        return (await self._replica.tables.CreateTable(request, metadata=self._metadata)).table

    async def export(self) -> None:
        """Read all that is held about the player."""
        async for _ in self._replica.players.ExportPlayer(ExportPlayerRequest(), metadata=self._metadata):
            pass


@pytest.fixture
async def replica(settings: MatchmakingSettings, peers: Peers, keys: Keys) -> AsyncIterator[Replica]:
    small = replace(settings, max_open_tickets=2, max_open_tables=1, max_open_matches=1, max_creations_per_minute=4)
    async with matchmaking_served(small, POOLS, peers, keys) as served:
        yield served


async def refusal(call: Any) -> tuple[str, int, float | None]:
    """Return the limit that `call` is refused for, how much it is, and how many seconds to wait."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    details = details_of(raised.value)
    assert (raised.value.code(), details["ErrorInfo"].reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    metadata, retry = details["ErrorInfo"].metadata, details.get("RetryInfo")
    return metadata["limitName"], int(metadata["limit"]), retry and retry.retry_delay.ToMilliseconds() / 1000


async def test_more_tickets_than_a_player_may_have_are_refused(replica: Replica, keys: Keys) -> None:
    """[MAX_OPEN_TICKETS] Until one is over; everybody has their own."""
    ann = Player(replica, keys, "ann")
    await ann.enter("first")
    await ann.enter("second")
    assert await refusal(ann.enter("third")) == ("max_open_tickets", 2, 5)
    await Player(replica, keys, "bob").enter("third")


async def test_more_tables_than_a_player_may_sit_at_are_refused(replica: Replica, keys: Keys) -> None:
    """[MAX_OPEN_TABLES] Waiting does not help: leave one."""
    ann = Player(replica, keys, "ann")
    table = await ann.open_table("one")
    assert await refusal(ann.open_table("two")) == ("max_open_tables", 1, None)
    assert await ann.open_table("one") == table


async def test_with_as_many_open_matches_as_allowed_a_player_gets_no_other(replica: Replica, keys: Keys) -> None:
    """[MAX_OPEN_MATCHES] Neither by a ticket nor at a table; what was granted before is granted still."""
    ann, bob = Player(replica, keys, "ann"), Player(replica, keys, "bob")
    ticket = await ann.enter(POOL)
    await bob.enter(POOL)

    async def assigned() -> bool:
        return (await ann.look(ticket)).state == pb.TICKET_STATE_ASSIGNED

    await eventually(assigned)
    assert await refusal(ann.enter("first")) == ("max_open_matches", 1, 5)
    assert await refusal(ann.open_table("one")) == ("max_open_matches", 1, 5)
    assert (await ann.enter(POOL)).ticket_id == ticket.ticket_id


async def test_exports_count_like_what_leaves_something_behind(replica: Replica, keys: Keys) -> None:
    """[MAX_CREATIONS_PER_MINUTE] Each asks scoring for every rating with its history."""
    ann = Player(replica, keys, "ann")
    for _ in range(4):
        await ann.export()
    limit, most, _ = await refusal(ann.export())
    assert (limit, most) == ("max_creations_per_minute", 4)
