"""All benchmarks in turn, within ten minutes: `make bench`, or `python -m tests.bench.suite --help`.

Each piece runs in a process of its own, with less of everything than on its own, and prints its tables and one line of
JSON. A piece that fails, or takes longer than it may, is left out and named. The JSON of all is kept in one file, piece
by piece as they end, which `make bench-plots` draws pictures from. Leave the machine alone meanwhile: what others use
shows in the figures as foreign cores.

With `--against`, the pieces that can measure another checkout of the project in turns with this one do so, for pictures
of before and after; they take twice as long. Make one with `git worktree add FOLDER COMMIT`.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from promontory.runtime import tied
from tests.bench.earlier import Pieces, pieces_of
from tests.bench.reporting import checkout, parser_of, report, run, table

ROOT = Path(__file__).parents[2]
TOTAL_SECONDS = 600
GRACE_SECONDS = 15
"""How long a piece that is told to end may take to end its processes."""


class Piece(msgspec.Struct, frozen=True):
    """A benchmark: its module below `tests.bench`, its arguments here, and how long it may take.

    One that can measure another checkout too has the arguments `in_turns` for that, and twice the time.
    """

    name: str
    arguments: Sequence[str]
    seconds: int
    in_turns: Sequence[str] = ()

    def against(self, other: Path) -> Piece:
        """Return the piece that measures the checkout `other` too, if this one can."""
        if not self.in_turns:
            return self
        return Piece(self.name, [*self.in_turns, "--against", str(other)], 2 * self.seconds)


PIECES = (
    Piece("rules", ("--seconds", "1"), 100, ("--seconds", "0.4")),
    Piece("commands", ("--rounds", "2", "--seconds", "1"), 180, ("--rounds", "2", "--seconds", "1")),
    Piece("watch", ("--crowd-seconds", "5", "--watchers", "2000", "--matches", "200", "--seconds", "15"), 120),
    Piece("log", ("--seconds", "1"), 100),
    Piece("matchmaking", ("--seconds", "10"), 110),
    Piece("bots", (), 90),
    Piece("scale", ("--rounds", "2", "--seconds", "0.8"), 75),
    Piece("footprint", ("--seconds", "15", "--idle", "5"), 120),
)


class Ran(msgspec.Struct, frozen=True):
    """What became of a piece: its JSON, or why there is none, how long it took, and all that it printed."""

    figures: Any
    failure: str
    seconds: float
    printed: str = ""


def run_piece(piece: Piece, *, most_seconds: float) -> Ran:
    """Run a piece, for so many seconds at most."""
    began, seconds = time.perf_counter(), min(piece.seconds, most_seconds)
    program = [sys.executable, "-m", f"tests.bench.{piece.name}", *piece.arguments]
    command = [sys.executable, "-I", "-S", tied.__file__, str(os.getpid()), *program]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Ran(None, f"took longer than {seconds:.0f} s", round(time.perf_counter() - began, 1))
        finally:
            _end(process)
    taken = round(time.perf_counter() - began, 1)
    try:
        return Ran(json.loads(printed.splitlines()[-1]), "", taken, printed)
    except (IndexError, ValueError):
        return Ran(None, f"ended with code {process.returncode} and without figures", taken, printed)


def _end(process: subprocess.Popen[str]) -> None:
    """Have a piece end its processes and itself, unless it has."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def run_all(pieces: Sequence[Piece], console: Console, *, seconds: float) -> Iterator[tuple[str, Ran]]:
    """Run the pieces in turn until so many seconds are over, and yield what became of each."""
    end = time.perf_counter() + seconds
    for number, piece in enumerate(pieces, 1):
        left = end - time.perf_counter()
        if left <= 0:
            yield piece.name, Ran(None, "there was no time left", 0)
            continue
        console.print(f"{number} of {len(pieces)}: {piece.name}, {min(piece.seconds, left):.0f} s at most")
        yield piece.name, run_piece(piece, most_seconds=left)


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


def keep(file: Path, name: str, figures: Any) -> None:
    """Put the figures of a piece into a file, beside those of others that are there."""
    kept = {"machine": machine(), "pieces": {**_kept(file), name: figures}}
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        fresh.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def _kept(file: Path) -> Pieces:
    return pieces_of(file) if file.exists() else {}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the pieces, keep their figures in a file, and print what became of each."""
    parser = parser_of("suite", __doc__)
    names = [piece.name for piece in PIECES]
    add = parser.add_argument
    add("--only", nargs="+", choices=names, default=names, metavar="PIECE", help=f"of {', '.join(names)}")
    add("--output", type=Path, default=Path("dist/bench.json"), help="the file (default: %(default)s)")
    add("--against", type=checkout, metavar="CHECKOUT", help="measure another checkout of the project too")
    arguments = parser.parse_args(argv)
    pieces, seconds = [piece for piece in PIECES if piece.name in arguments.only], TOTAL_SECONDS
    if arguments.against:
        pieces, seconds = [piece.against(arguments.against) for piece in pieces], 2 * TOTAL_SECONDS
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    _kept(arguments.output)
    made, failures = table(f"Benchmarks, kept in {arguments.output}", "piece", "seconds", ""), {}
    for name, ran in run_all(pieces, Console(stderr=True, quiet=arguments.json), seconds=seconds):
        sys.stdout.write("" if arguments.json else ran.printed)
        sys.stdout.flush()
        made.add_row(name, f"{ran.seconds:.0f}", ran.failure or "done")
        if ran.failure:
            failures[name] = ran.failure
        else:
            keep(arguments.output, name, ran.figures)
    report({"output": str(arguments.output), "failures": failures}, [made], only_json=arguments.json)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    run(main)
