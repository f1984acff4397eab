"""What watching costs: `make bench-watch`, or `python -m tests.bench.watch --help`.

A rules process, with an event log of its own, referees matches of one game; in each two players and some spectators
watch, over several connections, while the players play at a steady pace. Then the process is killed, another one is
started, and all watchers go on there by their tokens. Whatever they were told must be without gaps, and for all
spectators of a match the same bytes; otherwise there are no figures.

Clients, server and log share the machine, so that times are no better than the machine can do both ends at once; the
server's CPU time and memory are its own. `--seconds` and `--rate` say how long and how fast is played.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import grpc
import msgspec
import uvloop
from rich.table import Table

from promontory.bots.registry import policy
from promontory.client.stubs import Stub
from promontory.codec import registry as codecs
from promontory.games import registry
from promontory.local.functions import load_all
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.records import setup_message
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.server import settle
from tests.bench.measuring import Meter, Spread, memory_mib, spread
from tests.bench.processes import Processes
from tests.bench.reporting import parser_of, report, table
from tests.bench.tables import AS_BYTES, connection
from tests.support.serving import Keys, Metadata
from tests.support.waiting import eventually

STREAMS_PER_SPECTATOR = 100
STREAMS_PER_CONNECTION = 500
OPENING_AT_ONCE = 100
LATE_SECONDS = 30
BROKEN = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
"""How streams end whose server is gone."""


class Load(msgspec.Struct, frozen=True):
    """What is watched and played: so many watchers of so many matches, and commits a second for so many seconds."""

    game: str
    matches: int
    watchers: int
    rate: float
    seconds: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run. Memory is the server's, resident; its CPU time is for a commit, or for a message.

    `wake_up` is from a submission to each watcher, `submission` to the player's answer. From the kill of the process,
    `resumed_seconds` go by until the last watcher is told something by the next one, whose start takes
    `started_seconds` of them. `foreign_cores` is how much of the machine others used while players played.
    """

    load: Load
    commits: int
    messages: int
    rate: float
    base_mib: float
    watched_mib: float
    played_mib: float
    kib_per_watcher: float
    cpu_ms_per_commit: float
    cpu_us_per_message: float
    wake_up: Spread
    submission: Spread
    started_seconds: float
    resumed_seconds: float
    foreign_cores: float


class WrongStream(Exception):
    """A watcher was told something else than it should have been."""


class Watcher:
    """One stream after another of one match, all read as bytes; `seat` None is a spectator."""

    def __init__(self, match: Played, seat: int | None, channel: int, identity: Metadata) -> None:
        self.match, self.seat, self.channel, self._identity = match, seat, channel, identity
        self.version, self.token, self.is_back = 0, b"", asyncio.Event()
        self.hash = hashlib.blake2b(digest_size=16)

    async def watch(self, site: Site) -> None:
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

    async def _stream(self, site: Site) -> None:
        request = site.pb.WatchMatchRequest(match_id=self.match.match_id, seat=self.seat, resume_token=self.token)
        call = site.watching(self.channel)(request.SerializeToString(), metadata=self._identity)
        async for raw in call:
            now = time.perf_counter()
            message = site.pb.WatchMatchResponse.FromString(raw)
            self._take(message, raw)
            self.token = message.resume_token
            self.is_back.set()
            if message.HasField("commit"):
                self.match.told(self, message.commit, now)

    def _take(self, message: Any, raw: bytes) -> None:
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


class Played:
    """A match that is played: whose turn it is, as its watchers are told, and when its commits were submitted."""

    def __init__(self, match_id: str) -> None:
        self.match_id = match_id
        self.version, self.to_act = 1, [0]
        self.views: dict[int | None, Any] = {}
        self.submitted: dict[int, float] = {}
        self.wake_ups: list[float] = []
        self.is_over = False

    def told(self, watcher: Watcher, commit: Any, now: float) -> None:
        """Note what a watcher was told."""
        if commit.version in self.submitted:
            self.wake_ups.append(now - self.submitted[commit.version])
        if watcher.seat is not None:
            self.views[watcher.seat] = commit.view
            self.version, self.to_act = commit.version, list(commit.match.seats_to_act)
            self.is_over = not self.to_act


