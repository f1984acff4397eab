"""Every rule of the sheet is cited by a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.scenarios import SCENARIOS

TESTS = Path(__file__).parents[2]
RULINGS = {f"T-{n}" for n in range(1, 39)}
CHAPTERS = {1: 0, 2: 0, 3: 7, 4: 3, 5: 2, 6: 2, 7: 4, 9: 5, 10: 2, 11: 3}
SECTIONS = {
    f"Transcontinental {chapter}" + (f".{section}" if section else "")
    for chapter, sections in CHAPTERS.items()
    for section in range(min(1, sections), sections + 1)
}
CITATION = re.compile(r"\[(T-\d+|Transcontinental \d+(?:\.\d+)?)\]")


def citations() -> set[str]:
    """Return the rules that the docstrings of this game's tests cite."""
    files = [*Path(__file__).parent.glob("test_*.py"), *TESTS.glob("properties/test_transcontinental*.py")]
    functions = [
        node
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return {rule for function in functions for rule in CITATION.findall(ast.get_docstring(function) or "")}


@pytest.mark.parametrize("rules", [RULINGS, SECTIONS], ids=["rulings", "sections"])
def test_every_rule_has_a_test(rules: set[str]) -> None:
    assert rules - citations() == set()


def test_tests_cite_rules_that_exist() -> None:
    whole_chapters = {f"Transcontinental {chapter}" for chapter in CHAPTERS}
    assert citations() - RULINGS - SECTIONS - whole_chapters == set()


def test_every_scenario_is_played() -> None:
    assert list(SCENARIOS) == [f"S-{n:02}" for n in range(1, 38)]
