"""How benchmarks are asked and how they answer: arguments, what they are at, tables, and last one line of JSON."""

from __future__ import annotations

import argparse
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import grpc
import msgspec
from redis.exceptions import RedisError
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from promontory.bots.port import UnknownPolicyError
from promontory.local.processes import ProcessFailed
from promontory.runtime.embedded import BinaryMissing, ServerFailed

ROOTS = ("services/promontory/", "site-packages/", "lib/python3.11/")
"""What the files of functions are told without."""
INTERRUPTED = 130
"""What a shell takes for the end by Ctrl-C."""


class BenchFailed(Exception):
    """Something that is measured, or measured beside, does not do what it should; there are no figures."""


EXPECTED = (
    BenchFailed,
    ProcessFailed,
    ServerFailed,
    BinaryMissing,
    OSError,
    RedisError,
    grpc.RpcError,
    subprocess.SubprocessError,
    UnknownPolicyError,
)
"""What fails because of the machine, or because a process ended; all else is a mistake in a benchmark."""


def run(main: Callable[[], None]) -> None:
    """Run a benchmark as a program: whatever ends it, its processes end too, and what failed is said in short.

    Being terminated is as good as Ctrl-C, also in the background, where shells have that ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it tells of tasks that ended with what ended all
    try:
        main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    except (*EXPECTED, ExceptionGroup) as error:
        _say(error)


def _say(error: Exception) -> NoReturn:
    """End with the causes of `error`, or raise it if it is a mistake."""
    causes = list(_causes(error))
    if not all(isinstance(cause, EXPECTED) for cause in causes):
        raise error
    first = causes[0]
    text = f"{first.code()}: {first.details()}" if isinstance(first, grpc.aio.AioRpcError) else str(first)
    sys.exit(text or repr(first))


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    else:
        yield error


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the arguments of a benchmark, to which it adds its own; with `--json`."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=f"bench-{name}", description=description, formatter_class=raw)
    parser.add_argument("--json", action="store_true", help="print nothing but the line of JSON")
    return parser


def whole(text: str) -> int:
    """Return a number of things, 1 or more, from an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def amount(text: str) -> float:
    """Return seconds, or another amount of something, more than 0, from an argument."""
    with suppress(ValueError):
        if 0 < (found := float(text)) < float("inf"):
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def share(text: str) -> float:
    """Return a share of something, 0 to 1, from an argument."""
    with suppress(ValueError):
        if 0 <= (found := float(text)) <= 1:
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")


def checkout(text: str) -> Path:
    """Return the root of another checkout of the project from an argument."""
    root = Path(text).resolve()
    if not (root / "services" / "promontory" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no checkout of the project: try `git worktree add`")
    return root


def progress(*, quiet: bool) -> Progress:
    """Return what shows on a terminal, unless `quiet`, what a benchmark is at; nothing of it stays."""
    return Progress(console=Console(stderr=True), disable=quiet, transient=True)


def words(name: str) -> str:
    """Return a name as people read it."""
    return name.replace("_", " ")


def place(where: tuple[str, int, str]) -> str:
    """Return a function, as `pstats` has it, as people find it."""
    file, line, name = where
    for root in ROOTS:
        file = file.rpartition(root)[2]
    return f"{file}:{line} {name}" if line else name


def rounded(number: float) -> str:
    """Return a number as people read it, with three digits where it has a fraction."""
    places = 0 if number >= 100 else 1 if number >= 10 else 2
    return f"{number:,.{places}f}"


def table(title: str, first: str, *columns: str) -> Table:
    """Return a table whose `first` column holds names and the others figures."""
    made = Table(title=title)
    made.add_column(first, overflow="fold")
    for column in columns:
        made.add_column(column, justify="right")
    return made


def report(figures: Any, tables: Iterable[Table], *, only_json: bool = False) -> None:
    """Print the tables unless `only_json`, then `figures` as one line of JSON, the last of a benchmark."""
    if not only_json:
        Console(width=None if sys.stdout.isatty() else 140).print(*tables, sep="\n")
    sys.stdout.write(json.dumps(msgspec.to_builtins(figures)) + "\n")
    sys.stdout.flush()
