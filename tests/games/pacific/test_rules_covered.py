"""Every rule of the sheet is cited by a test."""

from __future__ import annotations

import re

import pytest

from tests.support.citations import citations, sections

RULINGS = {f"P-{n}" for n in range(1, 53)}
TURN_SCENARIOS = {f"T-{n:02}" for n in range(1, 15)}
CHAPTERS = {1: 6, 2: 4, 3: 9, 4: 4, 5: 3, 7: 0, 8: 1}
SECTIONS = sections("Pacific", CHAPTERS)
CITATION = re.compile(r"(?<=[\[ ])(P-\d+|T-\d\d|Pacific \d+(?:\.\d+)?)(?=[\],])")


@pytest.fixture(scope="module")
def cited() -> set[str]:
    """The rules that the docstrings of this game's tests cite."""
    return citations("pacific", CITATION)


@pytest.mark.parametrize("rules", [RULINGS, SECTIONS, TURN_SCENARIOS], ids=["rulings", "sections", "turn scenarios"])
def test_every_rule_has_a_test(rules: set[str], cited: set[str]) -> None:
    assert rules - cited == set()


def test_tests_cite_rules_that_exist(cited: set[str]) -> None:
    whole_chapters = {f"Pacific {chapter}" for chapter in CHAPTERS}
    assert cited - RULINGS - SECTIONS - TURN_SCENARIOS - whole_chapters == set()
