"""What more processes and more primaries change: `make bench-scale`, or `python -m tests.bench.scale --help`.

The same matches of Transcontinental as in `bench-commands` are played over one and two rules processes, on one server
and on real clusters of one and three primaries, all of which run at once and are measured in turns. Players'
connections are spread over the processes without regard to matches, so that with two every second match has its players
on different ones. Where one process is used, the other one is a bystander: it is only told of every commit, as each
rules process is of all of its game. What that takes at higher rates is measured by telling of commits that nobody made.

Everything shares this machine, players too, so that its cores limit how much faster two processes play: moves a
second and times are no measure of what a larger site does. What scales is CPU time per move by process: a second
process helps as long as that stays the same, and the process that is nearest to one core is the next wall, since none
of them uses more than one. `python -m tests.bench.capacity` reckons from these figures what operators need.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product
from pathlib import Path

import msgspec
import structlog
import uvloop
from rich.progress import Progress
from rich.table import Table as Shown

from tests.bench.measuring import Meter, Spread, Window, together, turns
from tests.bench.reporting import amount, parser_of, progress, report, rounded, run, table, whole
from tests.bench.sites import BYSTANDER, STORES, Site
from tests.bench.tables import LINES

PROCESSES = (1, 2)
WARMING_SECONDS = 0.4
TOLD_RATES = (500.0, 10_000.0)
GROUPS = ("rules", "relay", "store")


class Variant(msgspec.Struct, frozen=True):
    """One way to play: on a store, over so many rules processes, by one of the kinds of `tables.LINES`."""

    store: str
    processes: int
    kind: str


class Load(msgspec.Struct, frozen=True):
    """How much is measured: so many matches at once of every variant in every round, for so many seconds."""

    matches: int
    seconds: float
    rounds: int
    kinds: Sequence[str]


class Figures(msgspec.Struct, frozen=True):
    """The figures of one variant, over its quiet windows if there are any.

    `latency` is from a submission until both players were told. CPU times are µs a move: of all that serves, of each
    process, of who plays, and of a bystander if there is one. `cores` are how much of one each process used; `nearest`
    is the one that used most.
    """

    variant: Variant
    moves: int
    moves_per_second: float
    latency: Spread
    cpu_us_per_move: float
    cpu_us_by_process: Mapping[str, float]
    client_us_per_move: float
    bystander_us_per_move: float | None
    cores: Mapping[str, float]
    client_cores: float
    nearest: str
    foreign_cores: float
    quiet_windows: int


class Ratios(msgspec.Struct, frozen=True):
    """A variant's figures over those of one process on one server, of the same kind: CPU by group of processes."""

    variant: Variant
    moves_per_second: float
    cpu_per_move: float
    cpu_by_group: Mapping[str, float]


class Told(msgspec.Struct, frozen=True):
    """What being told of so many commits a second takes: cores by process, for commits of matches that nobody watches.

    Every rules process of a game is told of all commits of the game, and every relay of those of all its games.
    """

    store: str
    commits_per_second: float
    cores: Mapping[str, float]
    foreign_cores: float


class Report(msgspec.Struct, frozen=True):
    """All figures, their ratios to one process on one server, and what being told of commits takes."""

    load: Load
    figures: Sequence[Figures]
    ratio_to_one_process: Sequence[Ratios]
    told: Sequence[Told]


def variants(load: Load) -> list[Variant]:
    """Return all variants, the one others are compared with first of its kind."""
    return [Variant(*each) for each in product(STORES, PROCESSES, load.kinds)]


@asynccontextmanager
async def sites(directory: Path) -> AsyncIterator[Mapping[str, Site]]:
    """Give a site on each store, by the store's name, started."""
    async with AsyncExitStack() as stack:
        found: dict[str, Site] = {}
        for number, store in enumerate(STORES):
            broker = next(iter(found.values())).store_url if found else ""
            site = Site(directory / str(number), store=store, processes=max(PROCESSES), broker_url=broker)
            stack.callback(site.close)
            await site.start()
            found[store] = site
        yield found


async def window(site: Site, variant: Variant, load: Load) -> Window:
    """Return what is measured of a variant once."""
    meter = Meter({**site.pids(variant.processes), "client": os.getpid()})
    times = await site.tables(variant.processes).play(variant.kind, load.matches, load.seconds)
    return Window(times, meter.read())


async def measure(load: Load, bar: Progress) -> Report:
    """Return the figures of all variants."""
    windows: dict[Variant, list[Window]] = {each: [] for each in variants(load)}
    with tempfile.TemporaryDirectory() as name:
        async with sites(Path(name)) as found:
            for each in windows:
                tables = found[each.store].tables(each.processes)
                await tables.open(each.kind, load.matches)
                await tables.play(each.kind, load.matches, WARMING_SECONDS)
            order = list(turns(list(windows), load.rounds))
            for each in bar.track(order, description="Playing, in turns"):
                windows[each].append(await window(found[each.store], each, load))
            told = [await tell(found[store], store, rate, load) for store, rate in product(STORES, TOLD_RATES)]
    measured = [figures(variant, found) for variant, found in windows.items()]
    return Report(load, measured, [_ratios(each, measured) for each in measured], told)


