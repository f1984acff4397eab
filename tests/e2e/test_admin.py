"""Admins look into the platform and mend it, by the command, through every process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from promontory import AsyncClient, PermissionDenied, TableOptions, Unauthenticated
from promontory.admin.draining import Draining
from promontory.admin.main import SCOPES
from promontory.admin.peer_services import ReplicaServices
from promontory.api.admin.v1.admin_service_pb2 import ReplicaPlace
from promontory.client.admin import AdminClient
from promontory.client.places import DATA_DIRECTORY
from promontory.client.tickets import TicketState
from promontory.eventlog.obligations import tally_name
from promontory.eventlog.port import bucket_of
from promontory.local.log import operators_log
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from promontory.runtime.identity import ADMIN_AUDIENCE, ADMIN_SCOPES, AUDIENCE, PLAYER_SCOPES, ServiceIdentity, load_key
from tests.e2e.test_bot_command import promontory
from tests.support import havoc
from tests.support.players import client_of
from tests.support.waiting import eventually

GAME = "transcontinental"
POOL = "transcontinental.ranked"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, as `promontory up` runs them."""
    with Platform(tmp_path_factory.mktemp("admin") / DATA_DIRECTORY) as running:
        write_connection(running)
        yield running


async def told(platform: Platform, *words: str, code: int = 0) -> Any:
    """Return what `promontory admin` tells as JSON, or its complaint if it fails."""
    found, out, err = await promontory("admin", *words, "--json", "--data-dir", str(platform.directory))
    assert found == code, err
    return err if code else json.loads(out)


async def opened(ann: AsyncClient, bob: AsyncClient) -> str:
    """Return the id of an open match."""
    table = await ann.create_table(GAME, TableOptions())
    await bob.join_table(table.invite_code)
    return (await table.seat()).match_id


@pytest.mark.timeout(120)
async def test_a_match_is_found_looked_at_and_cancelled(platform: Platform) -> None:
    """[platform_anchors 3, 4] There is a way to end one stuck match from outside, and it is on record."""
    async with client_of(platform, "ann") as ann, client_of(platform, "bob") as bob:
        match_id = await opened(ann, bob)
        assert match_id in [each["match_id"] for each in await told(platform, "matches", "--rules", f"{GAME}/1")]
        found = await told(platform, "match", match_id)
        assert (found["log_state"], found["problem"], found["match"]["seats_to_act"]) == ("open", "", [0])
        await told(platform, "cancel", match_id, "--reason", "it hangs", "--note", "sorry", "--yes", "--as", "eve")
        match = (await ann.spectate(GAME, match_id).look()).match
        assert (match.is_over, str(match.outcome and match.outcome.reason)) == (True, "cancelled")
        assert "MATCH_OVER" in await told(platform, "cancel", match_id, "--reason", "again", "--yes", code=1)
    acts = await told(platform, "acts", "--on", match_id)
    assert [(act["admin_id"], act["state"], act["reason"]) for act in acts] == [
        ("operator", "refused", "again"),
        ("eve", "done", "it hangs"),
    ]


@pytest.mark.timeout(120)
async def test_a_suspended_player_is_out_until_restored(platform: Platform) -> None:
    """[PLAYER_SUSPENDED] In every service; the ticket goes, the open match stays."""
    async with client_of(platform, "cyd") as cyd, client_of(platform, "dan") as dan:
        match_id, ticket = await opened(cyd, dan), await cyd.enter(POOL)
        await told(platform, "suspend", "cyd", "--for", "1h", "--reason", "rude", "--yes")
        await eventually(lambda: _is_suspended(cyd.pools()))
        await eventually(lambda: _is_suspended(cyd.rating(POOL)))
        await eventually(lambda: _is_suspended(cyd.spectate(GAME, match_id).look()))
        assert not (await dan.spectate(GAME, match_id).look()).match.is_over
        await told(platform, "restore", "cyd", "--reason", "said sorry")
        await eventually(lambda: _is_served(cyd.pools()))
        assert (await ticket.look()).state is TicketState.CANCELLED


async def _is_suspended(call: Any) -> bool:
    try:
        await call
    except PermissionDenied as error:
        return error.reason == "PLAYER_SUSPENDED"
    return False


async def _is_served(call: Any) -> bool:
    return not await _is_suspended(call)


@pytest.mark.timeout(120)
async def test_what_no_worker_meets_is_found_and_dropped(platform: Platform) -> None:
    """[event_log 2.9] The tally of a match that does not exist, which no attempt can make."""
    name = tally_name("tc-000-nothing")
    async with operators_log(platform.redis_url) as log:
        await log.owe(bucket_of("tc-000-nothing"), name, delay_ms=0)
        for _ in range(6):
            await log.postpone(bucket_of("tc-000-nothing"), name, delay_ms=0)
            await log.claim(bucket_of("tc-000-nothing"), limit=10, lease_ms=1, max_attempts=5)
    await eventually(lambda: _is_parked(platform, name), seconds=30)
    await told(platform, "release", name, "--reason", "try again")
    assert name in [each["name"] for each in await told(platform, "obligations")]
    assert "OBLIGATION_NOT_PARKED" in await told(platform, "drop", name, "--reason", "too early", "--yes", code=1)
    async with operators_log(platform.redis_url) as log:
        await log.settle(bucket_of("tc-000-nothing"), name)


