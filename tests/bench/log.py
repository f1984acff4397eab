"""How fast the event log is: `make bench-log`, or `python -m tests.bench.log --help`.

One long match is played at random on a real log; its commits are then what everything is measured with. They are
appended again, as matches of other names, by our adapter to the embedded server (with an fsync every second, and with
one before each answer), and by the package `eventsourcing` to an SQLite file: by its recorder, which writes bytes like
our log, and by its application, whose aggregates are what it is meant to be used by. One append at a time, then many:
tasks of one event loop for ours, threads for theirs. A commit of ours is checked against the expected version and the
command id, chained by a hash, and noted in the bucket's feed; theirs is checked against the version, and numbered for
all aggregates together. SQLite runs as the package sets it up: a write-ahead log with an fsync at each commit.

Replays read the whole match: as bytes from log or recorder, and folded, by the rules of the game for ours, by an
aggregate that keeps nothing for theirs. An opening is what a player waits for who looks at a match that no process has
in memory. What is appended a second is of elapsed time, since waiting for the disk counts; the best of some rounds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Literal

import msgspec
import uvloop
from rich.progress import Progress
from rich.table import Table

from promontory.bots.registry import policy
from promontory.eventlog.port import START, Commit, Position, Proposed
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog, open_log
from promontory.games.registry import GAMES
from promontory.local.functions import load_all
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.usecases import Submission
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.identity import Caller
from promontory.runtime.server import settle
from tests.bench.measuring import Meter, spread, turns
from tests.bench.peers.event_sourcing import KINDS, Peer, has_peer
from tests.bench.reporting import amount, parser_of, progress, report, rounded, run, table, whole, words
from tests.support.refereeing import MATCHMAKING, Bench, player

FSYNCS: tuple[Literal["everysec", "always"], ...] = ("everysec", "always")
GOAL_MS = 20
LIKE_READS = (("promontory bytes", "eventsourcing recorder"), ("promontory folded", "eventsourcing application"))
TO_INSTALL = "eventsourcing is not installed, so nothing is compared: `make bench-log` installs it"

Append = Callable[[Sequence[Commit], str], Awaitable[None]]
"""Appends all of a match's commits under another name."""


class Load(msgspec.Struct, frozen=True):
    """What is measured: each variant for so many seconds in each round, alone and by so many at once."""

    game: str
    events: int
    seconds: float
    rounds: int
    at_once: int


class Appends(msgspec.Struct, frozen=True):
    """Appends of one variant, a second; CPU time is that of the writer, and of the server if it is another process."""

    variant: str
    at_once: int
    commits_per_second: float
    events_per_second: float
    client_cpu_us: float
    server_cpu_us: float
    foreign_cores: float


class Replay(msgspec.Struct, frozen=True):
    """A whole match read, in elapsed ms, and events a second."""

    variant: str
    events: int
    ms: float
    events_per_second: float


class Opening(msgspec.Struct, frozen=True):
    """A match opened at one of its versions by a process that has nothing of it in memory."""

    at: str
    version: int
    events: int
    p50_ms: float
    longest_ms: float
    cpu_ms: float


class Memory(msgspec.Struct, frozen=True):
    """The server's memory for one match: its log, what makes commands safe to repeat, and all with what is around."""

    events: int
    commits: int
    payload_bytes: int
    log_bytes: int
    idempotency_bytes: int
    match_bytes: int
    bytes_per_event: float
    bytes_per_commit: float


class Figures(msgspec.Struct, frozen=True):
    """All that a run found, with the ratios of ours to theirs, and of openings to the goal."""

    load: Load
    appends: Sequence[Appends]
    replays: Sequence[Replay]
    openings: Sequence[Opening]
    memory: Memory
    ratio_to_eventsourcing: dict[str, float]
    ratio_to_goal: dict[str, float]


async def play(log: RedisEventLog, game: str, *, events: int) -> str:
    """Play matches at random until one has as many events at least, and return its id."""
    bench, number = Bench(log, game=game, cached=2), 0
    while True:
        number += 1
        match_id = await _play(bench, game, number)
        if sum(len(commit.events) for commit in await log.read(match_id)) >= events:
            return match_id


async def _play(bench: Bench, game: str, number: int) -> str:
    rules = bench.ruleset.game
    seats = tuple(SeatSetup(f"player-{seat}") for seat in range(rules.seats.start))
    match = await bench.referee.create(MATCHMAKING, f"match-{number}", Setup(seats))
    choose, rng = policy(rules, "random"), Random(number)
    while match.to_act:
        seat = match.to_act[0]
        command = choose(rules.view(match.state, seat), rng)
        wanted = Submission(match.match_id, seat, (command,), f"{match.version}")
        match = (await bench.referee.submit(player(f"player-{seat}"), wanted)).step.match
    return match.match_id


