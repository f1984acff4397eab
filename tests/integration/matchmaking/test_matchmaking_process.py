"""The matchmaking process itself: how it dies, and when it refuses to start."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.eventlog.functions import LibraryMissing
from promontory.local.processes import ChildProcess
from promontory.matchmaking.main import main
from promontory.matchmaking.pools import PoolsError
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.settings import MatchmakingSettings
from tests.support.matchmaking import POOL, pool
from tests.support.matchmaking_processes import Peers, Replica, matchmaking_served, replica_at
from tests.support.serving import Keys

PLAYERS = ("ann", "bob")


@pytest.fixture
def process(settings: MatchmakingSettings, peers: Peers, keys: Keys, tmp_path: Path) -> Iterator[ChildProcess]:
    """A matchmaking process that is not yet ready."""
    environ = {
        "PROMONTORY_REDIS_URL": settings.redis_url,
        "PROMONTORY_RULES_TARGETS": f"transcontinental={peers.rules_address}",
        "PROMONTORY_SCORING_TARGET": peers.scoring_address,
        "PROMONTORY_PLAYER_KEYS_FILE": str(keys.directory / "players.jwks.json"),
        "PROMONTORY_SERVICE_KEYS_FILE": str(keys.directory / "services.jwks.json"),
        "PROMONTORY_SERVICE_KEY_FILE": str(keys.service_key_file),
        "PROMONTORY_PROPOSAL_LEASE_SECONDS": "0.2",
    }
    child = ChildProcess("matchmaking", ["serve", "matchmaking"], directory=tmp_path, environ=environ)
    yield child
    child.kill()


async def ticket_of(replica: Replica, keys: Keys, player: str) -> pb.Ticket:
    """Enter `player`; again, and the ticket is found again."""
    request = pb.CreateTicketRequest(request_id="one", pool=POOL)
    return (await replica.tickets.CreateTicket(request, metadata=keys.as_player(player))).ticket


async def match_of(replica: Replica, keys: Keys, player: str) -> str:
    """Return the match that `player`'s ticket gets."""
    request = pb.WatchTicketRequest(ticket_id=(await ticket_of(replica, keys, player)).ticket_id)
    watch = replica.tickets.WatchTicket(request, metadata=keys.as_player(player), timeout=20)
    return [response.ticket.assignment.match_id async for response in watch][-1]


@pytest.mark.parametrize("holds_answers", [False, True], ids=["before its creation", "after its creation"])
async def test_a_process_killed_between_claim_and_assignment_leaves_one_match(
    process: ChildProcess, settings: MatchmakingSettings, peers: Peers, keys: Keys, holds_answers: bool
) -> None:
    """No ticket in two matches, none lost, when the process is killed while its match is being created."""
    peers.rules.holds_answers = holds_answers
    peers.rules.open.clear()
    address = (await asyncio.to_thread(process.ready)).grpc
    async with grpc.aio.insecure_channel(address) as channel:
        [await ticket_of(replica_at(channel), keys, player) for player in PLAYERS]
        await peers.rules.arrived.wait()
        process.kill()
        process.wait()
    peers.rules.open.set()
    async with matchmaking_served(settings, [pool()], peers, keys) as survivor:
        matches = {await match_of(survivor, keys, player) for player in PLAYERS}
    assert matches == {f"tc-000-{request_id}" for request_id in peers.rules.matches}
    assert len(peers.rules.matches) == len(set(peers.rules.calls)) == 1


async def test_a_stopped_process_ends_at_once_and_in_peace(process: ChildProcess, keys: Keys) -> None:
    address = (await asyncio.to_thread(process.ready)).grpc
    async with grpc.aio.insecure_channel(address) as channel:
        ticket = await ticket_of(replica_at(channel), keys, "ann")
        watch = replica_at(channel).tickets.WatchTicket(
            pb.WatchTicketRequest(ticket_id=ticket.ticket_id), metadata=keys.as_player("ann")
        )
        await anext(aiter(watch))
        process.terminate()
        assert await asyncio.to_thread(process.wait) == 0
        assert await watch.code() is grpc.StatusCode.UNAVAILABLE


async def test_without_an_address_of_a_pools_game_it_does_not_start(settings: MatchmakingSettings) -> None:
    with pytest.raises(PoolsError, match="PROMONTORY_RULES_TARGETS"):
        await main(settings)


async def test_on_a_server_without_its_functions_it_does_not_start(
    settings: MatchmakingSettings, tmp_path: Path
) -> None:
    targets = "transcontinental=127.0.0.1:1"
    with EmbeddedServer(tmp_path) as server, pytest.raises(LibraryMissing, match="load-functions"):
        await main(replace(settings, redis_url=server.url, rules_targets=targets))
