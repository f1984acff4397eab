"""The sheet's worked examples of executing cards [Pacific 8.1]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.pacific import mat, played, player, words_of

FILE = Path(__file__).parent / "scenarios.yaml"
SCENARIOS: dict[str, dict[str, Any]] = {one["id"]: one for one in yaml.safe_load(FILE.read_text("utf-8"))}


@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_a_scenario_plays_out_as_the_sheet_says(scenario_id: str) -> None:
    """[Pacific 8.1] Money, mat, Paths and effects for the next turn, after exactly the answers given."""
    scenario = SCENARIOS[scenario_id]
    before = dict(scenario["given"])
    _, end = played(
        scenario["do"],
        player(before.pop("mat", ""), **before),
        *scenario.get("answers", ()),
        sole_pick=scenario.get("sole_pick", True),
    )
    then = {"mat": "", "paths": scenario["given"].get("paths", ""), "pending": "", **scenario["then"]}
    assert {
        "money": end.holdings.money,
        "mat": words_of(end.holdings.mat),
        "paths": " ".join(end.holdings.paths),
        "pending": " ".join(effect.card_id for effect in end.holdings.pending),
    } == {**then, "mat": words_of(mat(then["mat"]))}


def test_every_scenario_of_the_sheet_is_here() -> None:
    """[Pacific 8.1] S-01 to S-62."""
    assert list(SCENARIOS) == [f"S-{n:02}" for n in range(1, 63)]
