"""What each process takes, idle and under load: `make bench-footprint`, or `python -m tests.bench.footprint --help`.

The whole platform runs on this machine, as `promontory up` runs it: every process once, on a log that is written to
disk before it answers. Each process is started by itself, and timed; then nothing happens for a while; then players
play rated matches of all games through the SDK, every fourth against a house bot, so that all commands together come
at a steady pace. Finished matches are archived soon, so that all that a match costs is in the figures.

The players are one process more on the same machine. CPU time and memory are each process's own; what was reached of
the pace that was asked for is counted by the rules services.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import uvloop
from rich.progress import Progress
from rich.table import Table

from promontory import AsyncClient, PromontoryError
from promontory.bots.registry import policy
from promontory.client.matches import SeatKind, Update
from promontory.client.seats import Seat, overtaken
from promontory.eventlog.redis_server import connect
from promontory.games.registry import GAMES
from promontory.local.platform import GAME_NAMES, SERVER, Platform
from promontory.local.scrape import Scrape, scrape
from tests.bench.measuring import Meter, Spread, memory_mib, spread
from tests.bench.reporting import amount, parser_of, progress, report, rounded, run, table, whole

HOUSE_PART = 4
"""One match in so many is against a house bot."""
SETTLE_SECONDS = 5
WARM_SECONDS = 25
ARCHIVE_AFTER_SECONDS = 10
PATIENCE_SECONDS = 30.0
RATINGS_CODE = "rt"
CATCH_UP_SECONDS = 1.0
POOL = """
[[pools]]
id = "{id}"
game = "{game}"
seats = 2
rated = true
window = {{ points = 5000, points_per_second = 0, most_points = 5000 }}
"""
HOUSE = 'house_bots_after_seconds = 0\nhouse_bots = [{ player = "house-greedy-1", policy = "greedy" }]\n'


class Load(msgspec.Struct, frozen=True):
    """What is played: so many commands a second, house bots' included, in so many matches at a time, for `seconds`."""

    rate: float
    matches: int
    seconds: float
    idle_seconds: float


class Taken(msgspec.Struct, frozen=True):
    """What a process takes: resident memory and its share of what is shared, in MiB, and a part of a core."""

    rss_mib: float
    pss_mib: float
    cores: float


class Row(msgspec.Struct, frozen=True):
    """The figures of one process: how long it took to serve, and what it takes without anything to do and with."""

    process: str
    start_seconds: float
    idle: Taken
    loaded: Taken


