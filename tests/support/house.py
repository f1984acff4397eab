"""A house to play one game in: real rules and scoring services, relays, and workers, on a server of their own."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import msgspec

from promontory.api.match.v1.match_pb2 import SEAT_KIND_HOUSE_BOT, Match, MatchSetup, SeatSetup
from promontory.api.scoring.v1 import scoring_service_pb2
from promontory.archive.opening import with_archive
from promontory.client.stubs import Stub
from promontory.client.tables import LOBBY
from promontory.codec.port import GameCodec
from promontory.codec.registry import codec
from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.port import Commit, game_buckets
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games import registry
from promontory.local.processes import ChildProcess
from promontory.matchmaking.lists import MatchLists
from promontory.matchmaking.memory import Memory
from promontory.matchmaking.memory_lobby import MemoryLists
from promontory.matchmaking.rules_client import RulesClient as MatchReader
from promontory.matchmaking.servicer import LobbyCases, LobbyServicer
from promontory.relay.deadlines import Deadlines
from promontory.relay.dispatcher import Dispatcher, OwnChores, Pace
from promontory.relay.domain import Task
from promontory.relay.fallbacks import Fallbacks
from promontory.relay.ports import Publisher
from promontory.relay.rules_client import RulesClient
from promontory.rules.main import compose
from promontory.rules.ruleset import load_ruleset
from promontory.rules.seal import create_seal_key
from promontory.runtime import clock
from promontory.runtime.broker import broker_url
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.peers import Peer
from promontory.runtime.settings import RulesSettings
from promontory.scoring.main import servicer
from tests.support.serving import Keys, create_keys, served
from tests.support.waiting import eventually

GAME = "transcontinental"
BUCKETS = 4
SCORING_SERVICE = scoring_service_pb2.DESCRIPTOR.services_by_name["ScoringService"]
QUICK = Pace(sweep_seconds=0.02, lease_seconds=0.5, max_attempts=1000)


class Place(msgspec.Struct, frozen=True):
    """What outlives a test: the server, the keys, and the addresses that the services are to have."""

    directory: Path
    server: EmbeddedServer
    keys: Keys
    rules_address: str
    scoring_address: str
    game: str

    @property
    def codec(self) -> GameCodec:
        """The game's codec."""
        return codec(self.game)

    @property
    def pool(self) -> str:
        """The pool that matches are played in."""
        return f"{self.game}.ranked"

    @property
    def buckets(self) -> list[str]:
        """The buckets that matches lie in."""
        return game_buckets(registry.entry(self.game).code, BUCKETS)

    @property
    def broker(self) -> str:
        """The broker's URL."""
        return broker_url("", self.server.url)

    def environ(self) -> dict[str, str]:
        """Return the settings of a worker or relay process in this house."""
        return {
            "PATH": "/usr/bin:/bin",
            "PROMONTORY_REDIS_URL": self.server.url,
            "PROMONTORY_BUCKETS": str(BUCKETS),
            "PROMONTORY_SERVICE_KEY_FILE": str(self.keys.service_key_file),
            "PROMONTORY_RULES_TARGETS": f"{self.game}={self.rules_address}",
            "PROMONTORY_SCORING_TARGET": self.scoring_address,
            "PROMONTORY_MATCHMAKING_TARGET": self.scoring_address,
        }

    def start(self, name: str, command: str, **settings: str) -> ChildProcess:
        """Start a `promontory` process; call it from the main thread, as the child dies with the thread."""
        return ChildProcess(name, [command], directory=self.directory, environ={**self.environ(), **settings})


def build(directory: Path, server: EmbeddedServer, *, game: str = GAME) -> Place:
    """Return a new place in `directory`."""
    create_seal_key(directory / "seal.key")
    return Place(directory, server, create_keys(directory), _free_address(), _free_address(), game)


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


