"""What watching costs: `make bench-watch`, or `python -m tests.bench.watch --help`.

First one match at a time, with a crowd: what a commit costs that 1, 100 or 5,000 spectators are told of, and how long
it takes until the first and the last of them has it (`crowds.py`).

Then a rules process, with an event log of its own, referees many matches of one game; in each two players and some
spectators watch, over several connections, while the players play at a steady pace. Then the process is killed, another
one is started, and all watchers go on there by their tokens. Whatever they were told must be without gaps, and for all
spectators of a match the same bytes; otherwise there are no figures.

Clients, server and log share the machine, so that times are no better than the machine can do both ends at once; the
server's CPU time and memory are its own. `--seconds` and `--rate` say how long and how fast is played.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import uvloop
from rich.progress import Progress
from rich.table import Table

from promontory.games import registry
from promontory.runtime.server import settle
from tests.bench.crowds import OneMatch, crowds_table, measure_crowds
from tests.bench.measuring import Meter, Spread, spread
from tests.bench.reporting import amount, parser_of, progress, report, run, table, whole
from tests.bench.watching import (
    LATE_SECONDS,
    STREAMS_PER_CONNECTION,
    Watched,
    Watcher,
    WatchSite,
    WrongStream,
    ended,
    opened,
    spectator_of,
    unless_failed,
    watch_site,
)
from tests.support.waiting import eventually


class Load(msgspec.Struct, frozen=True):
    """What is watched and played: so many watchers of so many matches, and commits a second for so many seconds.

    Before that, one match for each of `crowds`, which is how many spectators it has, for `crowd_seconds`.
    """

    game: str
    matches: int
    watchers: int
    rate: float
    seconds: float
    crowds: Sequence[int]
    crowd_seconds: float


class ManyMatches(msgspec.Struct, frozen=True):
    """The figures of many matches. Memory is the server's, resident; its CPU time is for a commit, or for a message.

    `wake_up` is from a submission to each watcher, `submission` to the player's answer. From the kill of the process,
    `resumed_seconds` go by until the last watcher is told something by the next one, whose start takes
    `started_seconds` of them. `foreign_cores` is how much of the machine others used while players played.
    """

    commits: int
    messages: int
    commits_per_second: float
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


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run."""

    load: Load
    one_match: OneMatch
    many_matches: ManyMatches


def seated(load: Load, matches: Sequence[Watched], site: WatchSite) -> list[Watcher]:
    """Return the watchers: the players of each match, and as many spectators, the same number for each."""
    watchers = []
    for number in range(load.watchers):
        match, place = matches[number % len(matches)], number // len(matches)
        is_player = place < len(match.players)
        metadata = match.players[place] if is_player else spectator_of(site, number)
        channel = number // STREAMS_PER_CONNECTION
        watchers.append(Watcher(match, place if is_player else None, channel, metadata))
    return watchers


class Players:
    """Plays the matches in turn, at a steady pace, by legal moves at random."""

    def __init__(self, site: WatchSite, matches: Sequence[Watched]) -> None:
        self._site, self._matches = site, matches
        self.answered: list[float] = []

    async def play(self, load: Load) -> None:
        """Play for as long as there are seconds."""
        start = time.perf_counter()
        async with asyncio.TaskGroup() as moving:
            for number in range(int(load.rate * load.seconds)):
                await asyncio.sleep(max(0, start + number / load.rate - time.perf_counter()))
                match = self._matches[number % len(self._matches)]
                if match.to_act and match.version + 1 not in match.submitted:
                    moving.create_task(self._move(match))

    async def _move(self, match: Watched) -> None:
        self.answered.append(await self._site.move(match))


