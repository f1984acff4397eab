"""What a command costs: `make bench-commands`, or `python -m tests.bench.commands --help`.

Two players each play matches of Transcontinental at once, over gRPC, and both follow theirs over a stream: the next
move comes only after both were told of the last one. Measured are moves a second, the time from a submission until both
were told, and the CPU time of all processes that serve: rules, relay, store. Beside it, in turns in the same run:

- the floor, a bare server that appends the same bytes, each command once (`peers/floor.py`): by unary calls, over one
  stream in both directions, and by unary calls with two streams that tell of each append;
- boardgame.io and Colyseus, in memory, with a game of one kind of move (`peers/node_servers.py`);
- with `--against`, another checkout of the project.

The load comes from this machine too, so moves a second say what it does with both ends at once. What is compared is
moves per CPU second of the servers. Transcontinental's rules, views and checks of identity are in Promontory's figures
only; so are two streams of about 1.5 kB a move, but for the floor that is `watched`.
"""

from __future__ import annotations

import argparse
import os
import pstats
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from rich.progress import Progress
from rich.table import Table as Shown

from tests.bench.contenders import Contender, FloorProcess, Platform
from tests.bench.measuring import Meter, Spread, Window, together, turns
from tests.bench.peers import node_servers
from tests.bench.peers.floor_tables import FloorLoad
from tests.bench.reporting import (
    amount,
    checkout,
    parser_of,
    place,
    progress,
    report,
    rounded,
    run,
    table,
    whole,
    words,
)
from tests.bench.tables import LINES

PROFILED_SECONDS = 5
PROFILED_MATCHES = 20
HOTTEST = 40
USUAL_FSYNC = "everysec"
SYSTEMS = ("promontory", "against", "floor", *node_servers.NAMES)


class Variant(msgspec.Struct, frozen=True):
    """One way to play: so many matches at once on one contender."""

    system: str
    kind: str
    fsync: str
    matches: int


class Figures(msgspec.Struct, frozen=True):
    """The figures of one variant over all its windows, or over the quiet ones if there are any.

    `latency` is from the submission until everybody was told. CPU times are of a move: of all that serves, of each of
    its processes, and of who plays.
    """

    variant: Variant
    moves: int
    moves_per_second: float
    latency: Spread
    cpu_us_per_move: float
    cpu_us_by_process: dict[str, float]
    client_us_per_move: float
    foreign_cores: float
    quiet_windows: int


class Ratio(msgspec.Struct, frozen=True):
    """Our moves per CPU second over another's, for each kind of ours; None if it was not measured."""

    unary: float | None = None
    stream: float | None = None


class Report(msgspec.Struct, frozen=True):
    """All figures, and ratios at `ratios_at_matches`; with fsync `everysec` where something is written to disk."""

    ratios_at_matches: int
    ratio_to_floor: Ratio
    ratio_to_watched_floor: Ratio
    ratio_to_boardgameio: Ratio
    ratio_to_colyseus: Ratio
    ratio_to_against: Ratio
    figures: Sequence[Figures]


class Plan(msgspec.Struct, frozen=True):
    """How much is measured: each variant in every round, for so many seconds; `against` is another checkout.

    Of all contenders there are, `only` those are measured, if any are named.
    """

    matches: Sequence[int]
    seconds: float
    rounds: int
    peers: bool
    against: Path | None = None
    only: Sequence[str] = ()


@asynccontextmanager
async def contenders(plan: Plan, directory: Path) -> Any:
    """Give all contenders by name, started, each with its matches opened."""
    async with AsyncExitStack() as stack:
        found: dict[str, Contender] = {}

        def add(contender: Contender) -> None:
            found[contender.name] = contender
            stack.callback(contender.close)

        platform = Platform(directory / "promontory")
        add(platform)
        await platform.start()
        await platform.open("unary", 1)
        await platform.play("unary", 1, platform.warming_seconds)
        if plan.against is not None:
            against = Platform(directory / "against", checkout=plan.against)
            add(against)
            await against.start()
        floor = FloorProcess(directory / "floor")
        add(floor)
        await floor.start(FloorLoad(platform.commits()))
        for name in node_servers.fetched() if plan.peers else ():
            add(node_servers.Peer(name, directory))
        yield {name: each for name, each in found.items() if not plan.only or name in plan.only}


