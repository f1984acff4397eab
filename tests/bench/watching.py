"""Matches that are watched, as `bench-watch` has them: the process that referees, who plays, and whoever looks on."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import grpc

from promontory.bots.registry import policy
from promontory.client.stubs import Stub
from promontory.codec import registry as codecs
from promontory.games import registry
from promontory.local.functions import load_all
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.records import setup_message
from promontory.runtime.embedded import EmbeddedServer
from tests.bench.measuring import memory_mib
from tests.bench.processes import Processes
from tests.bench.reporting import BenchFailed
from tests.bench.tables import AS_BYTES, Told, connection, identity
from tests.support.serving import Metadata

T = TypeVar("T")

STREAMS_PER_SPECTATOR = 100
STREAMS_PER_CONNECTION = 500
OPENING_AT_ONCE = 100
LATE_SECONDS = 30
BROKEN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
"""How streams end whose server is gone."""


class WrongStream(BenchFailed):
    """A watcher was told something else than it should have been."""


class Watched:
    """A match that is played: whose turn it is, once all its players are told, and when its commits were submitted."""

    def __init__(self, match_id: str, players: Sequence[Metadata]) -> None:
        """Take what the players, by their seats, are known by."""
        self.match_id, self.players = match_id, players
        self.version, self.to_act = 1, [0]
        self._seen = dict[int, int]()
        self._told = Told(len(players))
        self.views: dict[int | None, Any] = {}
        self.submitted: dict[int, float] = {}
        self.wake_ups: list[float] = []
        self.is_over = False

    def submitting(self) -> int:
        """Note that a move is submitted now, and return the version that it makes."""
        self._told.expect(self.version + 1)
        self.submitted[self.version + 1] = time.perf_counter()
        return self.version + 1

    async def players_told(self) -> None:
        """Wait until both players were told of the last move."""
        await self._told.everybody()

    def told(self, seat: int | None, commit: Any, now: float) -> None:
        """Note what a watcher was told; `seat` None is a spectator."""
        if commit.version in self.submitted:
            self.wake_ups.append(now - self.submitted[commit.version])
        if seat is not None:
            self.views[seat] = commit.view
            self._told.tell(commit.version)
            self._seen[seat] = commit.version
            if len(self._seen) == len(self.players) and min(self._seen.values()) == commit.version:
                self.version, self.to_act = commit.version, list(commit.match.seats_to_act)
            self.is_over = not commit.match.seats_to_act


class Watcher:
    """One stream after another of one match, all read; `seat` None is a spectator."""

    def __init__(self, match: Watched, seat: int | None, channel: int, metadata: Metadata) -> None:
        self.match, self.seat, self.channel, self._metadata = match, seat, channel, metadata
        self.version, self.token, self.is_back = 0, b"", asyncio.Event()
        self.hash = hashlib.blake2b(digest_size=16)

    async def watch(self, site: WatchSite) -> None:
        """Watch until cancelled, over streams that go on where the last one broke."""
        while True:
            try:
                await self._stream(site)
            except grpc.aio.AioRpcError as error:
                if error.code() not in BROKEN:
                    raise
            self.is_back.clear()
            await site.is_up.wait()
            await asyncio.sleep(site.random.random() / 2)

    async def _stream(self, site: WatchSite) -> None:
        request = site.pb.WatchMatchRequest(match_id=self.match.match_id, seat=self.seat, resume_token=self.token)
        async for raw in site.watch(request, self.channel, self._metadata):
            now = time.perf_counter()
            message = site.pb.WatchMatchResponse.FromString(raw)
            self._take(message)
            self.token = message.resume_token
            self.is_back.set()
            if message.HasField("commit"):
                self.match.told(self.seat, message.commit, now)

    def _take(self, message: Any) -> None:
        if message.HasField("commit"):
            if message.commit.version != self.version + 1:
                raise WrongStream(f"{message.commit.version} came after {self.version}")
            self.version += 1
            self.hash.update(message.commit.SerializeToString(deterministic=True))
        elif message.HasField("snapshot"):
            if self.version:
                raise WrongStream(f"a snapshot came after {self.version}")
            self.version = message.snapshot.match.version
            self.match.views[self.seat] = message.snapshot.view
        elif message.HasField("end") and not message.end.resumable and not self.match.is_over:
            raise WrongStream("the match ended")


class WatchSite:
    """The log, the rules process of one game, and connections to it."""

    def __init__(self, game: str, processes: Processes) -> None:
        self.game, self.codec = registry.game(game), codecs.codec(game)
        self.pb: Any = self.codec.messages
        self.keys, self.random, self.is_up = processes.keys, Random(1), asyncio.Event()
        self._processes, self._created = processes, 0
        self._choose = policy(self.game, "random")
        self._channels: list[grpc.aio.Channel] = []
        self._opened: list[grpc.aio.Channel] = []

    def start(self) -> None:
        """Start the process and return once it serves."""
        command = f"serve rules --game {self.game.name}"
        self.process = self._processes.start("rules", command, {"PROMONTORY_LOG_LEVEL": "warning"})
        self.address = self.process.ready().grpc

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self.is_up.clear()
        self._processes.kill(self.process)

    async def connect(self, watchers: int) -> None:
        """Open connections for so many watchers."""
        channels = -(-watchers // STREAMS_PER_CONNECTION)
        self._channels = [connection(self.address) for _ in range(channels)]
        self._opened += self._channels
        await asyncio.gather(*(channel.channel_ready() for channel in self._channels))
        self.is_up.set()

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(channel.close(None) for channel in self._opened))

    def watch(self, request: Any, channel: int, metadata: Metadata) -> AsyncIterator[bytes]:
        """Yield what `WatchMatch` tells, over one of the connections."""
        call: Any = self._channels[channel].unary_stream(f"/{self.codec.service.full_name}/WatchMatch", *AS_BYTES)
        stream: AsyncIterator[bytes] = call(request.SerializeToString(), metadata=metadata)
        return stream

    async def create(self) -> Watched:
        """Return a new match of players of its own, as many as the game has at least."""
        self._created += 1
        players = [f"player-{self._created}-{seat}" for seat in range(self.game.seats.start)]
        setup = setup_message(Setup(tuple(SeatSetup(player) for player in players)))
        request = self.pb.CreateMatchRequest(request_id=f"match-{self._created}", setup=setup)
        answer = await self._stub.CreateMatch(request, metadata=self.keys.as_service("match:create"))
        return Watched(answer.match.match_id, [identity(self.keys, player) for player in players])

    async def move(self, match: Watched) -> float:
        """Play the next move, by the policy `random`, and return how long its answer took, in s."""
        seat = match.to_act[0]
        command = self.codec.encode_command(self._choose(self.codec.decode_view(match.views[seat]), self.random))
        number = match.submitting()
        request = self.pb.SubmitCommandRequest(
            match_id=match.match_id, seat=seat, commands=[command], request_id=f"{number}"
        )
        await self._stub.SubmitCommand(request, metadata=match.players[seat])
        return time.perf_counter() - match.submitted[number]

    @property
    def _stub(self) -> Any:
        return Stub(self._channels[0], self.codec.service)

    @property
    def pids(self) -> Mapping[str, int]:
        """The process, by name."""
        return {"rules": self.process.pid}

    def memory_mib(self) -> float:
        """Return the memory that the process has in use."""
        return memory_mib(self.process.pid)


@asynccontextmanager
async def watch_site(game: str) -> AsyncIterator[WatchSite]:
    """Run everything in a temporary directory."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with EmbeddedServer(directory / "valkey", fsync="everysec") as server:
            await load_all(server.url, require_aof=True)
            with closing(Processes(directory, server.url)) as processes:
                found = WatchSite(game, processes)
                found.start()
                yield found
                await found.close()


def spectator_of(site: WatchSite, number: int) -> Metadata:
    """Return what the spectator is known by who opens the stream `number`: each opens as many as one player may."""
    return identity(site.keys, f"spectator-{number // STREAMS_PER_SPECTATOR}")


async def opened(site: WatchSite, watchers: Sequence[Watcher]) -> list[asyncio.Task[None]]:
    """Open all streams, some at a time, and return the tasks that read them."""
    tasks: list[asyncio.Task[None]] = []
    for some in batched(watchers, OPENING_AT_ONCE):
        tasks += [asyncio.create_task(watcher.watch(site)) for watcher in some]
        await unless_failed(asyncio.gather(*(watcher.is_back.wait() for watcher in some)), tasks)
    return tasks


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield `items`, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


async def unless_failed(
    waiting: Awaitable[Any], tasks: Sequence[asyncio.Task[None]], *, seconds: float = LATE_SECONDS
) -> None:
    """Await `waiting`, or raise what ended one of `tasks`, or that it took longer than so many `seconds`."""
    future = asyncio.ensure_future(waiting)
    done, _ = await asyncio.wait([future, *tasks], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if not done:
        raise WrongStream(f"nothing came for {seconds} s")
    for task in done:
        task.result()


async def ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
