"""Which rules of a sheet the tests of its game cite."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]


def sections(title: str, chapters: Mapping[int, int]) -> set[str]:
    """Return the names of a sheet's sections, `Pacific 3.1`; `chapters` tells how many each chapter has, 0 for none."""
    return {
        f"{title} {chapter}" + (f".{section}" if section else "")
        for chapter, count in chapters.items()
        for section in range(min(1, count), count + 1)
    }


def citations(game: str, pattern: re.Pattern[str]) -> set[str]:
    """Return what `pattern` finds in the docstrings of the tests of `game`, random games included."""
    files = [*TESTS.glob(f"games/{game}/test_*.py"), *TESTS.glob(f"properties/test_{game}*.py")]
    functions = [
        node
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return {rule for function in functions for rule in pattern.findall(ast.get_docstring(function) or "")}