def variants(found: dict[str, Contender], plan: Plan) -> list[Variant]:
    """Return all variants of all contenders."""
    return [
        Variant(each.name, kind, fsync, matches)
        for each in found.values()
        for kind in each.kinds
        for fsync in each.fsyncs
        for matches in plan.matches
    ]


async def warm(found: dict[str, Contender], plan: Plan) -> None:
    """Open all matches, and play them for a moment."""
    for each in found.values():
        for kind in each.kinds:
            await each.open(kind, max(plan.matches))
            await each.play(kind, max(plan.matches), each.warming_seconds)


async def window(contender: Contender, variant: Variant, seconds: float) -> Window:
    """Return what is measured of a variant once."""
    await contender.use(variant.fsync)
    meter = Meter({**contender.pids, "client": contender.client})
    times = await contender.play(variant.kind, variant.matches, seconds)
    return Window(times, meter.read())


def figures(variant: Variant, windows: Sequence[Window]) -> Figures:
    """Return the figures of a variant from its windows."""
    found = together(windows)
    by_process = dict(found.cpu_us)
    client = by_process.pop("client")
    return Figures(
        variant=variant,
        moves=found.moves,
        moves_per_second=found.moves_per_second,
        latency=found.latency,
        cpu_us_per_move=round(sum(by_process.values()), 1),
        cpu_us_by_process=by_process,
        client_us_per_move=client,
        foreign_cores=found.foreign_cores,
        quiet_windows=found.quiet_windows,
    )


async def measure(plan: Plan, shown: Progress) -> Report:
    """Return the figures of all variants."""
    step = shown.add_task("Opening matches")
    with tempfile.TemporaryDirectory() as name:
        async with contenders(plan, Path(name)) as found:
            await warm(found, plan)
            order = variants(found, plan)
            windows: dict[Variant, list[Window]] = {each: [] for each in order}
            shown.update(step, total=len(order) * plan.rounds, description="Playing, in turns")
            for variant in turns(order, plan.rounds):
                windows[variant].append(await window(found[variant.system], variant, plan.seconds))
                shown.advance(step)
    return _report([figures(variant, windows[variant]) for variant in order], plan)


