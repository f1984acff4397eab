"""The admin process: builds its objects and serves them, on a listener that players do not reach."""

from __future__ import annotations

from contextlib import AsyncExitStack

from promontory.admin.inspection import Inspection
from promontory.admin.obligations import Obligations
from promontory.admin.peer_services import PlayersService, RulesServices
from promontory.admin.ports import Players, Rules
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

SCOPES = frozenset({Scope.CANCEL_MATCH, Scope.SUSPEND_PLAYER})


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
        rules = {game: Peer(target, identity) for game, target in targets(settings.rules_targets).items()}
        matchmaking = Peer(settings.matchmaking_target, identity)
        for peer in (*rules.values(), matchmaking):
            stack.push_async_callback(peer.aclose)
        archived = await with_archive(log, settings.archive_url)
        peers = RulesServices(rules), PlayersService(matchmaking)
        await serve(service(servicer(archived, RedisOwings(log), *peers, settings=settings), log, settings), settings)


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
    """Return which tokens are taken: those for admins."""
    return Accepted(SUBJECT, max_age_seconds=settings.max_token_age_seconds, audience=ADMIN_AUDIENCE)


def servicer(
    log: EventLog, owings: Owings, rules: Rules, players: Players, *, settings: AdminSettings
) -> AdminServicer:
    """Return the servicer of admins on `log`."""
    obligations = Obligations(owings, buckets=settings.buckets, max_attempts=settings.max_attempts)
    acts = Acts(Record(log), rules=rules, players=players, obligations=obligations)
    return AdminServicer(acts, Inspection(log, rules, obligations), obligations)