class LogCost(msgspec.Struct, frozen=True):
    """What some logs take in the server's memory, by commit and by event; a tally is a commit of its pool's ratings."""

    logs: str
    count: int
    commits: int
    events: int
    bytes_per_commit: int
    bytes_per_event: int


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run.

    `commands_per_second` is what was reached, `by_house_per_second` the part of it that house bots played.
    `answers` are from a player's submission to the answer. `disk_bytes_per_commit` is what the log's append-only file
    grew by for each, everything that is written beside included. `foreign_cores` is how much of the machine others
    used, while nothing was to do and under load.
    """

    load: Load
    commands_per_second: float
    by_house_per_second: float
    finished: int
    failed: int
    answers: Spread
    players_cores: float
    foreign_cores: tuple[float, float]
    disk_bytes_per_commit: int
    processes: tuple[Row, ...]
    logs: tuple[LogCost, ...]


class Pace:
    """Gives out turns such that all commands come at `rate` a second; what was missed is caught up on for a moment."""

    def __init__(self, rate: float) -> None:
        self._step, self._next = 1 / rate, time.perf_counter()

    async def turn(self) -> None:
        """Wait until a command may be given."""
        await asyncio.sleep(max(0.0, self.count() - time.perf_counter()))

    def count(self) -> float:
        """Count a command, and return when it may be given."""
        now = max(self._next, time.perf_counter() - CATCH_UP_SECONDS)
        self._next = now + self._step
        return now

    def give_back(self) -> None:
        """Have another command given instead of one that came too late, or failed."""
        self._next -= self._step


class Players:
    """Plays match after match: pairs of players, and players against the house, in all games alike."""

    def __init__(self, platform: Platform, load: Load) -> None:
        self._platform, self._pace, self._random = platform, Pace(load.rate), Random(1)
        self._pools = [pool for number in range(load.matches) for pool in pools_of(number)]
        self.answers: list[float] = []
        self.finished = self.failed = 0

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Play for as long as the context lasts. Raises what ends a player."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._play(number, pool)) for number, pool in enumerate(self._pools)]
            yield
            for task in tasks:
                task.cancel()

    async def _play(self, number: int, pool: str) -> None:
        token = self._platform.keys.player_token(f"player-{number}")
        async with AsyncClient(self._platform.endpoints, token=token, retry_seconds=PATIENCE_SECONDS) as client:
            while True:
                await self._play_match(await client.play(pool))

    async def _play_match(self, seat: Seat) -> None:
        choose, version = policy(await seat.rules(), "greedy"), 0
        async for update in seat:
            if update.version != version and any(each.kind is SeatKind.HOUSE_BOT for each in update.match.seats):
                self._pace.count()
            version = update.version
            if update.your_turn:
                await self._pace.turn()
                version = await self._submit(seat, choose(update.view, self._random), update)
        self.finished += seat.seat == 0

    async def _submit(self, seat: Seat, command: Any, seen: Update) -> int:
        """Give a command, and return the version that it made, or that it was given at if another came first."""
        started = time.perf_counter()
        try:
            with overtaken():
                seen = await seat.submit(command, expected_version=seen.version)
                self.answers.append(time.perf_counter() - started)
                return seen.version
        except PromontoryError:
            self.failed += 1
        self._pace.give_back()
        return seen.version


def pools_of(number: int) -> list[str]:
    """Return the pools that the players of match `number` enter: one that only the house enters too, or both the same.

    A pool is named after its game.
    """
    game, against_house = GAME_NAMES[number % len(GAME_NAMES)], number // len(GAME_NAMES) % HOUSE_PART == 0
    return [f"{game}.house.{number}"] if against_house else [f"{game}.players"] * 2


def pools_file(load: Load) -> str:
    """Return the configuration of all pools that are played in."""
    names = sorted({pool for number in range(load.matches) for pool in pools_of(number)})
    return "".join(
        POOL.format(id=name, game=name.partition(".")[0]) + (HOUSE if ".house." in name else "") for name in names
    )


def started(platform: Platform) -> dict[str, float]:
    """Start everything, then each process once more by itself; return how many seconds each took to serve."""
    assert platform.server is not None
    begun = time.perf_counter()
    platform.server.start()
    took = {SERVER: time.perf_counter() - begun}
    platform.start()
    for name in platform.processes:
        platform.processes[name].terminate()
        platform.processes[name].wait()
        begun = time.perf_counter()
        platform.revive(name)
        took[name] = time.perf_counter() - begun
    return took


async def watched(platform: Platform, seconds: float) -> tuple[dict[str, Taken], float]:
    """Return what each process takes in the next so many seconds, and how many cores others use meanwhile."""
    assert platform.server is not None
    pids = {SERVER: platform.server.pid} | {name: child.pid for name, child in platform.processes.items()}
    meter = Meter(pids)
    await asyncio.sleep(seconds)
    measured = meter.read()
    found = {
        name: Taken(round(memory_mib(pid), 1), round(_pss_mib(pid), 1), round(measured.cpu[name] / measured.seconds, 3))
        for name, pid in pids.items()
    }
    return found, measured.foreign_cores


def _pss_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


async def log_costs(redis_url: str) -> tuple[LogCost, ...]:
    """Return what logs take, by game: commits, what tells of them, and the head; last those of ratings, one a pool."""
    codes = {game.name: game.code for game in GAMES} | {"ratings": RATINGS_CODE}
    async with connect(redis_url) as connections:
        redis: Any = connections.commands
        return tuple([await _log_cost(redis, name, code) for name, code in codes.items()])


async def _log_cost(redis: Any, name: str, code: str) -> LogCost:
    """Return what some logs take; matches that were moved to the archive meanwhile are not among them."""
    sizes: list[tuple[int, int, int]] = []
    async for head in redis.scan_iter(match=f"{{{code}:*}}:m:*:head", count=1000):
        stem = head.removesuffix(b"head")
        keys = (head, stem + b"log", stem + b"idem")
        found = [await redis.memory_usage(key, samples=0) or 0 for key in keys]
        version, events = await redis.hget(head, "v"), await redis.xlen(keys[1])
        if events:
            sizes.append((sum(found), int(version), events))
    size, commits, events = (sum(each) for each in zip(*sizes, strict=True))
    return LogCost(name, len(sizes), commits, events, round(size / commits), round(size / events))


async def measure(platform: Platform, load: Load, took: Mapping[str, float], tell: Callable[[str], object]) -> Figures:
    """Return the figures of a platform that has been started; `tell` is given what comes next."""
    tell("Nothing to do")
    await asyncio.sleep(SETTLE_SECONDS)
    idle, others_idle = await watched(platform, load.idle_seconds)
    tell("Players play")
    players = Players(platform, load)
    async with players.playing():
        await asyncio.sleep(WARM_SECONDS)
        counted, disk, answered = await _commands(platform), await _disk_bytes(platform), len(players.answers)
        begun, own = time.perf_counter(), time.process_time()
        loaded, others_loaded = await watched(platform, load.seconds)
        passed, own = time.perf_counter() - begun, time.process_time() - own
        answers = players.answers[answered:]
        commands = await _commands(platform) - counted
        disk = await _disk_bytes(platform) - disk
        logs = await log_costs(platform.redis_url)
    return Figures(
        load=load,
        commands_per_second=round(commands / passed, 1),
        by_house_per_second=round((commands - len(answers)) / passed, 1),
        finished=players.finished,
        failed=players.failed,
        answers=spread(answers),
        players_cores=round(own / passed, 3),
        foreign_cores=(others_idle, others_loaded),
        disk_bytes_per_commit=round(disk / commands),
        processes=tuple(Row(name, round(took[name], 2), idle[name], loaded[name]) for name in took),
        logs=logs,
    )


async def _commands(platform: Platform) -> float:
    found: Scrape = await scrape(platform.ready[game].metrics for game in GAME_NAMES)
    return found.total("promontory_commands_total", outcome="accepted")


async def _disk_bytes(platform: Platform) -> int:
    async with connect(platform.redis_url) as connections:
        redis: Any = connections.commands
        return int((await redis.info("persistence"))["aof_current_size"])


def measured(load: Load, shown: Progress) -> Figures:
    """Run everything in a temporary directory, and return the figures."""
    step = shown.add_task("Starting every process", total=3)
    with tempfile.TemporaryDirectory(prefix="promontory-") as name:
        home = Path(name)
        pools = home / "pools.toml"
        pools.write_text(pools_file(load), "utf-8")
        settings = {
            "PROMONTORY_POOLS_FILE": str(pools),
            "PROMONTORY_ARCHIVE_URL": (home / "archive").as_uri(),
            "PROMONTORY_ARCHIVE_AFTER_SECONDS": str(ARCHIVE_AFTER_SECONDS),
        }
        platform = Platform(home / "platform", settings=settings)
        try:
            took = started(platform)
            return uvloop.run(
                measure(platform, load, took, lambda what: shown.update(step, advance=1, description=what))
            )
        finally:
            platform.stop()


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("footprint", __doc__)
    parser.add_argument("--rate", type=amount, default=100, help="commands a second, in all (default: %(default)s)")
    parser.add_argument("--matches", type=whole, default=45, help="matches at a time (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=amount, default=30, help="how long to measure the load (default: %(default)s)"
    )
    parser.add_argument("--idle", type=amount, default=10, help="how long to measure idleness (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = Load(arguments.rate, arguments.matches, arguments.seconds, arguments.idle)
    with progress(quiet=arguments.json) as shown:
        figures = measured(load, shown)
    report(figures, (_processes(figures), _logs(figures)), only_json=arguments.json)


def _processes(figures: Figures) -> Table:
    rates = (figures.commands_per_second, figures.load.rate, figures.by_house_per_second)
    title = (
        "{:,.0f} commands a second of {:,.0f} asked for, {:,.0f} by house bots; ".format(*rates)
        + f"{figures.finished} matches finished, {figures.failed} commands failed"
    )
    columns = ("start, s", "MiB, idle", "MiB, loaded", "cores, idle", "cores, loaded")
    made = table(title, "process", *columns)
    for row in figures.processes:
        memory = [f"{rounded(each.rss_mib)} ({rounded(each.pss_mib)})" for each in (row.idle, row.loaded)]
        made.add_row(
            row.process, rounded(row.start_seconds), *memory, f"{row.idle.cores:.3f}", f"{row.loaded.cores:.3f}"
        )
    made.caption = (
        f"memory: resident (own share of what is shared); answered in {rounded(figures.answers.p50)} ms (median), "
        f"{rounded(figures.answers.p99)} ms (p99); players took {figures.players_cores:.2f} cores, others "
        f"{figures.foreign_cores[0]:.2f} idle and {figures.foreign_cores[1]:.2f} loaded"
    )
    return made


def _logs(figures: Figures) -> Table:
    columns = ("logs", "commits", "events", "bytes a commit", "bytes an event")
    made = table("memory of the log's server", "logs of", *columns)
    for cost in figures.logs:
        counts = (cost.count, cost.commits, cost.events, cost.bytes_per_commit, cost.bytes_per_event)
        made.add_row(cost.logs, *map(str, counts))
    made.caption = f"its file grew by {figures.disk_bytes_per_commit:,} bytes a commit"
    return made


if __name__ == "__main__":
    run(main)
