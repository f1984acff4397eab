"""Every rule of the sheet is cited by a test."""

from __future__ import annotations

import re

import pytest

from tests.support.citations import citations, sections

RULINGS = {f"R-{n}" for n in range(1, 61)}
SCENARIOS = {f"S-{n:02}" for n in range(1, 80)}
CHAPTERS = {1: 6, 2: 5, 3: 5, 4: 7, 5: 5, 6: 6, 7: 2, 10: 0}
SECTIONS = sections("Railroad Dice 2", CHAPTERS)
CITATION = re.compile(r"(?<=[\[ ])(R-\d+|S-\d\d|Railroad Dice 2 \d+(?:\.\d+)?)(?=[\],])")


@pytest.fixture(scope="module")
def cited() -> set[str]:
    """The rules that the docstrings of this game's tests cite."""
    return citations("railroad_dice_2", CITATION)


@pytest.mark.parametrize("rules", [RULINGS, SECTIONS, SCENARIOS], ids=["rulings", "sections", "scenarios"])
def test_every_rule_has_a_test(rules: set[str], cited: set[str]) -> None:
    assert rules - cited == set()


def test_tests_cite_rules_that_exist(cited: set[str]) -> None:
    whole_chapters = {f"Railroad Dice 2 {chapter}" for chapter in CHAPTERS}
    assert cited - RULINGS - SECTIONS - SCENARIOS - whole_chapters == set()
