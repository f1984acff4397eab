"""Every rule of the sheet is cited by a test."""

from __future__ import annotations

import re

import pytest

from tests.support.citations import citations, sections
from tests.support.scenarios import SCENARIOS

RULINGS = {f"T-{n}" for n in range(1, 39)}
CHAPTERS = {1: 0, 2: 0, 3: 7, 4: 3, 5: 2, 6: 2, 7: 4, 9: 5, 10: 2, 11: 3}
SECTIONS = sections("Transcontinental", CHAPTERS)
CITATION = re.compile(r"\[(T-\d+|Transcontinental \d+(?:\.\d+)?)\]")


@pytest.fixture(scope="module")
def cited() -> set[str]:
    """The rules that the docstrings of this game's tests cite."""
    return citations("transcontinental", CITATION)


@pytest.mark.parametrize("rules", [RULINGS, SECTIONS], ids=["rulings", "sections"])
def test_every_rule_has_a_test(rules: set[str], cited: set[str]) -> None:
    assert rules - cited == set()


def test_tests_cite_rules_that_exist(cited: set[str]) -> None:
    whole_chapters = {f"Transcontinental {chapter}" for chapter in CHAPTERS}
    assert cited - RULINGS - SECTIONS - whole_chapters == set()


def test_every_scenario_is_played() -> None:
    assert list(SCENARIOS) == [f"S-{n:02}" for n in range(1, 38)]
