"""The admin process: builds its objects and serves them, on a listener that players do not reach."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

import msgspec

from promontory.admin.draining import Draining
from promontory.admin.inspection import Inspection
from promontory.admin.obligations import Obligations
from promontory.admin.peer_services import PlayersService, ReplicaServices, RulesServices
from promontory.admin.ports import Players, Replicas, Rules
from promontory.admin.record import Record
from promontory.admin.servicer import AdminServicer
from promontory.admin.usecases import Acts
from promontory.api.admin.v1 import admin_service_pb2 as pb
from promontory.archive.opening import with_archive
from promontory.eventlog.owing import Owings
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_owing import RedisOwings
from promontory.eventlog.redis_streams import RedisEventLog, open_log
from promontory.runtime import clock
from promontory.runtime.forms import SUBJECT
from promontory.runtime.identity import ADMIN_AUDIENCE, Accepted, Scope, ServiceIdentity, load_key
from promontory.runtime.peers import Peer
from promontory.runtime.players import Players as Bearers
from promontory.runtime.redis_players import RedisDirectory
from promontory.runtime.server import Service, serve
from promontory.runtime.settings import AdminSettings, targets

SCOPES = frozenset({Scope.CANCEL_MATCH, Scope.SUSPEND_PLAYER, Scope.DRAIN_REPLICA})


async def main(settings: AdminSettings) -> None:
    """Serve admins until SIGTERM.

    Raises `UnsafeServer` or `LibraryMissing` if the server at `redis_url` must not or cannot hold the logs, and
    `SettingsError` if an address is malformed.
    """
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(
            open_log(settings.redis_url, clock=clock.now_ms, require_aof=settings.require_aof)
        )
        await log.agree_on_buckets(settings.buckets)
        identity = ServiceIdentity(load_key(settings.service_key_file), "admin", SCOPES)
        addresses = targets(settings.rules_targets)
        rules = {game: Peer(target, identity) for game, target in addresses.items()}
        matchmaking = Peer(settings.matchmaking_target, identity)
        for peer in (*rules.values(), matchmaking):
            stack.push_async_callback(peer.aclose)
        archived = await with_archive(log, settings.archive_url)
        peers = Peers(
            rules=RulesServices(rules),
            players=PlayersService(matchmaking),
            replicas=ReplicaServices(_names(addresses, settings), identity),
        )
        await serve(service(servicer(archived, RedisOwings(log), peers, settings=settings), log, settings), settings)


class Peers(msgspec.Struct, frozen=True):
    """The platform's other services, as admins need them."""

    rules: Rules
    players: Players
    replicas: Replicas


def _names(rules: Mapping[str, str], settings: AdminSettings) -> dict[str, str]:
    """Return where the processes of each service are to be found."""
    named = {f"rules.{game}": target for game, target in rules.items()}
    return {**named, "matchmaking": settings.matchmaking_target, "scoring": settings.scoring_target}


def service(admin: AdminServicer, log: RedisEventLog, settings: AdminSettings) -> Service:
    """Return the service of admins, whom their tokens name as the identity provider calls them."""
    token_seconds = settings.max_token_age_seconds
    directory = RedisDirectory(log.caller, token_seconds=token_seconds)
    return Service(
        servicers=[(pb.DESCRIPTOR.services_by_name["AdminService"], admin)],
        players=Bearers(directory, opaque=False, token_seconds=token_seconds),
        accepted=accepted(settings),
    )


def accepted(settings: AdminSettings) -> Accepted:
    """Return which tokens are taken: those for admins, by whom players' are issued too."""
    return Accepted(
        SUBJECT,
        max_age_seconds=settings.max_token_age_seconds,
        issuer=settings.token_issuer,
        audience=ADMIN_AUDIENCE,
        service_audience=ADMIN_AUDIENCE,
    )


def servicer(log: EventLog, owings: Owings, peers: Peers, *, settings: AdminSettings) -> AdminServicer:
    """Return the servicer of admins on `log`."""
    obligations = Obligations(owings, buckets=settings.buckets, max_attempts=settings.max_attempts)
    draining = Draining(peers.replicas)
    acts = Acts(Record(log), rules=peers.rules, players=peers.players, obligations=obligations, draining=draining)
    return AdminServicer(acts, Inspection(log, peers.rules, obligations), obligations, draining)