async def _is_parked(platform: Platform, name: str) -> bool:
    return name in [each["name"] for each in await told(platform, "obligations", "--parked")]


@pytest.mark.timeout(120)
async def test_a_stream_goes_on_at_another_process_when_its_own_is_drained(platform: Platform) -> None:
    """[event_log 2.14] By what stands behind one name; the drained process exits with 0, as on SIGTERM."""
    await havoc.add(platform, f"{GAME}-1")
    names = {platform.ready[name].grpc: name for name in (GAME, f"{GAME}-1")}
    behind = ReplicaServices({f"rules.{GAME}": "one-name"}, admin_of(platform), resolve=lambda _: _resolved(names))
    token = platform.keys.player_token("ann")
    async with client_of(platform, "ann") as ann, client_of(platform, "bob") as bob:
        match_id = await opened(ann, bob)
    async with AsyncClient({GAME: f"ipv4:{','.join(names)}"}, token=token) as ann:
        updates = ann.spectate(GAME, match_id).updates()
        assert not (await anext(updates)).match.is_over
        news, (used,) = asyncio.create_task(anext(updates)), await _streaming(behind)
        await Draining(behind).drain(used.replica.replica_id, force=False, again=False)
        assert await asyncio.to_thread(platform.processes[names[used.address]].wait) == 0
        (other,) = await eventually(lambda: _streaming(behind))
        assert other.address != used.address
        await ann.seat(GAME, match_id, 0).resign()
        assert (await news).match.is_over
        await updates.aclose()
    await asyncio.to_thread(platform.revive, names[used.address])


def admin_of(platform: Platform) -> ServiceIdentity:
    """Return what the admin process calls the others as."""
    return platform.keys.service("admin", SCOPES)


async def _resolved(addresses: Iterable[str]) -> Sequence[str]:
    return list(addresses)


async def _streaming(replicas: ReplicaServices) -> Sequence[ReplicaPlace]:
    """Return the processes that hold a stream."""
    return [place for place in await replicas.found() if place.replica.open_streams]


@pytest.mark.timeout(60)
async def test_the_only_process_of_a_kind_is_drained_by_force(platform: Platform) -> None:
    """[DrainReplica] By the command, through the admin process."""
    found = {each["service"]: each for each in await told(platform, "replicas")}
    assert {service for service, each in found.items() if each["state"] == "serving"} == {
        *("matchmaking", "scoring", "rules.pacific", "rules.railroad_dice_2", "rules.transcontinental"),
    }
    replica = found["scoring"]["replica_id"]
    assert "REPLICA_LAST" in await told(platform, "drain", replica, "--reason", "upgrade", code=1)
    await told(platform, "drain", replica, "--reason", "upgrade", "--force")
    assert await asyncio.to_thread(platform.processes["scoring"].wait) == 0
    await asyncio.to_thread(platform.revive, "scoring")
    assert "REPLICA_UNKNOWN" in await told(platform, "drain", replica, "--reason", "again", code=1)
    acts = await told(platform, "acts", "--on", replica)
    assert [(act["kind"], act["state"]) for act in acts] == [
        ("replica_drain", "refused"),
        ("replica_drain", "done"),
        ("replica_drain", "refused"),
    ]


@pytest.mark.timeout(60)
async def test_players_are_no_admins_and_admins_no_players(platform: Platform) -> None:
    """[event_log 5.1] Another listener, another audience: neither token is of use for the other."""
    key, hour = load_key(platform.keys.player_key_file), timedelta(hours=1)
    scopes = PLAYER_SCOPES | ADMIN_SCOPES
    player, admin = (key.mint("eve", scopes, life=hour, audience=each) for each in (AUDIENCE, ADMIN_AUDIENCE))
    async with AdminClient(platform.endpoints, token=player) as client:
        with pytest.raises(Unauthenticated):
            await client.inspect("tc-000-a")
    async with AsyncClient(platform.endpoints, token=admin) as client:
        with pytest.raises(Unauthenticated):
            await client.pools()
    service = platform.keys.service("relay", frozenset({"admin"}))
    async with AdminClient(platform.endpoints, token=service.token) as client:
        with pytest.raises(Unauthenticated):
            await client.inspect("tc-000-a")


async def test_what_cannot_be_undone_is_asked_for(platform: Platform, tmp_path: Path) -> None:
    """Without --yes and without an answer nothing happens."""
    code, _, err = await promontory(
        "admin", "cancel", "tc-000-a", "--reason", "x", "--data-dir", str(platform.directory)
    )
    assert (code, "for good" in err) == (1, True)