class Site:
    """Where everything runs: the log, the process that referees, and the channels to it."""

    def __init__(self, game: str, processes: Processes) -> None:
        self.game, self.codec = registry.game(game), codecs.codec(game)
        self.pb: Any = self.codec.messages
        self.keys, self.random, self.is_up = processes.keys, Random(1), asyncio.Event()
        self._processes = processes
        self._channels: list[grpc.aio.Channel] = []
        self._opened: list[grpc.aio.Channel] = []

    def start(self) -> None:
        """Start the process and return once it serves."""
        command = f"serve rules --game {self.game.name}"
        self.process = self._processes.start("rules", command, {"PROMONTORY_LOG_LEVEL": "warning"})
        self.address = self.process.ready().grpc

    async def open(self, channels: int) -> None:
        """Open so many connections."""
        self._channels = [connection(self.address) for _ in range(channels)]
        self._opened += self._channels
        await asyncio.gather(*(channel.channel_ready() for channel in self._channels))
        self.is_up.set()

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(channel.close(None) for channel in self._opened))

    def watching(self, channel: int) -> Any:
        """Return what calls `WatchMatch` with bytes, and yields bytes."""
        return self._channels[channel].unary_stream(f"/{self.codec.service.full_name}/WatchMatch", *AS_BYTES)

    async def create(self, number: int) -> Played:
        """Return a new match of two players of its own, or as many as the game has at least."""
        seats = tuple(SeatSetup(f"player-{number}-{seat}") for seat in range(self.game.seats.start))
        request = self.pb.CreateMatchRequest(request_id=f"match-{number}", setup=setup_message(Setup(seats)))
        answer = await self.stub.CreateMatch(request, metadata=self.keys.as_service("match:create"))
        return Played(answer.match.match_id)

    @property
    def stub(self) -> Any:
        """The stub of the service."""
        return Stub(self._channels[0], self.codec.service)

    def meter(self) -> Meter:
        """Return what measures the CPU time of the process."""
        return Meter({"rules": self.process.pid})

    def memory_mib(self) -> float:
        """Return the memory that the process has in use."""
        return memory_mib(self.process.pid)


@asynccontextmanager
async def site(game: str) -> AsyncIterator[Site]:
    """Run everything in a temporary directory."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with EmbeddedServer(directory / "valkey", fsync="everysec") as server:
            await load_all(server.url, require_aof=True)
            with closing(Processes(directory, server.url)) as processes:
                found = Site(game, processes)
                found.start()
                yield found


def seated(load: Load, matches: Sequence[Played], keys: Keys, seats: int) -> list[Watcher]:
    """Return the watchers: the players of each match, and as many spectators, the same number for each."""
    identities: dict[int, Metadata] = {}
    watchers: list[Watcher] = []
    for number in range(load.watchers):
        match, place = matches[number % len(matches)], number // len(matches)
        spectator = number // STREAMS_PER_SPECTATOR
        if place < seats:
            identity = keys.as_player(f"player-{number % len(matches)}-{place}")
        else:
            identity = identities.setdefault(spectator, keys.as_player(f"spectator-{spectator}"))
        seat = place if place < seats else None
        watchers.append(Watcher(match, seat, number // STREAMS_PER_CONNECTION, identity))
    return watchers


async def opened(site: Site, watchers: Sequence[Watcher]) -> list[asyncio.Task[None]]:
    """Open all streams, some at a time, and return the tasks that read them."""
    tasks: list[asyncio.Task[None]] = []
    for start in range(0, len(watchers), OPENING_AT_ONCE):
        some = watchers[start : start + OPENING_AT_ONCE]
        tasks += [asyncio.create_task(watcher.watch(site)) for watcher in some]
        await _unless_failed(asyncio.gather(*(watcher.is_back.wait() for watcher in some)), tasks)
    return tasks


async def _unless_failed(
    waiting: Awaitable[Any], tasks: Sequence[asyncio.Task[None]], *, seconds: float = LATE_SECONDS
) -> None:
    """Await `waiting`, or raise what ended one of `tasks`, or that it took longer than so many `seconds`."""
    future = asyncio.ensure_future(waiting)
    done, _ = await asyncio.wait([future, *tasks], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if not done:
        raise WrongStream(f"nothing came for {seconds} s")
    for task in done:
        task.result()


class Players:
    """Plays the matches in turn, at a steady pace, each move by the policy `random`."""

    def __init__(self, site: Site, matches: Sequence[Played]) -> None:
        self._site, self._matches = site, matches
        self._choose = policy(site.game, "random")
        self.answered: list[float] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def play(self, load: Load) -> None:
        """Play for as long as there are seconds."""
        start = time.perf_counter()
        for number in range(int(load.rate * load.seconds)):
            await asyncio.sleep(max(0, start + number / load.rate - time.perf_counter()))
            match = self._matches[number % len(self._matches)]
            if match.to_act and match.version + 1 not in match.submitted:
                self._tasks.add(asyncio.create_task(self._move(match, number)))
        await asyncio.gather(*self._tasks)

    async def _move(self, match: Played, number: int) -> None:
        seat = match.to_act[0]
        view = self._site.codec.decode_view(match.views[seat])
        command = self._site.codec.encode_command(self._choose(view, self._site.random))
        request = self._site.pb.SubmitCommandRequest(
            match_id=match.match_id, seat=seat, commands=[command], request_id=f"{number}"
        )
        identity = self._site.keys.as_player(f"player-{self._matches.index(match)}-{seat}")
        match.submitted[match.version + 1] = started = time.perf_counter()
        await self._site.stub.SubmitCommand(request, metadata=identity)
        self.answered.append(time.perf_counter() - started)


async def caught_up(watchers: Sequence[Watcher], tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until every watcher was told the last version of its match, and check that all were told the same."""

    async def all_told() -> bool:
        return all(watcher.version >= _last(watcher.match) for watcher in watchers)

    await _unless_failed(eventually(all_told, seconds=LATE_SECONDS), tasks)
    told = Counter({(id(each.match), each.seat, each.hash.digest()): 1 for each in watchers})
    audiences = {(id(each.match), each.seat) for each in watchers}
    if len(told) != len(audiences):
        raise WrongStream("watchers of one match were told different things")


