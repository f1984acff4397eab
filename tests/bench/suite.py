"""All benchmarks in turn, within ten minutes: `make bench`, or `python -m tests.bench.suite --help`.

Each piece runs in a process of its own, with less of everything than on its own, and prints its tables and one line of
JSON. A piece that fails, or takes longer than it may, is left out and named. The JSON of all is kept in one file, which
`python -m tests.bench.plots` draws pictures from. Leave the machine alone meanwhile: what others use shows in the
figures as foreign cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from tests.bench.reporting import report, table

ROOT = Path(__file__).parents[2]
TOTAL_SECONDS = 600


class Piece(msgspec.Struct, frozen=True):
    """A benchmark: its module below `tests.bench`, its arguments here, and how long it may take."""

    name: str
    arguments: Sequence[str]
    seconds: int


PIECES = (
    Piece("rules", ("--seconds", "1"), 100),
    Piece("commands", ("--rounds", "2", "--seconds", "1"), 180),
    Piece("watch", ("--watchers", "2000", "--matches", "200", "--seconds", "15"), 90),
    Piece("log", ("--seconds", "1"), 100),
    Piece("matchmaking", ("--seconds", "10"), 110),
    Piece("bots", (), 90),
    Piece("scale", ("--rounds", "2", "--seconds", "0.8"), 75),
    Piece("footprint", ("--seconds", "15", "--idle", "5"), 120),
)


class Ran(msgspec.Struct, frozen=True):
    """What became of a piece: its JSON, or why there is none, and how long it took."""

    figures: Any
    failure: str
    seconds: float


def run(piece: Piece, *, most_seconds: float) -> Ran:
    """Run a piece, and pass on what it prints."""
    began, seconds = time.perf_counter(), min(piece.seconds, most_seconds)
    command = [sys.executable, "-m", f"tests.bench.{piece.name}", *piece.arguments]
    try:
        ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Ran(None, f"took longer than {seconds:.0f} s", round(time.perf_counter() - began, 1))
    sys.stdout.write(ran.stdout)
    sys.stdout.flush()
    taken = round(time.perf_counter() - began, 1)
    try:
        return Ran(json.loads(ran.stdout.splitlines()[-1]), "", taken)
    except (IndexError, ValueError):
        return Ran(None, f"ended with code {ran.returncode} and without figures", taken)


def run_all(pieces: Sequence[Piece], console: Console) -> Iterator[tuple[str, Ran]]:
    """Run the pieces in turn until the time is up, and yield what became of each."""
    end = time.perf_counter() + TOTAL_SECONDS
    for number, piece in enumerate(pieces, 1):
        left = end - time.perf_counter()
        if left <= 0:
            yield piece.name, Ran(None, "there was no time left", 0)
            continue
        console.print(f"{number} of {len(pieces)}: {piece.name}, {min(piece.seconds, left):.0f} s at most")
        yield piece.name, run(piece, most_seconds=left)


def machine() -> Mapping[str, Any]:
    """Return what the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "processor": models[0] if models else platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run the pieces, keep their figures in a file, and print what became of each."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=raw)
    names = [piece.name for piece in PIECES]
    parser.add_argument(
        "--only", nargs="+", choices=names, default=names, metavar="PIECE", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--output", type=Path, default=Path("dist/bench.json"), help="the file (default: %(default)s)")
    arguments = parser.parse_args(argv)
    chosen = [piece for piece in PIECES if piece.name in arguments.only]
    ran = dict(run_all(chosen, Console(stderr=True)))
    before = json.loads(arguments.output.read_bytes())["pieces"] if arguments.output.exists() else {}
    fresh = {name: each.figures for name, each in ran.items() if not each.failure}
    kept = {"machine": machine(), "pieces": {**before, **fresh}}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    made = table(f"Benchmarks, kept in {arguments.output}", "piece", "seconds", "")
    for name, each in ran.items():
        made.add_row(name, f"{each.seconds:.0f}", each.failure or "done")
    failures = {name: each.failure for name, each in ran.items() if each.failure}
    report({"output": str(arguments.output), "failures": failures}, [made])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
