"""Whole turns and games, step by step [Transcontinental 11.2]."""

from __future__ import annotations

import pytest

from tests.support.scenarios import SCENARIOS, expected, observed, play
from tests.support.transcontinental import DECK


@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_a_scenario_plays_out_as_the_sheet_says(scenario_id: str) -> None:
    """[Transcontinental 11.2] Every step does what it must or is refused as it must be, and the end is as stated."""
    then = expected(scenario_id)
    assert observed(play(scenario_id), then) == then


@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_a_scenario_keeps_all_cards(scenario_id: str) -> None:
    """[Transcontinental 1] Every card is in exactly one zone after every event."""
    zones = [
        sorted([*state.deck, *state.discard, *state.cp.hand, *state.up.hand]) for _, state in play(scenario_id).happened
    ]
    assert zones == [sorted(DECK.ids)] * len(zones)
