"""What every card of the shipped deck does [Pacific 5.3], against results worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from promontory.games.pacific.events import AreaRunStarted
from promontory.games.pacific.tokens import Effect
from promontory.games.pacific.vocabulary import Colour
from tests.support.pacific import DECK, FILE, mat, only, played, player, words_of

EXPECTED: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "cards.yaml").read_text("utf-8"))
CASES = [(card_id, number) for card_id, cases in EXPECTED.items() for number in range(len(cases))]


def words_of_effect(effect: Effect) -> str:
    """Return an effect in words: its card, what it does, and how much of what."""
    parameters = [str(effect.amount)] if effect.amount else []
    brought = [f"{number} {kind}" for kind, number in effect.tokens.present()] if effect.tokens else []
    return " ".join([effect.card_id, effect.kind, *parameters, *brought])


@pytest.mark.parametrize("card_id", DECK.ids)
def test_every_card_of_the_deck_has_an_expectation(card_id: str) -> None:
    """[Pacific 5.3] All 80 cards."""
    assert EXPECTED.get(card_id)


@pytest.mark.parametrize(("card_id", "number"), CASES, ids=[f"{card_id}-{number}" for card_id, number in CASES])
def test_a_card_does_what_it_says(card_id: str, number: int) -> None:
    """[Pacific 5.3] Its text, then the run of the areas of its colours."""
    case = EXPECTED[card_id][number]
    before = dict(case["given"])
    words = before.pop("mat", "")
    _, end = played(card_id, player(words, **before), *case.get("answers", ()), sole_pick=case.get("sole_pick", True))
    then = {"money": 0, "mat": "", "paths": "", "pending": "", "hand": "", **case["then"]}
    holdings = end.holdings
    assert {
        "money": holdings.money,
        "mat": words_of(holdings.mat),
        "paths": " ".join(holdings.paths),
        "pending": ", ".join(map(words_of_effect, holdings.pending)),
        "hand": " ".join(holdings.hand),
    } == {**then, "mat": words_of(mat(then["mat"]))}


COLOURS = {
    "green": "direct_flight disperse glass_bottom_boats head_west migration port relocate reorganize yachts",
    "yellow": "air_conditioning balloon_trip brochures diversify omnipresence package_tours tour_guides tourist_season "
    "whale_watching",
    "red": "bottling_factory car_factory crunch_time dairy_farms deepwater_drilling expand plastics_factories saw_mill "
    "textile_factories",
    "blue": "aquarium capsule_hotels cruise_ships hotel_california island_resort machu_picchu spas theme_park "
    "tokyo_branch",
    "white": "breeding_program cloning_program dugongs hatchery robot_fish sea_otters sea_turtles",
    "green yellow": "archaeology documentary fishing grand_opening",
    "green blue": "casinos upgrade",
    "green white": "albatrosses dolphin_spy_network giant_squid jellyfish killer_whales seagulls",
    "yellow red": "computer_chip_factory liquidate pet_rocks refinery widget_factory",
    "yellow blue": "floating_hotel",
    "yellow white": "proliferation sea_lions",
    "red blue": "beach_hotels holiday_in_peru industrial_hotels seafood_chain underwater_hotel",
    "red white": "octopus sharks",
    "blue white": "blue_whales humboldt_penguins manta_rays moray_eels",
    "orange": "headquarters make_the_rounds more_of_the_same oversee overtime trade_winds",
}
"""The table of the sheet, filled in from the rows of its list of cards."""


def test_the_deck_has_the_colours_of_the_sheet() -> None:
    """[Pacific 5.1] 80 cards in 15 combinations of colours; there is no green/red one."""
    coloured = {card_id: colours for colours, card_ids in COLOURS.items() for card_id in card_ids.split()}
    assert {card.id: " ".join(card.colours) for card in DECK.cards} == coloured
    assert len(coloured) == 80


def test_the_deck_keeps_the_colour_law() -> None:
    """[P-40, P-41] Upgrade is green/blue, and the orange cards with a second half are orange alone."""
    assert DECK.warnings == ()
    assert DECK.by_id["upgrade"].colours == (Colour.GREEN, Colour.BLUE)
    assert [DECK.by_id[card_id].colours for card_id in ("make_the_rounds", "trade_winds")] == [(Colour.ORANGE,)] * 2


def test_the_rulebook_names_thirteen_cards() -> None:
    """[Pacific 5.2] The rest is known from the public list alone; none is a house card."""
    sources = [card.source for card in DECK.cards]
    assert (sources.count("rulebook"), sources.count("public")) == (13, 67)


def test_a_garbled_bound_is_read_as_one() -> None:
    """[P-46] Make the Rounds runs areas with one to three tokens, so an empty one is not even begun."""
    events, _ = played("make_the_rounds", player("japan 1 hotel / peru 3 hotel / coral_sea 4 hotel"))
    assert [event.area for event in only(AreaRunStarted, events)] == ["japan", "peru"]


def test_the_order_of_the_file_is_the_order_of_the_sheet() -> None:
    """[Pacific 5.3] Which is the order before the shuffle."""
    assert [card["id"] for card in FILE["cards"]] == list(DECK.ids)
    assert [DECK.ids[0], DECK.ids[39], DECK.ids[79]] == ["direct_flight", "car_factory", "trade_winds"]