def _last(match: Played) -> int:
    return max(match.submitted, default=1)


async def measure(load: Load) -> Figures:
    """Return the figures of one run. Raises `WrongStream`."""
    async with site(load.game) as where:
        await where.open(-(-load.watchers // STREAMS_PER_CONNECTION))
        matches = [await where.create(number) for number in range(load.matches)]
        base = where.memory_mib()
        watchers = seated(load, matches, where.keys, where.game.seats.start)
        tasks = await opened(where, watchers)
        settle()
        watched, meter, begun = where.memory_mib(), where.meter(), time.perf_counter()
        players = Players(where, matches)
        await _unless_failed(players.play(load), tasks, seconds=load.seconds + LATE_SECONDS)
        taken = time.perf_counter() - begun
        await caught_up(watchers, tasks)
        measured, played = meter.read(), where.memory_mib()
        started, resumed = await restarted(where, watchers, tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await where.close()
    commits, wake_ups = len(players.answered), [each for match in matches for each in match.wake_ups]
    return Figures(
        load=load,
        commits=commits,
        messages=len(wake_ups),
        rate=round(commits / taken, 1),
        base_mib=round(base, 1),
        watched_mib=round(watched, 1),
        played_mib=round(played, 1),
        kib_per_watcher=round((played - base) * 1024 / load.watchers, 1),
        cpu_ms_per_commit=round(1000 * measured.cpu["rules"] / commits, 2),
        cpu_us_per_message=round(1e6 * measured.cpu["rules"] / len(wake_ups), 1),
        wake_up=spread(wake_ups),
        submission=spread(players.answered),
        started_seconds=round(started, 2),
        resumed_seconds=round(resumed, 2),
        foreign_cores=measured.foreign_cores,
    )


async def restarted(
    where: Site, watchers: Sequence[Watcher], tasks: Sequence[asyncio.Task[None]]
) -> tuple[float, float]:
    """Kill the process, start another, and return how long that took, and how long until all watchers went on."""
    begun = time.perf_counter()
    where.is_up.clear()
    where.process.kill()
    await asyncio.to_thread(where.start)
    started = time.perf_counter() - begun
    await where.open(-(-len(watchers) // STREAMS_PER_CONNECTION))
    await _unless_failed(asyncio.gather(*(watcher.is_back.wait() for watcher in watchers)), tasks)
    return started, time.perf_counter() - begun


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("watch", __doc__)
    names = [game.name for game in registry.GAMES]
    parser.add_argument("--game", choices=names, default="transcontinental", help="the game (default: %(default)s)")
    parser.add_argument("--matches", type=int, default=500, help="matches at a time (default: %(default)s)")
    parser.add_argument("--watchers", type=int, default=5000, help="streams in all (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=100, help="commits a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=40, help="how long to play (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = Load(arguments.game, arguments.matches, arguments.watchers, arguments.rate, arguments.seconds)
    figures = uvloop.run(measure(load))
    report(figures, [_table(figures)], only_json=arguments.json)


def _table(figures: Figures) -> Table:
    load = figures.load
    title = f"{load.watchers} watchers of {load.matches} matches of {load.game}: no gap, and the same for all"
    made = table(title, "", "")
    rows = {
        "commits, each to all who watch the match": f"{figures.commits:,} at {figures.rate:,.0f} a second",
        "messages to watchers": f"{figures.messages:,}",
        "memory with the matches, and nobody watching": f"{figures.base_mib:,.0f} MiB",
        "with all watching": f"{figures.watched_mib:,.0f} MiB",
        "after the play": f"{figures.played_mib:,.0f} MiB",
        "that is for each watcher": f"{figures.kib_per_watcher:,.0f} KiB",
        "CPU for a commit": f"{figures.cpu_ms_per_commit:.2f} ms",
        "or for a message": f"{figures.cpu_us_per_message:,.0f} µs",
        "from submission to watcher": _spread(figures.wake_up),
        "from submission to answer": _spread(figures.submission),
        "from a kill to the next process": f"{figures.started_seconds:.1f} s",
        "until all watch again": f"{figures.resumed_seconds:.1f} s",
        "cores used by others": f"{figures.foreign_cores:.2f}",
    }
    for row in rows.items():
        made.add_row(*row)
    return made


def _spread(times: Spread) -> str:
    return f"p50 {times.p50:,.1f} ms, p99 {times.p99:,.1f} ms, at most {times.longest:,.1f} ms"


if __name__ == "__main__":
    main()
