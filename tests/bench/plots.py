"""Pictures of what the benchmarks found: `make bench-plots`, or `python -m tests.bench.plots --help`.

Reads the file that `make bench` keeps, and draws one PNG for each subject of which it holds figures. Colours are those
of Okabe and Ito, which people who see colours differently can tell apart; bars carry their numbers.

What it was before is drawn from figures of another checkout that were measured in turns with these
(`make bench ARGS="--against CHECKOUT"`), and for all that is not there from an earlier file, if `--before` names one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

from tests.bench.earlier import IN_TURNS, MEASURING, Pieces, compared, pieces_of
from tests.bench.log import GOAL_MS
from tests.bench.reporting import rounded, run, words
from tests.bench.scale import GROUPS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000", "#999999")
PERCENTILES = ("p50", "p95", "p99")
WIDTH, HEIGHT, DPI = 8.5, 4.2, 110
THIN = 0.06
"""The share of the longest bar below which a part of a stack goes unnumbered."""


def ratios(pieces: Pieces) -> Any:
    """Draw our moves per CPU second over theirs, and our decisions over theirs."""
    commands, rules, log = pieces["commands"], pieces.get("rules"), pieces.get("log")
    rows: list[tuple[str, float]] = []
    for name in ("floor", "watched_floor", "boardgameio", "colyseus"):
        for kind, ratio in commands.get(f"ratio_to_{name}", {}).items():
            if ratio:
                rows.append((f"{kind} command to {words(name)}", ratio))
    for game, others in (rules or {}).get("ratio_to_openspiel", {}).items():
        python = [ratio for name, ratio in others.items() if name.startswith("python")]
        if python:
            rows.append((f"{words(game)}: decision to OpenSpiel's in Python", sum(python) / len(python)))
    for key in ("appends_everysec_64_to_application", "replay_folded_to_application"):
        if log and key in log["ratio_to_eventsourcing"]:
            rows.append((f"log: {words(key)}", log["ratio_to_eventsourcing"][key]))
    return _ratios(
        [(name, ratio, f"{ratio:.2f}") for name, ratio in rows],
        unit="ours to theirs per CPU second (log: per second), above 1 ours does more",
        title="Ratios to others, measured in one run",
    )


def before_after(pieces: Pieces, before: Pieces) -> Any | None:
    """Draw how many times as good everything is as it was, with the figures; None if nothing of before is there."""
    found = compared(pieces, before)
    rows = [
        (each.name, each.ratio, f"{each.ratio:.2f}   {rounded(each.before)} → {rounded(each.now)} {each.unit}")
        for each in found
    ]
    unit = "before to now for costs, now to before for rates: above 1 it has become better"
    return _ratios(rows, unit=unit, title="Before and after", room=2.5) if rows else None


def watch(pieces: Pieces) -> Any:
    """Draw what a commit costs by the number of its watchers, and when the first and the last of them has it."""
    found = pieces["watch"]["one_match"]
    crowds = found["crowds"]
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(WIDTH + 1.5, HEIGHT))
    counts = [each["watchers"] for each in crowds]
    left.plot(counts, [each["cpu_ms_per_commit"] for each in crowds], "o-", color=COLOURS[0])
    for each in crowds:
        place = (each["watchers"], each["cpu_ms_per_commit"])
        left.annotate(rounded(place[1]), place, xytext=(0, 6), textcoords="offset points", ha="center")
    alone = found["players_only_cpu_ms_per_commit"]
    left.axhline(alone, color="black", linewidth=1, linestyle="--", label=f"players only: {rounded(alone)} ms")
    left.set_ylabel("CPU ms of the rules process")
    left.set_title("What a commit costs")
    left.legend()
    for number, (which, label) in enumerate({"first": "first", "middle": "half of them", "last": "all"}.items()):
        times = [each[which]["p50_ms"] for each in crowds]
        right.plot(counts, times, ("o-", "s--", "^:")[number], label=label, color=COLOURS[number])
    right.set_ylabel("ms from submission, median")
    right.set_title("When spectators have it")
    right.legend()
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.set_xticks(counts, [f"{each:,}" for each in counts])
        axes.set_xlabel("spectators of one match")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(visible=True, alpha=0.3)
    return figure


def cpu_per_command(pieces: Pieces) -> Any:
    """Draw what a move costs in each process, by system."""
    commands = pieces["commands"]
    matches = commands["ratios_at_matches"]
    found = [each for each in commands["figures"] if each["variant"]["matches"] == matches]
    stacks = {_system(each["variant"]): each["cpu_us_by_process"] for each in found}
    return _stacked(stacks, "CPU µs a move", f"What a move costs, {matches} matches at a time")


def latency(pieces: Pieces) -> Any:
    """Draw the percentiles of the time from a submission until both players were told, by matches at a time."""
    systems: dict[str, list[Any]] = {}
    for each in pieces["commands"]["figures"]:
        if each["variant"]["fsync"] != "always":
            systems.setdefault(_system(each["variant"]), []).append(each)
    figure, panels = plt.subplots(1, 3, layout="constrained", figsize=(WIDTH + 2, HEIGHT), sharey=True)
    for axes, percentile in zip(panels, PERCENTILES, strict=True):
        for number, (system, found) in enumerate(systems.items()):
            ordered = sorted(found, key=lambda each: each["variant"]["matches"])
            counts = [each["variant"]["matches"] for each in ordered]
            times = [each["latency"][f"{percentile}_ms"] for each in ordered]
            style = ("o-", "s--", "^:", "d-.")[number % 4]
            axes.plot(counts, times, style, label=system, color=COLOURS[number % len(COLOURS)])
            axes.set_xticks(counts)
        axes.set_yscale("log")
        axes.set_title(percentile)
        axes.set_xlabel("matches at a time")
        axes.grid(visible=True, alpha=0.3)
    panels[0].set_ylabel("ms from submission to both players")
    panels[0].yaxis.set_major_formatter("{x:g}")
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    figure.suptitle("How long a move takes")
    return figure


def rules(pieces: Pieces) -> Any:
    """Draw decisions a CPU second of every game, ours and OpenSpiel's."""
    found = pieces["rules"]
    ours = [(f"{words(each['game'])}, {each['seats']} seats", each, COLOURS[0]) for each in found["figures"]]
    theirs = [(f"{each['game']} ({each['language']})", each, _peer_colour(each)) for each in found["peers"]]
    rows = [*ours, *theirs]
    figure, axes = plt.subplots(layout="constrained", figsize=(WIDTH, 0.34 * len(rows) + 1.4))
    rates = [each["decisions_per_second"] for _, each, _ in rows]
    bars = axes.barh([name for name, _, _ in rows], rates, color=[colour for _, _, colour in rows])
    axes.bar_label(bars, labels=[f"{rate:,.0f}" for rate in rates], padding=3)
    axes.margins(x=0.12)
    axes.invert_yaxis()
    axes.set_xlabel("decisions a CPU second: what is legal, the choice, its effect")
    axes.set_title("Random play: ours (blue), OpenSpiel in Python (orange) and in C++ (green)")
    return figure