class House:
    """The services while they run, and what tests do with them."""

    def __init__(self, place: Place, log: RedisEventLog, redis: Any, channels: Sequence[grpc.aio.Channel]) -> None:
        self.place, self.log, self.redis = place, log, redis
        self.rules, self.scoring = Stub(channels[0], place.codec.service), Stub(channels[1], SCORING_SERVICE)
        self.created = 0

    async def create(self, *policies: str, rated: bool = True) -> str:
        """Create a match of house bots with `policies` and return its id."""
        self.created += 1
        seats = [
            SeatSetup(player_id=f"house.{seat}", kind=SEAT_KIND_HOUSE_BOT, bot_policy=policy)
            for seat, policy in enumerate(policies)
        ]
        setup = MatchSetup(seats=seats, pool=self.place.pool, rated=rated)
        request = self.place.codec.messages.CreateMatchRequest(request_id=f"match {self.created}", setup=setup)
        response = await self.rules.CreateMatch(request, metadata=self.place.keys.as_service("match:create"))
        match_id: str = response.match.match_id
        return match_id

    async def match(self, match_id: str) -> Match:
        """Return how the match stands."""
        metadata = self.place.keys.as_player("watcher")
        request = self.place.codec.messages.GetMatchRequest(match_id=match_id)
        response = await self.rules.GetMatch(request, metadata=metadata)
        match: Match = response.match
        return match

    async def reaches(self, match_id: str, version: int) -> Match:
        """Wait until the match has got to `version`, and return it."""

        async def there() -> Match | None:
            match = await self.match(match_id)
            return match if match.version >= version else None

        match = await eventually(there, seconds=30)
        assert match is not None
        return match

    async def is_over(self, match_id: str) -> Match:
        """Wait until the match is closed and nothing is left to do for it, and return it."""

        async def there() -> Match | None:
            match = await self.match(match_id)
            return match if match.HasField("outcome") and not await self.waiting() else None

        match = await eventually(there, seconds=60)
        assert match is not None
        return match

    async def commits(self, match_id: str) -> Sequence[Commit]:
        """Return the match's log."""
        return await self.log.read(match_id)

    async def export(self, match_id: str) -> bytes:
        """Return the audit file of a match that is over."""
        request = self.place.codec.messages.ExportMatchRequest(match_id=match_id)
        stream = self.rules.ExportMatch(request, metadata=self.place.keys.as_player("watcher"))
        return b"".join([message.chunk async for message in stream])

    async def waiting(self) -> Mapping[str, Any]:
        """Return what obligations there are."""
        return await self.log.backlogs(self.place.buckets)

    async def tallied(self) -> dict[str, int]:
        """Return how many rated matches each player has."""
        request = scoring_service_pb2.ListLeaderboardRequest(pool=self.place.pool)
        response = await self.scoring.ListLeaderboard(request, metadata=self.place.keys.as_player("watcher"))
        return {entry.rating.player_id: entry.rating.matches for entry in response.entries}

    async def queued(self, queue: str) -> list[list[Any]]:
        """Return the arguments of the tasks in a queue of the broker, the oldest first."""
        messages = await self.redis.execute_command("LRANGE", queue, 0, -1)
        return [json.loads(base64.b64decode(json.loads(message)["body"]))[0] for message in reversed(messages)]

    def dispatcher(
        self, publisher: Publisher, pace: Pace = QUICK, *, log: RedisEventLog | None = None, rules: str = ""
    ) -> Dispatcher:
        """Return a relay's dispatcher that publishes to `publisher`; `log` and address of the rules are the house's."""
        used = log or self.log
        services = RulesClient({self.place.game: rules or self.place.rules_address}, self.place.keys.service("relay"))
        chores = OwnChores(Fallbacks(used, services), Deadlines(services, hold_seconds=0))
        return Dispatcher(used, publisher, chores, buckets=self.place.buckets, pace=pace)


@asynccontextmanager
async def open_house(
    place: Place, *, wrap_rules: Any = None, data: Sequence[bytes] = (), archive_url: str = ""
) -> AsyncIterator[House]:
    """Run the services on an empty server, the rules with the operator's files `data`.

    `wrap_rules` may put something around the rules' servicer. Matches are owed to the archive an hour after their end.
    """
    connections, queues = connect(place.server.url), connect(f"{place.server.url}?db=1")
    await connections.commands.flushall()
    await load_library(connections.commands, event_log_library())
    log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
    settings = RulesSettings(buckets=BUCKETS, seal_key_file=place.directory / "seal.key", archive_url=archive_url)
    archived = await with_archive(log, archive_url)
    service = compose(load_ruleset(place.game, data), archived, settings)
    beside = [asyncio.create_task(each) for each in service.beside]
    serving = [(descriptor, wrap_rules(rules) if wrap_rules else rules) for descriptor, rules in service.servicers]
    async with (
        served(serving, place.keys, listen=place.rules_address),
        served(
            [(SCORING_SERVICE, servicer(archived)), (LOBBY, _librarian(place, log))],
            place.keys,
            listen=place.scoring_address,
        ),
        grpc.aio.insecure_channel(place.rules_address) as to_rules,
        grpc.aio.insecure_channel(place.scoring_address) as to_scoring,
    ):
        yield House(place, log, queues.commands, (to_rules, to_scoring))
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    await connections.aclose()
    await queues.aclose()


def _librarian(place: Place, log: RedisEventLog) -> LobbyServicer:
    """Return a lobby that lists closed matches, in memory, and nothing else."""
    peer = Peer(place.rules_address, place.keys.service("matchmaking"))
    lists = MatchLists(MemoryLists(Memory(clock.now_ms)), MatchReader({place.game: peer}), log)
    nothing: Any = None
    return LobbyServicer(LobbyCases(nothing, nothing, lists), nothing)


@asynccontextmanager
async def running(*dispatchers: Dispatcher) -> AsyncIterator[None]:
    """Run dispatchers beside the body, then let them drain."""
    stopping = asyncio.Event()
    tasks = [asyncio.create_task(dispatcher.run(stopping)) for dispatcher in dispatchers]
    yield
    stopping.set()
    await asyncio.gather(*tasks)


class Repeating:
    """A publisher that sends every task `times` times."""

    def __init__(self, publisher: Publisher, times: int) -> None:
        self._publisher, self._times = publisher, times

    async def publish(self, tasks: Sequence[Task]) -> None:
        """Publish each of `tasks` again and again."""
        await self._publisher.publish([task for task in tasks for _ in range(self._times)])

    async def queued(self) -> Mapping[str, int]:
        """Return how many tasks wait in each queue."""
        return await self._publisher.queued()


class Holding:
    """A rules servicer that holds the answer to the `nth` submission until `released`; `held` says that it came.

    Holds before anything is done, or once it is done.
    """

    def __init__(self, servicer: Any, nth: int, *, done: bool) -> None:
        self._servicer, self._left, self._done = servicer, nth, done
        self._submitted, servicer.submitted = servicer.submitted, self._submit
        self.held, self.released = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._servicer, name)

    async def _submit(self, request: Any) -> Any:
        """Submit, by a call or over a stream, and hold if it is the time."""
        self._left -= 1
        if self._left or not self._done:
            await self._hold()
            return await self._submitted(request)
        answer = await self._submitted(request)
        await self._hold()
        return answer

    async def _hold(self) -> None:
        if self._left == 0:
            self.held.set()
            await self.released.wait()
