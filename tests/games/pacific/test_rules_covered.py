"""Every rule of the sheet is cited by a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
RULINGS = {f"P-{n}" for n in range(1, 53)}
TURN_SCENARIOS = {f"T-{n:02}" for n in range(1, 15)}
CHAPTERS = {1: 6, 2: 4, 3: 9, 4: 4, 5: 3, 7: 0, 8: 1}
SECTIONS = {
    f"Pacific {chapter}" + (f".{section}" if section else "")
    for chapter, sections in CHAPTERS.items()
    for section in range(min(1, sections), sections + 1)
}
CITATION = re.compile(r"(?<=[\[ ])(P-\d+|T-\d\d|Pacific \d+(?:\.\d+)?)(?=[\],])")


def citations() -> set[str]:
    """Return the rules that the docstrings of this game's tests cite."""
    files = [*Path(__file__).parent.glob("test_*.py"), *TESTS.glob("properties/test_pacific*.py")]
    functions = [
        node
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return {rule for function in functions for rule in CITATION.findall(ast.get_docstring(function) or "")}


@pytest.mark.parametrize("rules", [RULINGS, SECTIONS, TURN_SCENARIOS], ids=["rulings", "sections", "turn scenarios"])
def test_every_rule_has_a_test(rules: set[str]) -> None:
    assert rules - citations() == set()


def test_tests_cite_rules_that_exist() -> None:
    whole_chapters = {f"Pacific {chapter}" for chapter in CHAPTERS}
    assert citations() - RULINGS - SECTIONS - TURN_SCENARIOS - whole_chapters == set()