class Server:
    """A server with our log, and what appends to it."""

    def __init__(self, fsync: str, server: EmbeddedServer, log: RedisEventLog) -> None:
        self.variant, self.server, self.log = f"promontory {fsync}", server, log

    async def append(self, commits: Sequence[Commit], name: str) -> AsyncIterator[int]:
        """Append `commits` as those of the match `name`; yield how many events each has."""
        position = START
        for commit in commits:
            proposed = Proposed(commit.events, commit.command_id, "0" * 64, meta=commit.meta)
            appended = await self.log.append(name, proposed, expected=position)
            position = Position(appended.version, appended.head or b"")
            yield len(commit.events)


@asynccontextmanager
async def running(fsync: Literal["everysec", "always"], directory: Path) -> AsyncIterator[Server]:
    """Run an embedded server with our log."""
    with EmbeddedServer(directory / fsync, fsync=fsync) as server:
        await load_all(server.url, require_aof=True)
        async with open_log(server.url, clock=clock.now_ms, require_aof=True) as log:
            yield Server(fsync, server, log)


async def appends(server: Server, commits: Sequence[Commit], load: Load, *, at_once: int) -> Appends:
    """Append matches, so many at once, for as long as the load says."""
    done, events, names = 0, 0, _names(server.variant)
    meter = Meter({"client": os.getpid(), "server": server.server.pid})
    until = time.perf_counter() + load.seconds

    async def write() -> None:
        nonlocal done, events
        while time.perf_counter() < until:
            async for count in server.append(commits, next(names)):
                done, events = done + 1, events + count
                if time.perf_counter() >= until:
                    break

    await asyncio.gather(*(write() for _ in range(at_once)))
    return _appends(server.variant, at_once, meter, done=done, events=events)


def appends_of_peer(peer: Peer, commits: Sequence[Commit], load: Load, *, at_once: int) -> Appends:
    """Have the peer append matches, so many at once, for as long as the load says."""
    meter = Meter({"client": os.getpid()})
    done, events = peer.append_for(commits, load.seconds, threads=at_once)
    return _appends(peer.variant, at_once, meter, done=done, events=events)


def _appends(variant: str, at_once: int, meter: Meter, *, done: int, events: int) -> Appends:
    measured = meter.read()
    return Appends(
        variant=variant,
        at_once=at_once,
        commits_per_second=round(done / measured.seconds),
        events_per_second=round(events / measured.seconds),
        client_cpu_us=round(1e6 * measured.cpu["client"] / done, 1),
        server_cpu_us=round(1e6 * measured.cpu.get("server", 0.0) / done, 1),
        foreign_cores=measured.foreign_cores,
    )


def _names(variant: str) -> Iterator[str]:
    number, stem = 0, "".join(letter for letter in variant if letter.isalpha())
    while True:
        number += 1
        yield f"tc-{number % 64:03x}-{stem}{time.time_ns()}x{number}"


async def replayed(variant: str, read: Callable[[], Awaitable[int]], load: Load) -> Replay:
    """Read a match again and again for as long as the load says; `read` returns how many events it has."""
    taken, until, events = [], time.perf_counter() + load.seconds, 0
    while time.perf_counter() < until:
        began = time.perf_counter()
        events = await read()
        taken.append(time.perf_counter() - began)
    seconds = median(taken)
    return Replay(variant, events, round(1000 * seconds, 3), round(events / seconds))


async def replays(server: Server, match_id: str, peers: Sequence[Peer], load: Load) -> list[Replay]:
    """Return what it takes to read the match, ours and theirs, as bytes and folded."""

    async def as_bytes() -> int:
        return sum(len(commit.events) for commit in await server.log.read(match_id))

    events = await as_bytes()
    commits = await server.log.read(match_id)

    async def folded() -> int:
        await Bench(server.log, game=load.game).matches.fresh(match_id)
        return events

    found = [await replayed("promontory bytes", as_bytes, load), await replayed("promontory folded", folded, load)]
    for peer in peers:
        name = peer.append_one(commits)

        async def theirs(peer: Peer = peer, name: Any = name) -> int:
            return peer.replay(name)

        found.append(await replayed(peer.variant, theirs, load))
    return found


