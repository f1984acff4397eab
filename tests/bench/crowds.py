"""What one commit costs that many watch: one match at a time, its two players, and a crowd of spectators.

The next move comes only after everybody was told of the last one. Spectators do next to nothing with what they are
told, and all of them read it in this one process, so that the last one's time is that of a machine with two cores.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.table import Table

from promontory.runtime.server import settle
from tests.bench.measuring import Meter, Spread, spread
from tests.bench.reporting import rounded, table
from tests.bench.watching import (
    OPENING_AT_ONCE,
    STREAMS_PER_CONNECTION,
    Watched,
    Watcher,
    WatchSite,
    WrongStream,
    batched,
    ended,
    opened,
    spectator_of,
    unless_failed,
    watch_site,
)

MANY = 50
"""From how many spectators on what each of them costs can be told from what the commit costs."""


class Crowd(msgspec.Struct, frozen=True):
    """What a commit to so many spectators, and to the two players, costs the rules process, and how long it takes.

    `first`, `middle` and `last` are the times from the submission until the first of them was told, half of them, and
    all. What each takes of CPU time and memory is what the process takes more than without them; None if they are too
    few to tell.
    """

    watchers: int
    commits: int
    cpu_ms_per_commit: float
    cpu_us_per_watcher: float | None
    kib_per_watcher: float | None
    first: Spread
    middle: Spread
    last: Spread
    client_cpu_ms_per_commit: float
    foreign_cores: float


class OneMatch(msgspec.Struct, frozen=True):
    """What a commit costs the rules process that only its players watch, and what it does with a crowd of each size."""

    players_only_cpu_ms_per_commit: float
    crowds: Sequence[Crowd]


class Spectators:
    """Many streams of one match, read as bytes: all must be told the same, once."""

    def __init__(self, site: WatchSite, match: Watched, count: int) -> None:
        self._site, self._match, self._count = site, match, count
        self._news, self._times = b"", dict[int, float]()
        self._everybody = asyncio.Event()

    async def join(self) -> list[asyncio.Task[None]]:
        """Open all streams, some at a time, and return the tasks that read them."""
        tasks: list[asyncio.Task[None]] = []
        for numbers in batched(range(self._count), OPENING_AT_ONCE):
            joined = [asyncio.Event() for _ in numbers]
            tasks += [asyncio.create_task(self._watch(*each)) for each in zip(numbers, joined, strict=True)]
            await unless_failed(asyncio.gather(*(each.wait() for each in joined)), tasks)
        return tasks

    async def _watch(self, number: int, joined: asyncio.Event) -> None:
        request = self._site.pb.WatchMatchRequest(match_id=self._match.match_id)
        metadata = spectator_of(self._site, number)
        async for raw in self._site.watch(request, number // STREAMS_PER_CONNECTION, metadata):
            if raw == self._news or self._is_first(raw):
                self._tell(number)
            joined.set()

    def _is_first(self, raw: bytes) -> bool:
        """Return whether this tells, before all others, of the commit that is waited for."""
        message: Any = self._site.pb.WatchMatchResponse.FromString(raw)
        if not message.HasField("commit"):
            return False
        if self._times or message.commit.version != max(self._match.submitted):
            raise WrongStream(f"spectators were told different things of version {message.commit.version}")
        self._news = raw
        return True

    def _tell(self, number: int) -> None:
        if number in self._times:
            raise WrongStream("a spectator was told twice of one commit")
        self._times[number] = time.perf_counter()
        if len(self._times) == self._count:
            self._everybody.set()

    def expect(self) -> None:
        """Wait for the next commit from now on."""
        self._news, self._times = b"", {}
        self._everybody.clear()

    async def told(self) -> Iterable[float]:
        """Return when, by `time.perf_counter`, each was told of it."""
        if self._count:
            await self._everybody.wait()
        return self._times.values()


class _Play(msgspec.Struct, frozen=True):
    """How long it took after each commit until each spectator was told, in s; CPU time a commit, in ms."""

    times: Sequence[Sequence[float]]
    cpu_ms: float
    client_cpu_ms: float
    foreign_cores: float
    grown_kib: float


async def measure_crowds(game: str, sizes: Iterable[int], *, seconds: float) -> OneMatch:
    """Return the figures of crowds of these sizes, each of a match of its own that is played for so many seconds."""
    async with watch_site(game) as site:
        await _play(site, 0, seconds / 2)
        alone = await _play(site, 0, seconds)
        found = [_figures(size, await _play(site, size, seconds), alone) for size in sizes]
        return OneMatch(round(alone.cpu_ms, 3), found)


async def _play(site: WatchSite, size: int, seconds: float) -> _Play:
    """Play a match that so many spectators watch, until it is over or the time is."""
    await site.connect(max(size, 1))
    match, before = await site.create(), site.memory_mib()
    spectators = Spectators(site, match, size)
    players = [Watcher(match, seat, 0, metadata) for seat, metadata in enumerate(match.players)]
    reading = [*await opened(site, players), *await spectators.join()]
    settle()
    times: list[Sequence[float]] = []
    meter, until = Meter({**site.pids, "client": os.getpid()}), time.perf_counter() + seconds
    while match.to_act and time.perf_counter() < until:
        times.append(await _told(site, match, spectators, reading))
    measured = meter.read()
    grown = site.memory_mib() - before
    await ended(reading)
    cpu = {name: 1000 * each / len(times) for name, each in measured.cpu.items()}
    return _Play(times, cpu["rules"], cpu["client"], measured.foreign_cores, 1024 * grown)


async def _told(
    site: WatchSite, match: Watched, spectators: Spectators, reading: Sequence[asyncio.Task[None]]
) -> list[float]:
    """Play the next move, wait for all to be told, and return how long it took until each spectator was."""

    async def told() -> None:
        await site.move(match)
        await match.players_told()
        await spectators.told()

    spectators.expect()
    await unless_failed(told(), reading)
    return [each - match.submitted[match.version] for each in await spectators.told()]


def _figures(size: int, played: _Play, alone: _Play) -> Crowd:
    each = [sorted(times) for times in played.times]
    is_many = size >= MANY
    return Crowd(
        watchers=size,
        commits=len(each),
        cpu_ms_per_commit=round(played.cpu_ms, 3),
        cpu_us_per_watcher=round(1000 * (played.cpu_ms - alone.cpu_ms) / size, 2) if is_many else None,
        kib_per_watcher=round(played.grown_kib / size, 1) if is_many else None,
        first=spread([times[0] for times in each]),
        middle=spread([times[size // 2] for times in each]),
        last=spread([times[-1] for times in each]),
        client_cpu_ms_per_commit=round(played.client_cpu_ms, 3),
        foreign_cores=played.foreign_cores,
    )


def crowds_table(found: OneMatch) -> Table:
    """Return the table that people read."""
    alone = rounded(found.players_only_cpu_ms_per_commit)
    title = f"One match, its two players, and spectators; without any a commit takes {alone} ms of the rules process"
    columns = ("commits", "CPU ms", "µs a watcher", "KiB a watcher", "first ms", "middle", "last", "client", "foreign")
    made = table(title, "spectators", *columns)
    for each in found.crowds:
        own = ["" if one is None else rounded(one) for one in (each.cpu_us_per_watcher, each.kib_per_watcher)]
        waits = [rounded(one.p50) for one in (each.first, each.middle, each.last)]
        costs = (rounded(each.client_cpu_ms_per_commit), f"{each.foreign_cores:.2f}")
        made.add_row(f"{each.watchers:,}", f"{each.commits:,}", rounded(each.cpu_ms_per_commit), *own, *waits, *costs)
    made.caption = "first, middle, last: median time until a commit came to the first, to half, to all spectators"
    return made
