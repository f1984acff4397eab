"""Builds the matchmaking process and serves it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_server import check_policy, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games import registry
from promontory.matchmaking.changes import Changes
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.lists import MatchLists
from promontory.matchmaking.lobby import Lobby
from promontory.matchmaking.matcher import Matcher, Pace
from promontory.matchmaking.pools import Pools, served_pools
from promontory.matchmaking.ratings import HouseRatings, RatingsClient
from promontory.matchmaking.redis_lists import RedisLists
from promontory.matchmaking.redis_tables import RedisTables
from promontory.matchmaking.redis_tickets import RedisTickets, Server
from promontory.matchmaking.rematch import Rematches
from promontory.matchmaking.rules_client import RulesClient
from promontory.matchmaking.seating import Seating, TableLimits
from promontory.matchmaking.servicer import LobbyCases, LobbyServicer, MatchmakingServicer
from promontory.matchmaking.usecases import Queues
from promontory.runtime import clock
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
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        await server.start()
        await log.start()
        identity = ServiceIdentity(load_key(settings.service_key_file), "matchmaking", SCOPES)
        rules = {game: Peer(target, identity) for game, target in addresses.items()}
        scoring = Peer(settings.scoring_target, identity)
        for peer in (*rules.values(), scoring):
            stack.push_async_callback(peer.aclose)
        await serve(build(settings, pools, Stores(server, log), rules=rules, scoring=scoring), settings)


class Stores(msgspec.Struct, frozen=True):
    """Where matchmaking keeps its own things, and the log whose obligations it meets."""

    server: Server
    log: EventLog


class _Parts:
    """What the services are made of, and share."""

    def __init__(self, settings: MatchmakingSettings, stores: Stores, rules: Mapping[str, Peer]) -> None:
        retention_seconds = settings.ticket_retention_seconds
        self.tickets = RedisTickets(stores.server, retention_seconds=retention_seconds)
        self.tables = RedisTables(
            stores.server, retention_seconds=retention_seconds, lease_seconds=settings.proposal_lease_seconds
        )
        self.rules = RulesClient(rules)
        self.creation = Creation(self.rules, tickets=self.tickets, tables=self.tables)
        self.lists = MatchLists(RedisLists(stores.server), self.rules, stores.log)
        self.games = {name: registry.game(name) for name in rules}
        limits = TableLimits(
            most_open=settings.max_open_tables,
            life_seconds=settings.table_life_seconds,
            rematch_seconds=settings.rematch_life_seconds,
        )
        self.seating = Seating(self.tables, self.creation, limits)

    def lobby(self, changes: Changes) -> LobbyCases:
        """Return the use cases of the lobby."""
        tables = Lobby(self.tables, self.seating, changes=changes, games=self.games)
        return LobbyCases(tables, Rematches(self.rules, self.seating), self.lists)


def build(
    settings: MatchmakingSettings, pools: Pools, stores: Stores, *, rules: Mapping[str, Peer], scoring: Peer
) -> Service:
    """Return the service with everything it is made of."""
    parts, ratings = _Parts(settings, stores, rules), RatingsClient(scoring)
    bots = HouseRatings(pools, ratings)
    pace = Pace(interval_seconds=settings.matching_interval_seconds, lease_seconds=settings.proposal_lease_seconds)
    matcher = Matcher(pools, parts.tickets, creation=parts.creation, bots=bots, pace=pace)
    changes = Changes(parts.tickets, pools, on_change=matcher.ring)
    queues = Queues(pools, parts.tickets, ratings=ratings, changes=changes, most_open=settings.max_open_tickets)
    allowance = Allowance(creations(settings.max_creations_per_minute))
    return Service(
        servicers=[
            (pb.DESCRIPTOR.services_by_name["MatchmakingService"], MatchmakingServicer(queues, allowance)),
            (lobby_pb.DESCRIPTOR.services_by_name["LobbyService"], LobbyServicer(parts.lobby(changes), allowance)),
        ],
        beside=[
            *(changes.run(), matcher.run(), matcher.run_recovery()),
            *(bots.run(), parts.seating.run_expiry()),
        ],
        drain=[changes.close, matcher.drain],
    )
