"""What a site needs, reckoned from measured costs: `make bench-capacity`, or `python -m tests.bench.capacity --help`.

Reads the file that `make bench` keeps and prints Markdown, each figure with its arithmetic. Costs are CPU time of each
process, measured with Transcontinental; another game's rules process costs as much more or less a command as its bare
rules do (a view, a choice, the command judged and recorded). Games are as long as random players make them, which is
longer than people do.

Being told of commits is reckoned apart, since it does not divide: every rules process is told of all commits of its
game, every relay of all there are, in batches that cost something even when they are small. It is taken off what was
measured of moves, turns and tallies, and put on each process. Where it would leave too little for playing, matches must
be spread over sites, each with a log of its own.

`--kind` says how people play: by calls, or over one stream, as the SDK does. The rest are assumptions about the site,
which the first table repeats. What is not in the file is left out and named last. No figure allows for cores that are
slower than those that were measured on, or for what stands by.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.costs import DAY_SECONDS, SEATS, Assumed, PlannedSite, planned_site
from tests.bench.earlier import Pieces, pieces_of
from tests.bench.reporting import BenchFailed, amount, parser_of, rounded, run, share, words
from tests.bench.tables import LINES

KIB, GIB = 2**10, 2**30
MAINLY = (
    ("rules", "move"),
    ("store", "move"),
    ("relay", "bot turn"),
    ("workers", "bot turn"),
    ("scoring", "tally"),
    ("matchmaking", "ticket"),
)
"""What each process mainly does."""


class Line(msgspec.Struct, frozen=True):
    """One figure, and how it comes about."""

    what: str
    arithmetic: str
    result: float
    unit: str


class Section(msgspec.Struct, frozen=True):
    """Figures that belong together."""

    title: str
    lines: Sequence[Line]


class Reckoning(msgspec.Struct, frozen=True):
    """All figures, and the pieces that were missing for more."""

    assumed: Assumed
    sections: Sequence[Section]
    missing: Sequence[str]


class TooLittle(BenchFailed):
    """Processes may not be used enough for what they are told."""


def reckon(pieces: Pieces, assumed: Assumed) -> Reckoning:
    """Return what cores carry and what a site needs, from the pieces of `make bench`.

    Raises:
        MissingPiece: there is no `rules`, or no `scale` with moves of this kind.
        TooLittle: being told of commits takes more than half of the use, however few there are.
    """
    site = planned_site(pieces, assumed)
    need = f"{assumed.games_per_day:,.0f} games a day"
    sections = [
        Section("Assumed", list(_assumed(site))),
        Section(f"What one core carries at {assumed.use:.0%} use, being told of commits apart", list(_carried(site))),
        Section("Games of two a day for which a core of rules has the time", list(_games_a_day(site))),
        Section(f"What {need} need: cores", list(_cores(site))),
        Section(f"What {need} need: memory and disk, in the busiest hour", list(_stored(pieces, site))),
    ]
    expected = ("rules", "scale", "bots", "matchmaking", "watch", "footprint")
    return Reckoning(assumed, sections, [name for name in expected if name not in pieces])


def _assumed(site: PlannedSite) -> Iterator[Line]:
    assumed = site.assumed
    yield Line("busiest hour", "times the average", assumed.peak, "times")
    yield Line("commands by house bots", "share of all", 100 * assumed.house, "%")
    yield Line("pace", "every command of a match takes", assumed.seconds_per_move, "s")
    lengths = " + ".join(f"{rounded(each.commands)} {words(each.name)}" for each in site.games)
    yield Line("commands a game", f"({lengths}) / {len(site.games)}, random play", site.length, "commands")
    for what, costs in site.costs.items():
        parts = " + ".join(f"{process} {rounded(each)}" for process, each in costs.items() if each)
        source = f" ({site.source})" if what == "move" else ""
        yield Line(f"CPU of a {what}", f"{parts}{source}", sum(costs.values()), "µs")
    for process, feed in site.feeds.items():
        who = "the store, for each process that is told" if process == "store" else f"a {process} process"
        arithmetic = f"{feed.fixed:.3f} cores, and for each commit"
        yield Line(f"being told of commits, {who}", arithmetic, feed.us, "µs")


def _carried(site: PlannedSite) -> Iterator[Line]:
    for process, what in MAINLY:
        if cost := site.costs.get(what, {}).get(process):
            arithmetic = f"{site.assumed.use} × 1,000,000 µs / {rounded(cost)} µs"
            plural = {"tally": "tallies"}.get(what, f"{what}s")
            yield Line(process, arithmetic, site.assumed.use * 1e6 / cost, f"{plural}/s")


def _games_a_day(site: PlannedSite) -> Iterator[Line]:
    busy = DAY_SECONDS * site.assumed.use
    for game in site.games:
        cost = site.costs["move"]["rules"] + game.extra_us
        arithmetic = f"{rounded(busy)} s × 1,000,000 / ({rounded(game.commands)} commands × {rounded(cost)} µs)"
        yield Line(words(game.name), arithmetic, busy * 1e6 / (game.commands * cost), "games a day")


def _cores(site: PlannedSite) -> Iterator[Line]:
    rate, peak = site.games_per_second, site.assumed.peak
    yield Line("games a second", f"{rounded(site.assumed.games_per_day)} / {DAY_SECONDS:,} s", rate, "games/s")
    moves = rate * site.length
    yield Line("commands a second", f"{rounded(rate)} × {rounded(site.length)} commands", moves, "commands/s")
    yield Line("in the busiest hour", f"{rounded(moves)} × {peak:g}", moves * peak, "commands/s")
    yield from _walls(site)
    average, busiest = list(_needed(site, 1.0)), list(_needed(site, peak))
    for when, lines in (("average", average), ("busiest hour", busiest)):
        for line in lines:
            yield msgspec.structs.replace(line, what=f"{line.what}, {when}")
        yield Line(f"all, {when}", "sum of the above", sum(line.result for line in lines), "cores")


def _walls(site: PlannedSite) -> Iterator[Line]:
    """Yield from which rate on being told takes all that processes may use, and how many sites keep far from it."""
    for process, whose in (("rules", "of a game"), ("relay", "of all games")):
        feed, use = site.feeds[process], site.assumed.use
        if feed.us:
            arithmetic = f"({use} − {feed.fixed:.3f}) × 1,000,000 / {rounded(feed.us)} µs"
            yield Line(
                f"being told fills {process}", arithmetic, (use - feed.fixed) * 1e6 / feed.us, f"commands/s {whose}"
            )
    count, arithmetic = _sites(site)
    yield Line("sites, each with a log of its own", arithmetic, count, "")


def _sites(site: PlannedSite) -> tuple[int, str]:
    """Return over how many sites matches must be spread so that being told takes half of the use at most, and why."""
    rates = {game.name: site.commands(game, site.assumed.peak) for game in site.games}
    busiest = max(rates, key=lambda name: rates[name])
    found: list[tuple[float, str]] = []
    for process, whose, rate in (("rules", busiest, rates[busiest]), ("relay", "all games", sum(rates.values()))):
        feed = site.feeds[process]
        room = site.assumed.use / 2 - feed.fixed
        if room <= 0:
            raise TooLittle(f"being told takes {feed.fixed:.3f} cores of {process}, half of --use {site.assumed.use}")
        taken = f"{process}: {rounded(rate)} commands/s of {words(whose)} × {rounded(feed.us)} µs / 1,000,000"
        found.append(
            (feed.us * rate / 1e6 / room, f"{taken} / ({site.assumed.use} / 2 − {feed.fixed:.3f}), rounded up")
        )
    most, arithmetic = max(found)
    return max(1, ceil(most)), arithmetic


def _needed(site: PlannedSite, times: float) -> Iterator[Line]:
    """Yield the cores of every process at so many times the average: of rules and relays, a core is one process."""
    rate, (sites, _), use = site.games_per_second * times, _sites(site), site.assumed.use
    told, telling = 0.0, 0.0
    for name, line, commands in _followers(site, times):
        yield msgspec.structs.replace(line, what=name)
        told, telling = told + line.result, telling + line.result * site.feeds["store"].cores(commands / sites)
    for process in ("store", "workers", "scoring", "matchmaking"):
        if per_game := site.mean_per_game(process):
            extra, beside = (telling, f" + {rounded(telling)} to tell {told:.0f}") if process == "store" else (0.0, "")
            arithmetic = f"({rounded(rate)} games/s × {rounded(per_game / 1000)} ms / 1,000{beside}) / {use}"
            yield Line(process, arithmetic, (rate * per_game / 1e6 + extra) / use, "cores")


def _followers(site: PlannedSite, times: float) -> Iterator[tuple[str, Line, float]]:
    """Yield what is told of commits, how many processes of it are needed, and the commits a second on all sites."""
    rate = site.games_per_second * times
    for game in site.games:
        commands = site.commands(game, times)
        work = rate / len(site.games) * site.per_game(game, "rules") / 1e6
        yield f"rules of {words(game.name)}", _processes(site, "rules", commands, work), commands
    commands = rate * site.length
    yield "relay", _processes(site, "relay", commands, rate * site.mean_per_game("relay") / 1e6), commands


def _processes(site: PlannedSite, process: str, commands: float, work: float) -> Line:
    """Return how many processes do `work` cores of work on all sites, where there are so many commands a second."""
    (sites, _), use = _sites(site), site.assumed.use
    here, told = work / sites, site.feeds[process].cores(commands / sites)
    left = f"({use} − {told:.2f} told of {rounded(commands / sites)}/s)"
    arithmetic = f"{sites} × ({rounded(here)} cores of work / {left}, rounded up)"
    return Line(process, arithmetic, sites * max(1, ceil(here / (use - told))), "cores")


def _stored(pieces: Pieces, site: PlannedSite) -> Iterator[Line]:
    games = site.games_per_second * site.assumed.peak
    pace = site.assumed.seconds_per_move
    arithmetic = f"{rounded(games)} games/s × {rounded(site.length)} commands × {pace:g} s"
    matches = games * site.length * pace
    yield Line("matches open at once", arithmetic, matches, "matches")
    if watch := pieces.get("watch"):
        yield from _watchers(watch["many_matches"]["kib_per_watcher"], site, matches)
    by_cpu = next(line.result for line in _needed(site, site.assumed.peak) if line.what == "store")
    yield Line("primaries for their CPU", f"{rounded(by_cpu)} cores, one each", ceil(by_cpu), "")
    if footprint := pieces.get("footprint"):
        yield from _log(footprint, site, primaries=ceil(by_cpu))


def _watchers(kib: float, site: PlannedSite, matches: float) -> Iterator[Line]:
    yield Line("watchers a GiB of rules", f"1,048,576 KiB / {rounded(kib)} KiB", GIB / KIB / kib, "watchers")
    watchers = matches * SEATS * (1 - site.assumed.house)
    arithmetic = f"{rounded(matches)} × {SEATS} seats × {1 - site.assumed.house:g} people"
    yield Line("players who watch", arithmetic, watchers, "watchers")
    arithmetic = f"{rounded(watchers)} × {rounded(kib)} KiB, over all rules processes"
    yield Line("memory of their streams", arithmetic, watchers * kib * KIB / GIB, "GiB")


def _log(footprint: Any, site: PlannedSite, *, primaries: int) -> Iterator[Line]:
    assumed, sizes = site.assumed, {each["logs"]: each["bytes_per_commit"] for each in footprint["logs"]}
    memory = 0.0
    for game in site.games:
        rate, match = site.games_per_second * assumed.peak / len(site.games), game.commands * sizes[game.name] / GIB
        seconds = game.commands * assumed.seconds_per_move
        memory += (gib := rate * (seconds / 2 + assumed.kept_seconds) * match)
        kept = f"({rounded(seconds)} s / 2 open + {assumed.kept_seconds:,.0f} s closed)"
        size = f"{rounded(game.commands)} × {sizes[game.name]:,} bytes"
        yield Line(f"log of {words(game.name)}", f"{rounded(rate)} games/s × {kept} × {size}", gib, "GiB")
    by_memory = ceil(memory / assumed.primary_gib)
    yield Line("log memory", "sum of the above", memory, "GiB")
    yield Line("primaries for it", f"{rounded(memory)} GiB / {assumed.primary_gib:g} GiB each", by_memory, "")
    yield Line("primaries", f"the more of {primaries} and {by_memory}", max(primaries, by_memory), "")
    commits, each = assumed.games_per_day * site.length, footprint["disk_bytes_per_commit"]
    arithmetic = f"{rounded(commits)} commits × {each:,} bytes, before the servers rewrite their files"
    yield Line("written to disk a day", arithmetic, commits * each / GIB, "GiB")


def markdown(found: Reckoning) -> Iterator[str]:
    """Yield the lines of a page, a table for each section."""
    for section in found.sections:
        yield from (f"**{section.title}**", "", "| | reckoned | result |", "|---|---|---:|")
        for line in section.lines:
            result = f"{line.result:,.0f}" if line.result == round(line.result) else rounded(line.result)
            yield f"| {line.what} | {line.arithmetic} | {f'{result} {line.unit}'.strip()} |"
        yield ""
    if found.missing:
        yield f"Left out, since it was not measured: {', '.join(found.missing)}."


def main(argv: Sequence[str] | None = None) -> None:
    """Print what a site needs."""
    usual, parser = Assumed(), parser_of("capacity", __doc__)
    add = parser.add_argument
    add("--bench", type=Path, default=Path("dist/bench.json"), help="what `make bench` kept (default: %(default)s)")
    add("--games-per-day", type=amount, default=usual.games_per_day, help="default: %(default).0f")
    add("--peak", type=amount, default=usual.peak, help="the busiest hour over the average (default: %(default)s)")
    add("--use", type=share, default=usual.use, help="how busy a core may be, 0 to 1 (default: %(default)s)")
    add("--house", type=share, default=usual.house, help="share of commands by house bots (default: %(default)s)")
    add("--seconds-per-move", type=amount, default=usual.seconds_per_move, help="default: %(default)s")
    add(
        "--kept-seconds",
        type=amount,
        default=usual.kept_seconds,
        help="until a match is archived; default: %(default)s",
    )
    add("--primary-gib", type=amount, default=usual.primary_gib, help="memory of a primary (default: %(default)s)")
    add("--kind", choices=tuple(LINES), default=usual.kind, help="how people play (default: %(default)s)")
    add("--games", nargs="+", default=usual.games, metavar="GAME", help="what is played, each alike (default: all)")
    chosen = vars(parser.parse_args(argv))
    bench, only_json = chosen.pop("bench"), chosen.pop("json")
    try:
        found = reckon(pieces_of(bench), Assumed(**chosen))
    except KeyError as error:
        raise BenchFailed(f"{bench} was made by another version of `make bench`: it has no {error}") from error
    lines = [json.dumps(msgspec.to_builtins(found))] if only_json else markdown(found)
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    run(main)