def _report(found: Sequence[Figures], plan: Plan) -> Report:
    matches = sorted(plan.matches)[len(plan.matches) // 2]
    costs = {
        (each.variant.system, each.variant.kind): each.cpu_us_per_move
        for each in found
        if each.variant.matches == matches and each.variant.fsync in {USUAL_FSYNC, node_servers.IN_MEMORY}
    }

    def ratio(system: str, unary: str, stream: str) -> Ratio:
        kinds = {"unary": unary, "stream": stream}
        return Ratio(**{kind: _ratio(costs, ("promontory", kind), (system, other)) for kind, other in kinds.items()})

    return Report(
        ratios_at_matches=matches,
        ratio_to_floor=ratio("floor", "unary", "stream"),
        ratio_to_watched_floor=ratio("floor", "watched", ""),
        ratio_to_boardgameio=ratio("boardgameio", "sockets", "sockets"),
        ratio_to_colyseus=ratio("colyseus", "sockets", "sockets"),
        ratio_to_against=ratio("against", "unary", "stream"),
        figures=found,
    )


def _ratio(costs: dict[tuple[str, str], float], ours: tuple[str, str], other: tuple[str, str]) -> float | None:
    return round(costs[other] / costs[ours], 3) if ours in costs and other in costs else None


def tables(found: Report) -> Iterator[Shown]:
    """Yield the tables that people read."""
    columns = ("fsync", "matches", "moves/s", "p50 ms", "p95", "p99", "CPU µs/move", "of which", "client", "foreign")
    made = table("Commands: each next one after all were told of the last", "system", *columns)
    made.columns[-3].overflow = "fold"
    for each in found.figures:
        one, latency = each.variant, each.latency
        parts = " ".join(f"{name} {cost:,.0f}" for name, cost in each.cpu_us_by_process.items())
        times = [rounded(value) for value in (latency.p50, latency.p95, latency.p99)]
        costs = [rounded(each.cpu_us_per_move), parts, rounded(each.client_us_per_move), f"{each.foreign_cores:.2f}"]
        variant = (f"{one.system} {one.kind}", one.fsync, str(one.matches), rounded(each.moves_per_second))
        made.add_row(*variant, *times, *costs)
    yield made
    ratios = table(
        f"Our moves per CPU second to theirs, {found.ratios_at_matches} matches", "theirs", "unary", "stream"
    )
    for name in ("floor", "watched_floor", "boardgameio", "colyseus", "against"):
        ratio: Ratio = getattr(found, f"ratio_to_{name}")
        if ratio != Ratio():
            cells = ("" if value is None else f"{value:.2f}" for value in (ratio.unary, ratio.stream))
            ratios.add_row(words(name), *cells)
    if ratios.row_count:
        yield ratios


async def profile(kind: str) -> tuple[pstats.Stats, int]:
    """Return where the rules process spends its time while it is played on, and how many moves that was."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "rules.prof"
        platform = Platform(Path(name) / "promontory", profile=file)
        try:
            await platform.start()
            await platform.open(kind, PROFILED_MATCHES)
            await platform.play(kind, PROFILED_MATCHES, platform.warming_seconds)
            os.kill(platform.pids["rules"], signal.SIGUSR2)
            moves = len(await platform.play(kind, PROFILED_MATCHES, PROFILED_SECONDS))
            os.kill(platform.pids["rules"], signal.SIGUSR2)
            await platform.play(kind, 1, platform.warming_seconds)
        finally:
            platform.close()
        return pstats.Stats(str(file)), moves


def hottest(stats: pstats.Stats, moves: int) -> Shown:
    """Return the table of the functions that take most time themselves."""
    made = table(f"Hottest of the rules process, µs a move of {moves:,}", "function", "own", "with callees", "calls")
    entries = stats.stats.items()  # type: ignore[attr-defined]
    for where, (_, calls, own, cumulative, _) in sorted(entries, key=lambda item: -item[1][2])[:HOTTEST]:
        cells = (f"{1e6 * own / moves:.1f}", f"{1e6 * cumulative / moves:.1f}", f"{calls / moves:.2f}")
        made.add_row(place(where), *cells)
    return made


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("commands", __doc__)
    add = parser.add_argument
    add("--matches", type=whole, nargs="+", default=[1, 20, 50], help="matches at once (default: 1 20 50)")
    add("--seconds", type=amount, default=1.2, help="how long a variant is measured at a time (default: %(default)s)")
    add("--rounds", type=whole, default=3, help="how often each is (default: %(default)s)")
    add("--peers", action=argparse.BooleanOptionalAction, default=True, help="measure boardgame.io and Colyseus too")
    add("--against", type=checkout, metavar="CHECKOUT", help="measure another checkout of the project too, in turns")
    add("--only", nargs="+", default=[], choices=SYSTEMS, metavar="SYSTEM", help=f"of {', '.join(SYSTEMS)}")
    add(
        "--profile",
        nargs="?",
        const="unary",
        choices=tuple(LINES),
        help="show what is hottest in the rules process instead: by calls, or over streams (default: %(const)s)",
    )
    chosen = parser.parse_args(argv)
    if chosen.profile:
        stats, moves = uvloop.run(profile(chosen.profile))
        report({"moves": moves}, [hottest(stats, moves)], only_json=chosen.json)
        return
    plan = Plan(chosen.matches, chosen.seconds, chosen.rounds, chosen.peers, chosen.against, chosen.only)
    with progress(quiet=chosen.json) as shown:
        found = uvloop.run(measure(plan, shown))
    report(found, tables(found), only_json=chosen.json)


if __name__ == "__main__":
    run(main)