def log(pieces: Pieces) -> Any:
    """Draw appends a second, and how long a cold match takes to open."""
    found = pieces["log"]
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(WIDTH + 1.5, HEIGHT), width_ratios=(3, 2))
    variants = list(dict.fromkeys(each["variant"] for each in found["appends"]))
    counts = sorted({each["at_once"] for each in found["appends"]})
    rates = {(each["variant"], each["at_once"]): each["commits_per_second"] for each in found["appends"]}
    for number, count in enumerate(counts):
        places = [index + 0.4 * number for index in range(len(variants))]
        heights = [rates[variant, count] for variant in variants]
        bars = left.bar(places, heights, 0.38, label=f"{count} at once", color=COLOURS[number])
        left.bar_label(bars, labels=[f"{height:,.0f}" for height in heights], fontsize=8)
    left.set_xticks([index + 0.2 for index in range(len(variants))], [each.replace(" ", "\n") for each in variants])
    left.set_ylabel("commits a second")
    left.set_title("Appends")
    left.legend()
    opened = found["openings"]
    names = [f"{each['at']}\n{each['version']}" for each in opened]
    for number, kind in enumerate(("p50_ms", "cpu_ms")):
        places = [index + 0.4 * number for index in range(len(opened))]
        label = ("elapsed, median", "CPU")[number]
        bars = right.bar(places, [each[kind] for each in opened], 0.38, label=label, color=COLOURS[number + 2])
        right.bar_label(bars, fmt="%.0f", fontsize=8)
    right.set_xticks([index + 0.2 for index in range(len(opened))], names)
    right.axhline(GOAL_MS, color="black", linewidth=1, linestyle="--", label=f"goal: {GOAL_MS} ms")
    right.set_ylabel("ms")
    right.set_xlabel("version")
    right.set_title(f"A match of {opened[-1]['events']:,} events opened cold")
    right.legend(loc="lower right")
    return figure


