"""Builds the matchmaking process and serves it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.players.v1 import players_service_pb2 as players_pb
from promontory.eventlog.port import EventLog
from promontory.eventlog.redis_server import check_policy, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games import registry
from promontory.matchmaking.changes import Changes
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.exporting import ExportPlayer, Sources
from promontory.matchmaking.farewells import CancelTickets, DropLists, DropRatings, LeaveTables, ResignMatches
from promontory.matchmaking.forgetting import ForgetPlayers
from promontory.matchmaking.lists import MatchLists
from promontory.matchmaking.lobby import Lobby
from promontory.matchmaking.matcher import Matcher, Pace
from promontory.matchmaking.players_servicer import PlayersCases, PlayersServicer
from promontory.matchmaking.pools import Pools, served_pools
from promontory.matchmaking.ratings import HouseRatings, RatingsClient
from promontory.matchmaking.redis_forgettings import RedisForgettings
from promontory.matchmaking.redis_lists import RedisLists
from promontory.matchmaking.redis_tables import RedisTables
from promontory.matchmaking.redis_tickets import RedisDoors, RedisTickets, Server
from promontory.matchmaking.rematch import Rematches
from promontory.matchmaking.room import Room
from promontory.matchmaking.rules_client import RulesClient
from promontory.matchmaking.scoring_client import ScoringClient
from promontory.matchmaking.seating import Seating, TableLimits
from promontory.matchmaking.servicer import LobbyCases, LobbyServicer, MatchmakingServicer
from promontory.matchmaking.suspending import SuspendPlayers
from promontory.matchmaking.usecases import Queues
from promontory.runtime import clock
from promontory.runtime.allowance import Allowance, creations
from promontory.runtime.identity import Scope, ServiceIdentity, load_key
from promontory.runtime.peers import Peer
from promontory.runtime.redis_players import RedisDirectory
from promontory.runtime.server import Service, serve
from promontory.runtime.settings import OPAQUE, MatchmakingSettings, targets

SCOPES = frozenset({Scope.CREATE_MATCH, Scope.FORGET_PLAYER})


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

    def __init__(
        self, settings: MatchmakingSettings, stores: Stores, *, rules: Mapping[str, Peer], scoring: Peer
    ) -> None:
        retention_seconds = settings.ticket_retention_seconds
        self.tickets = RedisTickets(stores.server, retention_seconds=retention_seconds)
        self.doors = RedisDoors(stores.server)
        self.tables = RedisTables(
            stores.server, retention_seconds=retention_seconds, lease_seconds=settings.proposal_lease_seconds
        )
        self.rules = RulesClient(rules)
        self.creation = Creation(self.rules, tickets=self.tickets, tables=self.tables)
        self.match_lists = RedisLists(stores.server)
        self.lists = MatchLists(self.match_lists, self.rules, stores.log)
        self.games = {name: registry.game(name) for name in rules}
        limits = TableLimits(
            most_open=settings.max_open_tables,
            life_seconds=settings.table_life_seconds,
            rematch_seconds=settings.rematch_life_seconds,
        )
        self.room = Room(
            self.match_lists, most_tickets=settings.max_open_tickets, most_matches=settings.max_open_matches
        )
        self.seating = Seating(self.tables, self.creation, limits, self.room)

        self.scoring = ScoringClient(scoring)
        token_seconds = settings.max_token_age_seconds
        self.directory = RedisDirectory(stores.server.caller, token_seconds=token_seconds)
        self.forgettings = RedisForgettings(stores.server, retention_seconds=token_seconds)
        self._opaque = settings.player_ids == OPAQUE

    def forgetting(self, pools: Pools) -> ForgetPlayers:
        """Return the use cases of forgetting players."""
        farewells = (
            CancelTickets(self.tickets),
            LeaveTables(self.tables, self.seating),
            ResignMatches(self.match_lists, self.rules),
            DropRatings(self.match_lists, self.scoring, pools=_rated(pools)),
            DropLists(self.match_lists),
        )
        return ForgetPlayers(
            self.directory, self.forgettings, farewells=farewells, opaque=self._opaque, house=_house(pools)
        )

    def suspending(self, pools: Pools) -> SuspendPlayers:
        """Return the use cases of suspending players."""
        farewells, lists = (CancelTickets(self.tickets), LeaveTables(self.tables, self.seating)), self.match_lists
        return SuspendPlayers(self.directory, self.doors, farewells=farewells, lists=lists, house=_house(pools))

    def export(self, pools: Pools) -> ExportPlayer:
        """Return the use case of exporting players."""
        sources = Sources(
            self.directory, self.tickets, self.tables, self.match_lists, self.forgettings, ratings=self.scoring
        )
        return ExportPlayer(sources, opaque=self._opaque, pools=_rated(pools))

    def lobby(self, changes: Changes) -> LobbyCases:
        """Return the use cases of the lobby."""
        tables = Lobby(self.tables, self.seating, changes=changes, games=self.games)
        return LobbyCases(tables, Rematches(self.rules, self.seating), self.lists)


def _house(pools: Pools) -> Collection[str]:
    return {bot.player for pool in pools.values() for bot in pool.house_bots}


def _rated(pools: Pools) -> Sequence[str]:
    return [pool.id for pool in pools.values() if pool.rated]


def build(
    settings: MatchmakingSettings, pools: Pools, stores: Stores, *, rules: Mapping[str, Peer], scoring: Peer
) -> Service:
    """Return the service with everything it is made of."""
    parts, ratings = _Parts(settings, stores, rules=rules, scoring=scoring), RatingsClient(scoring)
    bots = HouseRatings(pools, ratings)
    pace = Pace(interval_seconds=settings.matching_interval_seconds, lease_seconds=settings.proposal_lease_seconds)
    matcher = Matcher(pools, parts.tickets, creation=parts.creation, bots=bots, pace=pace)
    changes = Changes(parts.tickets, pools, on_change=matcher.ring)
    queues = Queues(pools, parts.tickets, ratings=ratings, changes=changes, room=parts.room)
    allowance = Allowance(creations(settings.max_creations_per_minute))
    forgetting = parts.forgetting(pools)
    players = PlayersServicer(PlayersCases(parts.export(pools), forgetting, parts.suspending(pools)), allowance)
    return Service(
        servicers=[
            (pb.DESCRIPTOR.services_by_name["MatchmakingService"], MatchmakingServicer(queues, allowance)),
            (lobby_pb.DESCRIPTOR.services_by_name["LobbyService"], LobbyServicer(parts.lobby(changes), allowance)),
            (players_pb.DESCRIPTOR.services_by_name["PlayersService"], players),
        ],
        beside=[
            *(changes.run(), matcher.run(), matcher.run_recovery()),
            *(bots.run(), parts.seating.run_expiry(), forgetting.run()),
        ],
        drain=[changes.close, matcher.drain],
        replica="matchmaking",
    )