async def caught_up(watchers: Sequence[Watcher], tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until every watcher was told the last version of its match, and check that all were told the same."""

    async def all_told() -> bool:
        return all(watcher.version >= _last(watcher.match) for watcher in watchers)

    await unless_failed(eventually(all_told, seconds=LATE_SECONDS), tasks)
    told = Counter({(id(each.match), each.seat, each.hash.digest()): 1 for each in watchers})
    audiences = {(id(each.match), each.seat) for each in watchers}
    if len(told) != len(audiences):
        raise WrongStream("watchers of one match were told different things")


def _last(match: Watched) -> int:
    return max(match.submitted, default=1)


async def measure(load: Load, shown: Progress) -> Figures:
    """Return the figures of one run. Raises `WrongStream`."""
    crowds = shown.track(load.crowds, description="Watching one match")
    one_match = await measure_crowds(load.game, crowds, seconds=load.crowd_seconds)
    for _ in shown.track([load.matches], description="Watching many matches"):
        many_matches = await measure_many(load)
    return Figures(load, one_match, many_matches)


async def measure_many(load: Load) -> ManyMatches:
    """Return the figures of many matches. Raises `WrongStream`."""
    async with watch_site(load.game) as where:
        await where.connect(load.watchers)
        matches = [await where.create() for _ in range(load.matches)]
        base = where.memory_mib()
        watchers = seated(load, matches, where)
        tasks = await opened(where, watchers)
        settle()
        watched, meter, begun = where.memory_mib(), Meter(where.pids), time.perf_counter()
        players = Players(where, matches)
        await unless_failed(players.play(load), tasks, seconds=load.seconds + LATE_SECONDS)
        taken = time.perf_counter() - begun
        await caught_up(watchers, tasks)
        measured, played = meter.read(), where.memory_mib()
        started, resumed = await restarted(where, watchers, tasks)
        await ended(tasks)
    commits, wake_ups = len(players.answered), [each for match in matches for each in match.wake_ups]
    return ManyMatches(
        commits=commits,
        messages=len(wake_ups),
        commits_per_second=round(commits / taken, 1),
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
    where: WatchSite, watchers: Sequence[Watcher], tasks: Sequence[asyncio.Task[None]]
) -> tuple[float, float]:
    """Kill the process, start another, and return how long that took, and how long until all watchers went on."""
    begun = time.perf_counter()
    where.kill()
    await asyncio.to_thread(where.start)
    started = time.perf_counter() - begun
    await where.connect(len(watchers))
    await unless_failed(asyncio.gather(*(watcher.is_back.wait() for watcher in watchers)), tasks)
    return started, time.perf_counter() - begun


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("watch", __doc__)
    names = [game.name for game in registry.GAMES]
    add = parser.add_argument
    add("--game", choices=names, default="transcontinental", help="the game (default: %(default)s)")
    add("--crowds", type=whole, nargs="+", default=[1, 100, 5000], help="spectators of a match (default: 1 100 5000)")
    add("--crowd-seconds", type=amount, default=5, help="how long each of these is played (default: %(default)s)")
    add("--matches", type=whole, default=500, help="matches at a time, after that (default: %(default)s)")
    add("--watchers", type=whole, default=5000, help="streams in all, players' included (default: %(default)s)")
    add("--rate", type=amount, default=100, help="commits a second (default: %(default)s)")
    add("--seconds", type=amount, default=40, help="how long to play (default: %(default)s)")
    arguments = vars(parser.parse_args(argv))
    quiet = arguments.pop("json")
    load = Load(**arguments)
    if load.watchers < (least := load.matches * registry.game(load.game).seats.start):
        parser.error(f"--watchers: {load.matches} matches have {least} players, who all watch")
    with progress(quiet=quiet) as shown:
        figures = uvloop.run(measure(load, shown))
    report(figures, _tables(figures), only_json=quiet)


def _tables(figures: Figures) -> Iterator[Table]:
    yield crowds_table(figures.one_match)
    load, many = figures.load, figures.many_matches
    title = f"{load.watchers} watchers of {load.matches} matches of {load.game}: no gap, and the same for all"
    made = table(title, "", "")
    rows = {
        "commits, each to all who watch the match": f"{many.commits:,} at {many.commits_per_second:,.0f} a second",
        "messages to watchers": f"{many.messages:,}",
        "memory with the matches, and nobody watching": f"{many.base_mib:,.0f} MiB",
        "with all watching": f"{many.watched_mib:,.0f} MiB",
        "after the play": f"{many.played_mib:,.0f} MiB",
        "that is for each watcher": f"{many.kib_per_watcher:,.0f} KiB",
        "CPU for a commit": f"{many.cpu_ms_per_commit:.2f} ms",
        "or for a message": f"{many.cpu_us_per_message:,.0f} µs",
        "from submission to watcher": _spread(many.wake_up),
        "from submission to answer": _spread(many.submission),
        "from a kill to the next process": f"{many.started_seconds:.1f} s",
        "until all watch again": f"{many.resumed_seconds:.1f} s",
        "cores used by others": f"{many.foreign_cores:.2f}",
    }
    for row in rows.items():
        made.add_row(*row)
    yield made


def _spread(times: Spread) -> str:
    return f"p50 {times.p50:,.1f} ms, p99 {times.p99:,.1f} ms, at most {times.longest:,.1f} ms"


if __name__ == "__main__":
    run(main)