async def tell(site: Site, store: str, rate: float, load: Load) -> Told:
    """Return what being told of so many commits a second takes."""
    await site.tell(rate, WARMING_SECONDS)
    meter = Meter(site.pids(max(PROCESSES)))
    told = await site.tell(rate, load.seconds * load.rounds)
    taken = meter.read()
    cores = {name: round(each / taken.seconds, 3) for name, each in taken.cpu.items()}
    return Told(store, round(told / taken.seconds), cores, taken.foreign_cores)


def figures(variant: Variant, windows: Sequence[Window]) -> Figures:
    """Return the figures of a variant from its windows."""
    found = together(windows)
    rate, by_process = found.moves_per_second / 1e6, dict(found.cpu_us)
    client, bystander = by_process.pop("client"), by_process.pop(BYSTANDER, None)
    cores = {name: round(each * rate, 3) for name, each in by_process.items()}
    return Figures(
        variant=variant,
        moves=found.moves,
        moves_per_second=found.moves_per_second,
        latency=found.latency,
        cpu_us_per_move=round(sum(by_process.values()), 1),
        cpu_us_by_process=by_process,
        client_us_per_move=client,
        bystander_us_per_move=bystander,
        cores=cores,
        client_cores=round(client * rate, 3),
        nearest=max(cores, key=lambda name: cores[name]),
        foreign_cores=found.foreign_cores,
        quiet_windows=found.quiet_windows,
    )


def grouped(by_process: Mapping[str, float]) -> dict[str, float]:
    """Return figures by process, such as `store-2`, added up by what the processes are."""
    return {
        group: sum(each for name, each in by_process.items() if name.partition("-")[0] == group) for group in GROUPS
    }


def _ratios(each: Figures, measured: Sequence[Figures]) -> Ratios:
    base = next(one for one in measured if one.variant.kind == each.variant.kind)
    ours, theirs = grouped(each.cpu_us_by_process), grouped(base.cpu_us_by_process)
    return Ratios(
        variant=each.variant,
        moves_per_second=round(each.moves_per_second / base.moves_per_second, 3),
        cpu_per_move=round(each.cpu_us_per_move / base.cpu_us_per_move, 3),
        cpu_by_group={group: round(ours[group] / theirs[group], 3) for group in GROUPS if theirs[group]},
    )


def shown(found: Report) -> Iterator[Shown]:
    """Yield the tables that people read."""
    columns = (
        "rules",
        "moves/s",
        "p50 ms",
        "p95",
        "CPU µs/move",
        "of which",
        "client",
        "bystander",
        "nearest",
        "foreign",
    )
    title = f"{found.load.matches} matches at once, {os.cpu_count()} cores for all, players included"
    made = table(title, "store", *columns)
    made.columns[6].overflow = "fold"
    for each in found.figures:
        parts = " ".join(f"{group} {_sum(each.cpu_us_by_process, group)}" for group in GROUPS)
        nearest = f"{each.nearest} {each.cores[each.nearest]:.2f}"
        times = (rounded(each.latency.p50), rounded(each.latency.p95))
        bystander = "" if each.bystander_us_per_move is None else rounded(each.bystander_us_per_move)
        costs = (rounded(each.cpu_us_per_move), parts, rounded(each.client_us_per_move), bystander)
        rate = rounded(each.moves_per_second)
        made.add_row(*_place(each.variant), rate, *times, *costs, nearest, f"{each.foreign_cores:.2f}")
    made.caption = "Cores limit moves/s and times; CPU per move by process is what scales. Nearest: to one core"
    yield made
    ratios = table("Ratios to one rules process on one server", "store", "rules", "moves/s", "CPU/move", *GROUPS)
    for ratio in found.ratio_to_one_process:
        cells = (ratio.moves_per_second, ratio.cpu_per_move, *(ratio.cpu_by_group.get(each, 0) for each in GROUPS))
        ratios.add_row(*_place(ratio.variant), *(f"{cell:.2f}" for cell in cells))
    yield ratios
    told = table("Being told of commits, whoever's they are", "store", "commits/s", "cores", "foreign")
    for one in found.told:
        parts = " ".join(f"{name} {cores:.2f}" for name, cores in one.cores.items())
        told.add_row(one.store, rounded(one.commits_per_second), parts, f"{one.foreign_cores:.2f}")
    yield told


def _sum(by_process: Mapping[str, float], group: str) -> str:
    return "+".join(f"{each:,.0f}" for name, each in by_process.items() if name.partition("-")[0] == group)


def _place(variant: Variant) -> tuple[str, str]:
    return f"{variant.store}, {variant.kind}", str(variant.processes)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("scale", __doc__)
    add = parser.add_argument
    add("--matches", type=whole, default=24, help="matches at once (default: %(default)s)")
    add("--seconds", type=amount, default=1.2, help="how long a variant is measured at a time (default: %(default)s)")
    add("--rounds", type=whole, default=3, help="how often each is (default: %(default)s)")
    add("--kinds", nargs="+", choices=tuple(LINES), default=list(LINES), help="ways to play (default: all)")
    chosen = parser.parse_args(argv)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    load = Load(chosen.matches, chosen.seconds, chosen.rounds, chosen.kinds)
    with progress(quiet=chosen.json) as bar:
        found = uvloop.run(measure(load, bar))
    report(found, shown(found), only_json=chosen.json)


if __name__ == "__main__":
    run(main)
