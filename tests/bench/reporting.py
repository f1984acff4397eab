"""How benchmarks are asked and how they answer: arguments, what they are at, tables, and last one line of JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

ROOTS = ("services/promontory/", "site-packages/", "lib/python3.11/")
"""What the files of functions are told without."""


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the arguments of a benchmark, to which it adds its own; with `--json`."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=f"bench-{name}", description=description, formatter_class=raw)
    parser.add_argument("--json", action="store_true", help="print nothing but the line of JSON")
    return parser


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