async def openings(server: Server, match_id: str, load: Load) -> list[Opening]:
    """Return how long it takes to open the match at some of its versions."""
    commits = await server.log.read(match_id)
    eighths = {f"{number}/8": number * len(commits) // 8 for number in range(1, 8)}
    places = {"first": 1, **eighths, "last": len(commits)}
    return [await _opening(server, match_id, at, load, commits=commits[:version]) for at, version in places.items()]


async def _opening(server: Server, match_id: str, at: str, load: Load, *, commits: Sequence[Commit]) -> Opening:
    settle()
    taken, cpu, until = list[float](), list[float](), time.perf_counter() + load.seconds
    reader = Caller("reader", frozenset({"history:read"}))
    while time.perf_counter() < until:
        bench, began, spent = Bench(server.log, game=load.game), time.perf_counter(), time.process_time()
        match = await bench.referee.look(reader, match_id, None, version=len(commits))
        bench.ruleset.game.view(match.state, None)
        cpu.append(time.process_time() - spent)
        taken.append(time.perf_counter() - began)
    spans, cpu_ms = spread(taken), 1000 * median(cpu)
    events = sum(len(commit.events) for commit in commits)
    return Opening(at, len(commits), events, round(spans.p50, 2), round(spans.longest, 2), round(cpu_ms, 2))


async def memory(server: Server, match_id: str) -> Memory:
    """Return the server's memory for the match: of its keys, and, with all around it, the mean of some copies."""
    copies, commits = 20, await server.log.read(match_id)
    bucket = ":".join(match_id.split("-")[:2])
    async with connect(server.server.url) as connections:
        client: Any = connections.commands
        keys = [f"{{{bucket}}}:m:{match_id}:{part}" for part in ("log", "idem", "head")]
        log, idempotency, _ = [int(await client.memory_usage(key, samples=0) or 0) for key in keys]
        before = int((await client.info("memory"))["used_memory"])
        for number in range(copies):
            async for _ in server.append(commits, f"tc-000-copy{number}"):
                pass
        grown = (int((await client.info("memory"))["used_memory"]) - before) / copies
    events = sum(len(commit.events) for commit in commits)
    return Memory(
        events=events,
        commits=len(commits),
        payload_bytes=sum(len(event.payload) for commit in commits for event in commit.events),
        log_bytes=log,
        idempotency_bytes=idempotency,
        match_bytes=round(grown),
        bytes_per_event=round(grown / events, 1),
        bytes_per_commit=round(grown / len(commits), 1),
    )


async def measure(load: Load, shown: Progress) -> Figures:
    """Return the figures of one run."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        async with running("everysec", directory) as often, running("always", directory) as always:
            match_id = await play(often.log, load.game, events=load.events)
            commits = await often.log.read(match_id)
            peers = [Peer(kind, directory) for kind in KINDS] if has_peer() else []
            places: list[Server | Peer] = [often, always, *peers]
            kinds = [(each, at_once) for each in places for at_once in (1, load.at_once)]
            order = shown.track(list(turns(kinds, load.rounds)), description="Appending")
            best = _best([await _append(each, commits, load, at_once=at_once) for each, at_once in order])
            read = await replays(often, match_id, peers, load)
            opened = await openings(often, match_id, load)
            used = await memory(often, match_id)
            for peer in peers:
                peer.close()
    return Figures(load, best, read, opened, used, ratios(best, read), ratios_to_goal(opened))


async def _append(where: Server | Peer, commits: Sequence[Commit], load: Load, *, at_once: int) -> Appends:
    if isinstance(where, Server):
        return await appends(where, commits, load, at_once=at_once)
    return await asyncio.to_thread(appends_of_peer, where, commits, load, at_once=at_once)


def _best(found: Sequence[Appends]) -> list[Appends]:
    """Return the fastest round of each variant, in a fixed order."""
    best: dict[tuple[str, int], Appends] = {}
    for each in sorted(found, key=lambda each: each.commits_per_second):
        best[each.variant, each.at_once] = each
    return [best[key] for key in sorted(best, key=lambda key: (key[1], not key[0].startswith("promontory"), key))]


def ratios(found: Sequence[Appends], read: Sequence[Replay]) -> dict[str, float]:
    """Return ours to theirs: appends and replays a second, client CPU an append."""
    ratio: dict[str, float] = {}
    for ours, theirs in product(found, found):
        if ours.at_once == theirs.at_once and _is_ours(ours.variant) > _is_ours(theirs.variant):
            pair = f"{_word(ours.variant)}_{ours.at_once}_to_{_word(theirs.variant)}"
            ratio[f"appends_{pair}"] = round(ours.commits_per_second / theirs.commits_per_second, 3)
            ratio[f"client_cpu_{pair}"] = round(ours.client_cpu_us / (theirs.client_cpu_us or 1), 3)
    speeds = {each.variant: each.events_per_second for each in read}
    for ours_name, theirs_name in LIKE_READS:
        if theirs_name in speeds:
            name = f"replay_{_word(ours_name)}_to_{_word(theirs_name)}"
            ratio[name] = round(speeds[ours_name] / speeds[theirs_name], 3)
    return ratio


def ratios_to_goal(opened: Sequence[Opening]) -> dict[str, float]:
    """Return the slowest cold opening, elapsed and CPU time, to the goal."""
    return {
        "elapsed": round(max(each.p50_ms for each in opened) / GOAL_MS, 3),
        "cpu": round(max(each.cpu_ms for each in opened) / GOAL_MS, 3),
    }


def _is_ours(variant: str) -> bool:
    return variant.startswith("promontory")


def _word(variant: str) -> str:
    return variant.rpartition(" ")[2]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("log", __doc__)
    names = [game.name for game in GAMES]
    parser.add_argument("--game", choices=names, default="transcontinental", help="the game (default: %(default)s)")
    parser.add_argument("--events", type=whole, default=1200, help="least events of the match (default: %(default)s)")
    parser.add_argument("--seconds", type=amount, default=1.5, help="how long for each figure (default: %(default)s)")
    parser.add_argument("--rounds", type=whole, default=2, help="rounds of appends (default: %(default)s)")
    parser.add_argument("--at-once", type=whole, default=64, help="appends under way at a time (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = Load(arguments.game, arguments.events, arguments.seconds, arguments.rounds, arguments.at_once)
    if not has_peer():
        sys.stderr.write(f"{TO_INSTALL}\n")
    with progress(quiet=arguments.json) as shown:
        figures = uvloop.run(measure(load, shown))
    report(figures, _tables(figures), only_json=arguments.json)


def _tables(figures: Figures) -> Iterator[Table]:
    made = table(
        "Appends", "variant", "at once", "commits/s", "events/s", "client CPU µs", "server CPU µs", "others' cores"
    )
    for each in figures.appends:
        rates = (rounded(each.commits_per_second), rounded(each.events_per_second))
        spent = (rounded(each.client_cpu_us), rounded(each.server_cpu_us) if each.server_cpu_us else "")
        made.add_row(each.variant, str(each.at_once), *rates, *spent, f"{each.foreign_cores:.2f}")
    yield made
    made = table("A whole match read", "variant", "events", "ms", "events/s")
    for replay in figures.replays:
        made.add_row(replay.variant, f"{replay.events:,}", rounded(replay.ms), rounded(replay.events_per_second))
    yield made
    made = table(
        f"A match of {figures.load.game} opened cold (goal: {GOAL_MS} ms)",
        "at",
        "version",
        "events",
        "p50 ms",
        "longest ms",
        "CPU ms",
    )
    for opening in figures.openings:
        spans = (rounded(opening.p50_ms), rounded(opening.longest_ms), rounded(opening.cpu_ms))
        made.add_row(opening.at, str(opening.version), f"{opening.events:,}", *spans)
    yield made
    yield _of_memory(figures.memory)
    yield _of_ratios(figures)


def _of_ratios(figures: Figures) -> Table:
    made = table("Ours to theirs", "", "appends/s", "client CPU", "replayed events/s")
    for name, appended in figures.ratio_to_eventsourcing.items():
        kind, _, pair = name.partition("_")
        if kind == "appends":
            made.add_row(words(pair), rounded(appended), rounded(figures.ratio_to_eventsourcing[f"client_cpu_{pair}"]))
        elif kind == "replay":
            made.add_row(words(pair), "", "", rounded(appended))
    return made


def _of_memory(used: Memory) -> Table:
    made = table("The server's memory for the match", "", "")
    rows = {
        "events": f"{used.events:,} in {used.commits:,} commits",
        "their messages": f"{used.payload_bytes:,} bytes",
        "the log's key": f"{used.log_bytes:,} bytes",
        "the key of command ids": f"{used.idempotency_bytes:,} bytes",
        "all, with index and notes": f"{used.match_bytes:,} bytes",
        "that is for an event": f"{used.bytes_per_event:,.0f} bytes",
        "or for a commit": f"{used.bytes_per_commit:,.0f} bytes",
    }
    for row in rows.items():
        made.add_row(*row)
    return made


if __name__ == "__main__":
    run(main)
