"""Builds the matchmaking process and serves it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.eventlog.redis_server import check_policy, connect
from promontory.games import registry
from promontory.matchmaking.changes import Changes
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.lobby import Lobby
from promontory.matchmaking.matcher import Matcher, Pace
from promontory.matchmaking.pools import Pools, served_pools
from promontory.matchmaking.ratings import HouseRatings, RatingsClient
from promontory.matchmaking.redis_tables import RedisTables
from promontory.matchmaking.redis_tickets import RedisTickets, Server
from promontory.matchmaking.rules_client import RulesClient
from promontory.matchmaking.servicer import LobbyServicer, MatchmakingServicer
from promontory.matchmaking.usecases import Queues
from promontory.runtime.allowance import Allowance, creations
from promontory.runtime.identity import Scope, ServiceIdentity, load_key
from promontory.runtime.peers import Peer
from promontory.runtime.server import Service, serve
from promontory.runtime.settings import MatchmakingSettings, targets

SCOPES = frozenset({Scope.CREATE_MATCH})


async def main(settings: MatchmakingSettings) -> None:
    """Serve matchmaking and the lobby until told to stop.

    Raises `PoolsError`, `UnsafeServer` or `LibraryMissing` if it cannot start.
    """
    addresses = targets(settings.rules_targets)
    pools = served_pools(settings.pools_file, frozenset(addresses))
    async with connect(settings.redis_url) as connections, AsyncExitStack() as stack:
        await check_policy(connections.commands, require_aof=settings.require_aof)
        server = Server(connections.commands, blocking=connections.blocking)
        await server.start()
        identity = ServiceIdentity(load_key(settings.service_key_file), "matchmaking", SCOPES)
        rules = {game: Peer(target, identity) for game, target in addresses.items()}
        scoring = Peer(settings.scoring_target, identity)
        for peer in (*rules.values(), scoring):
            stack.push_async_callback(peer.aclose)
        await serve(build(settings, pools, server, rules=rules, scoring=scoring), settings)


def build(
    settings: MatchmakingSettings, pools: Pools, server: Server, *, rules: Mapping[str, Peer], scoring: Peer
) -> Service:
    """Return the service with everything it is made of."""
    retention_seconds, lease_seconds = settings.ticket_retention_seconds, settings.proposal_lease_seconds
    tickets = RedisTickets(server, retention_seconds=retention_seconds)
    tables = RedisTables(server, retention_seconds=retention_seconds)
    ratings = RatingsClient(scoring)
    creation = Creation(RulesClient(rules), tickets=tickets, tables=tables)
    bots = HouseRatings(pools, ratings)
    pace = Pace(interval_seconds=settings.matching_interval_seconds, lease_seconds=lease_seconds)
    matcher = Matcher(pools, tickets, creation=creation, bots=bots, pace=pace)
    changes = Changes(tickets, pools, on_change=matcher.ring)
    queues = Queues(pools, tickets, ratings=ratings, changes=changes, most_open=settings.max_open_tickets)
    games = {name: registry.game(name) for name in rules}
    lobby = Lobby(tables, creation, games=games, lease_seconds=lease_seconds)
    allowance = Allowance(creations(settings.max_creations_per_minute))
    return Service(
        servicers=[
            (pb.DESCRIPTOR.services_by_name["MatchmakingService"], MatchmakingServicer(queues, allowance)),
            (lobby_pb.DESCRIPTOR.services_by_name["LobbyService"], LobbyServicer(lobby, allowance)),
        ],
        beside=[changes.run(), matcher.run(), matcher.run_recovery(), bots.run()],
        drain=[changes.close, matcher.drain],
    )
