"""Lines for people: tables with aligned columns, and lists that wrap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill

WIDTH = 100
"""How many characters a line of a list has at most."""


def table(alignments: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a line for each row; `alignments` has `<` or `>` for each column."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(alignments, widths, row)).rstrip() for row in rows]


def _cells(alignments: str, widths: Sequence[int], row: Sequence[str]) -> Iterable[str]:
    for alignment, width, cell in zip(alignments, widths, row, strict=True):
        yield f"{cell:{alignment}{width}}"


def listed(label: str, items: Iterable[str], *, indent: int = 0) -> str:
    """Return `label: one, another`, or `label: none`, wrapped with all lines but the first further indented."""
    text = f"{label}: {', '.join(items) or 'none'}"
    first, others = " " * indent, " " * (indent + 4)
    return fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 card` or `2 cards`; the plural is `noun` and an s unless it is given."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def words(name: str) -> str:
    """Return the name of a phase, a kind or a reason as words."""
    return name.replace("_", " ")


def joined(items: Iterable[object]) -> str:
    """Return `one`, `one and another`, or `one, another and a third`."""
    *others, last = map(str, items)
    return f"{', '.join(others)} and {last}" if others else last


def seats_in_words(seats: Iterable[int]) -> str:
    """Return `seat 1`, or `seats 0, 1 and 3`."""
    numbers = list(seats)
    return f"{'seat' if len(numbers) == 1 else 'seats'} {joined(numbers)}"