def matchmaking(pieces: Pieces) -> Any:
    """Draw what a ticket costs in each process, and the pairing's time a ticket in large pools."""
    found = pieces["matchmaking"]
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(WIDTH + 1.5, HEIGHT))
    rate = found["load"]["rate"]
    stacks = {
        f"{rate:g} a second": found["steady"]["cpu_ms_per_ticket"],
        f"flat out:\n{found['flat_out']['tickets_per_second']:,.0f} a second": found["flat_out"]["cpu_ms_per_ticket"],
    }
    _stack(left, stacks, "CPU ms a ticket")
    left.set_title(f"{found['load']['waiting']:,} tickets in {found['load']['pools']} pools")
    for number, seats in enumerate(sorted({each["seats"] for each in found["pairing"]})):
        rows = [each for each in found["pairing"] if each["seats"] == seats]
        sizes, times = [each["tickets"] for each in rows], [each["pair_us"] for each in rows]
        right.plot(sizes, times, "os"[number % 2] + "-", label=f"{seats} seats", color=COLOURS[number])
    right.set_xscale("log")
    right.set_ylim(bottom=0)
    right.set_xlabel("tickets in one pool")
    right.set_ylabel("CPU µs a ticket")
    right.set_title("Pairing all tickets of one pool")
    right.grid(visible=True, alpha=0.3)
    right.legend()
    return figure


def bots(pieces: Pieces) -> Any:
    """Draw what a bot's turn costs in each process, and how long the bot takes to act."""
    found = pieces["bots"]
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(WIDTH + 1.5, HEIGHT))
    names = [_at_a_time(each["matches"]) for each in found["turns"]]
    stacks = {name: each["cpu_ms_per_turn"] for name, each in zip(names, found["turns"], strict=True)}
    stacks["a tally"] = found["tallies"]["cpu_ms_per_tally"]
    _stack(left, stacks, "CPU ms a turn, or a tally")
    left.set_title("What a bot's turn costs")
    for number, percentile in enumerate(PERCENTILES):
        places = [index + 0.27 * number for index in range(len(names))]
        times = [each["latency"][f"{percentile}_ms"] for each in found["turns"]]
        bars = right.bar(places, times, 0.25, label=percentile, color=COLOURS[number])
        right.bar_label(bars, fmt="%.0f", fontsize=8)
    right.set_xticks([index + 0.27 for index in range(len(names))], names)
    right.set_yscale("log")
    right.yaxis.set_major_formatter("{x:g}")
    right.set_ylabel("ms from commit to the bot's commit")
    right.set_title("How soon a bot acts")
    right.legend()
    return figure


def scale(pieces: Pieces) -> Any:
    """Draw what a move costs in each process, by store and number of rules processes."""
    figures = pieces["scale"]["figures"]
    ordered = sorted(figures, key=lambda each: each["variant"]["kind"])
    names = {name for each in figures for name in each["cpu_us_by_process"]}
    parts = sorted(names, key=lambda name: (GROUPS.index(name.partition("-")[0]), name))
    stacks = {
        _spread(each["variant"]): {part: each["cpu_us_by_process"].get(part, 0.0) for part in parts} for each in ordered
    }
    return _stacked(stacks, "CPU µs a move", "What a move costs with more rules processes and more primaries")


def footprint(pieces: Pieces) -> Any:
    """Draw each process's memory, idle and under load."""
    found = pieces["footprint"]
    rows = found["processes"]
    figure, axes = plt.subplots(layout="constrained", figsize=(WIDTH, 0.5 * len(rows) + 1.4))
    for number, kind in enumerate(("idle", "loaded")):
        places = [index + 0.4 * number for index in range(len(rows))]
        bars = axes.barh(places, [row[kind]["rss_mib"] for row in rows], 0.38, label=kind, color=COLOURS[number])
        axes.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
    axes.set_yticks([index + 0.2 for index in range(len(rows))], [row["process"] for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("resident memory, MiB")
    axes.set_title(f"Processes, idle and at {found['commands_per_second']:,.0f} commands a second")
    axes.legend()
    return figure


SUBJECTS: Mapping[str, tuple[str, Callable[[Pieces], Any]]] = {
    "ratios": ("commands", ratios),
    "cpu-per-command": ("commands", cpu_per_command),
    "latency": ("commands", latency),
    "watch": ("watch", watch),
    "rules": ("rules", rules),
    "log": ("log", log),
    "matchmaking": ("matchmaking", matchmaking),
    "bots": ("bots", bots),
    "footprint": ("footprint", footprint),
    "scale": ("scale", scale),
}
"""The pictures, by the names of their files: the piece that must be there, and what draws them."""
BEFORE_AFTER = "before-after"


def _ratios(rows: Sequence[tuple[str, float, str]], *, unit: str, title: str, room: float = 0.15) -> Any:
    """Draw bars from 1 on to each ratio, with its label, and leave so much of the width for the labels."""
    figure, axes = plt.subplots(layout="constrained", figsize=(WIDTH, 0.42 * len(rows) + 1.4))
    names, values = [name for name, _, _ in rows], [value for _, value, _ in rows]
    colours = [COLOURS[0] if value >= 1 else COLOURS[1] for value in values]
    bars = axes.barh(names, [value - 1 for value in values], left=1, color=colours)
    for bar, (_, value, label) in zip(bars, rows, strict=True):
        place = (max(value, 1.0), bar.get_y() + bar.get_height() / 2)
        axes.annotate(label, place, xytext=(4, 0), textcoords="offset points", va="center")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(0.8 * min(1.0, *values), (1 + room) * 1.3 * max(1.0, *values))
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title)
    return figure


def _stacked(stacks: Mapping[str, Mapping[str, float]], unit: str, title: str) -> Any:
    figure, axes = plt.subplots(layout="constrained", figsize=(WIDTH, 0.42 * len(stacks) + 1.6))
    _stack(axes, stacks, unit)
    axes.set_title(title)
    return figure


def _stack(axes: Any, stacks: Mapping[str, Mapping[str, float]], unit: str) -> None:
    """Draw a bar for each of `stacks`, made of its parts but those of who measures."""
    stacks = {
        name: {part: each for part, each in stack.items() if part not in MEASURING} for name, stack in stacks.items()
    }
    parts = list(dict.fromkeys(part for stack in stacks.values() for part in stack))
    totals = [sum(stack.values()) for stack in stacks.values()]
    names, before = list(stacks), [0.0] * len(stacks)
    for number, part in enumerate(parts):
        widths = [stack.get(part, 0.0) for stack in stacks.values()]
        colour, hatch = COLOURS[number % len(COLOURS)], "" if number < len(COLOURS) else "//"
        bars = axes.barh(names, widths, left=before, label=part, color=colour, hatch=hatch, edgecolor="white")
        labels = [_number(width) if width > THIN * max(totals) else "" for width in widths]
        axes.bar_label(bars, labels=labels, label_type="center", fontsize=8, color=_ink(colour))
        before = [start + width for start, width in zip(before, widths, strict=True)]
    for name, total in zip(names, totals, strict=True):
        axes.annotate(_number(total), (total, name), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_xlim(0, 1.15 * max(totals))
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.14))


def _ink(colour: str) -> str:
    """Return black or white, whichever can be read on `colour`."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


def _system(variant: Mapping[str, Any]) -> str:
    system = "before" if variant["system"] == IN_TURNS else variant["system"]
    return f"{system} {variant['kind']}, {words(variant['fsync'])}"


def _spread(variant: Mapping[str, Any]) -> str:
    return f"{variant['kind']}, {variant['processes']} rules, {variant['store']}"


def _at_a_time(matches: int) -> str:
    return "1 match" if matches == 1 else f"{matches} matches"


def _peer_colour(peer: Mapping[str, Any]) -> str:
    return COLOURS[1] if peer["language"] == "Python" else COLOURS[2]


def draw(pieces: Pieces, before: Pieces, directory: Path, names: Iterable[str]) -> list[Path]:
    """Draw the pictures called `names` of which there are figures, and return their files."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    for name in names:
        if figure := _picture(name, pieces, before):
            files.append(directory / f"{name}.png")
            figure.savefig(files[-1], dpi=DPI, bbox_inches="tight", metadata={"Software": None})
            plt.close(figure)
    return files


def _picture(name: str, pieces: Pieces, before: Pieces) -> Any | None:
    if name == BEFORE_AFTER:
        return before_after(pieces, before)
    piece, subject = SUBJECTS[name]
    try:
        return subject(pieces) if piece in pieces else None
    except KeyError as error:
        sys.stderr.write(f"{name} is left out: the figures of {piece} have no {error}, so run `make bench` again\n")
        return None


def main(argv: Sequence[str] | None = None) -> None:
    """Draw the pictures."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench-plots", description=__doc__, formatter_class=raw)
    names = [*SUBJECTS, BEFORE_AFTER]
    parser.add_argument("figures", type=Path, nargs="?", default=Path("dist/bench.json"), help="default: %(default)s")
    parser.add_argument("--output", type=Path, default=Path("docs/performance"), help="where to (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="PICTURE", help=", ".join(names))
    parser.add_argument("--before", type=Path, metavar="FILE", help="an earlier file of `make bench`")
    arguments = parser.parse_args(argv)
    before = pieces_of(arguments.before) if arguments.before else {}
    for file in draw(pieces_of(arguments.figures), before, arguments.output, arguments.only):
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    run(main)
