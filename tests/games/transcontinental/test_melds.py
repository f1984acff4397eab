"""What a set of cards is and scores [Transcontinental 4]."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import yaml
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from promontory.games.kernel import Rejected
from promontory.games.transcontinental.cards import Card
from promontory.games.transcontinental.events import MeldPlayed
from promontory.games.transcontinental.melds import all_melds, points, recognise
from promontory.games.transcontinental.vocabulary import MeldKind, Phase, Side
from tests.support.transcontinental import (
    CP,
    DECK,
    GAME,
    UP,
    at_work,
    card,
    cards,
    codes,
    decide,
    given,
    in_phase,
    kinds,
    meld,
    seeded,
)

VECTORS = [tuple(row) for row in yaml.safe_load(Path(__file__).with_name("meld_vectors.yaml").read_text("utf-8"))]


def verdict(side: Side, meld_codes: str) -> str:
    """Return the points and kinds of a meld played from a hand that holds its cards, or why it is refused."""
    hand = " ".join(sorted(set(meld_codes.split())))
    try:
        events, _ = decide(at_work(side, hand), meld(side, meld_codes))
    except Rejected as refusal:
        return refusal.reason
    return " ".join(f"{event.points} {' '.join(event.kinds)}" for event in events if isinstance(event, MeldPlayed))


@pytest.mark.parametrize(("side", "meld_codes", "expected"), VECTORS)
def test_a_set_is_what_the_vectors_say(side: str, meld_codes: str, expected: str) -> None:
    """[Transcontinental 11.1] Points and kinds, or the refusal."""
    assert verdict(Side(side), meld_codes) == expected


@pytest.mark.parametrize(
    ("meld_codes", "expected"),
    [
        ("W3 J3 L3", "surplus"),
        ("W3 J4 L5 M6", "rail"),
        ("W1 W3 W7 W9", "line"),
        ("W1 E5 T3 J9 S6", "track"),
        ("W1 W2 W3 W4", "rail line rail_line"),
        ("W4 E5 T3 J2 S6", "rail track"),
        ("W3 E3 T3 J3 S3", "surplus track"),
    ],
)
def test_a_set_can_have_these_combinations_of_kinds(meld_codes: str, expected: str) -> None:
    """[Transcontinental 4.1] All seven there are."""
    assert recognise([card(code) for code in meld_codes.split()]) == kinds(expected)


def test_no_other_combination_of_kinds_exists() -> None:
    """[Transcontinental 4.1] Seen in all the melds of 60 random hands of 11 cards."""
    random = seeded(41)
    hands = [random.sample(DECK.cards, 11) for _ in range(60)]
    seen = {" ".join(recognise(found)) for hand in hands for found in all_melds(hand)}
    assert seen <= {"surplus", "rail", "line", "track", "rail line rail_line", "rail track", "surplus track"}


def test_the_player_names_only_the_cards() -> None:
    """[T-17] The kinds follow from them, in whatever order they are named."""
    given(in_phase(Phase.WORK, "M6 J4 W3 L5")).when(meld(CP, "M6 J4 W3 L5")).then(
        MeldPlayed(CP, cards("M6 J4 W3 L5"), kinds("rail"), points=2, total=2)
    )


def test_a_set_of_two_kinds_scores_once() -> None:
    """[T-18] By its size."""
    assert points(kinds("surplus track"), 5, DECK.meld_points) == points(kinds("track"), 5, DECK.meld_points) == 4


def test_only_a_whole_rail_line_scores_double() -> None:
    """[T-19] A run inside a longer line doubles nothing."""
    assert (verdict(CP, "W1 W2 W3 W4 W8 W9"), verdict(CP, "W1 W2 W3 W4")) == ("8 line", "4 rail line rail_line")


@pytest.mark.parametrize(
    ("size", "plain", "double"),
    [(4, 2, 4), (5, 4, 8), (6, 8, 16), (7, 12, 24), (8, 16, 32), (9, 20, 40), (10, 25, 50)],
)
def test_points_follow_the_table(size: int, plain: int, double: int) -> None:
    """[Transcontinental 4.2] By the number of cards; double for a rail line."""
    table_points = DECK.meld_points
    assert (points(kinds("line"), size, table_points), points(kinds("rail_line"), size, table_points)) == (
        plain,
        double,
    )


@pytest.mark.parametrize("meld_codes", ["W9 J10 L1 M2", "W3 J4 L4 M5", "W8 W9 J10 L1"])
def test_a_rail_neither_wraps_nor_repeats_a_rank(meld_codes: str) -> None:
    """[T-29] Plain runs of different ranks."""
    assert verdict(CP, meld_codes) == "NOT_A_MELD"


@pytest.mark.parametrize(
    ("meld_codes", "expected"),
    [
        ("W1 W2 E5 T3 J9 S6", "NOT_A_MELD"),
        ("W1 E5 T3 J9 D1", "DIFFICULTY_IN_MELD"),
        ("W1 E5 T3 J9 S6 L2 M8", "12 track"),
    ],
)
def test_all_suits_of_a_track_differ_and_difficulty_is_none(meld_codes: str, expected: str) -> None:
    """[T-30] The largest track has seven cards."""
    assert verdict(CP, meld_codes) == expected


def test_difficulty_cards_make_no_kind() -> None:
    """[T-30] Neither a line of difficulty cards nor a sixth suit of a track."""
    assert recognise([card(code) for code in ("D1", "D2", "D3", "D4")]) == ()
    assert recognise([card(code) for code in ("W1", "E5", "T3", "J9", "S6", "D1")]) == ()


def test_eleven_cards_are_no_meld() -> None:
    """[T-33] Not even the ten of a suit with one more."""
    given(in_phase(Phase.WORK, "L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 M1")).when(
        meld(CP, "L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 M1")
    ).refused("NOT_A_MELD", rule="Transcontinental 4.1", size=11)


def test_melded_cards_go_to_the_discard_pile_in_the_order_named() -> None:
    """[T-3] At once; the last one named is the new top card."""
    state = in_phase(Phase.WORK, "W3 J3 L3", discard="D1")
    assert given(state).when(meld(CP, "L3 W3 J3")).then_state(lambda end: codes(end.discard)) == "D1 L3 W3 J3"


def test_melded_cards_can_be_drawn_by_the_opponent() -> None:
    """[Transcontinental 4.3] Like any discarded card; S-27 plays it out."""
    state = given(in_phase(Phase.WORK, "W3 J3 L3")).when(meld(CP, "L3 W3 J3")).then_state(lambda end: end)
    assert GAME.view(state, 1).discard_card_ids[-1] == card("J3").id


def reference(found: tuple[Card, ...]) -> set[str]:
    """Return the kinds of a set as the sheet's pseudo-code finds them; difficulty cards have none."""
    size, suits, ranks = len(found), [one.suit for one in found], [one.rank or 0 for one in found]
    if 0 in ranks or size == 0:
        return set()
    rail = size >= 4 and len(set(ranks)) == size and max(ranks) - min(ranks) == size - 1
    line = size >= 4 and len(set(suits)) == 1
    holds = {
        "rail": rail,
        "line": line,
        "rail_line": rail and line,
        "track": size >= 5 and len(set(suits)) == size,
        "surplus": size >= 3 and len(set(ranks)) == 1,
    }
    return {name for name, true in holds.items() if true}


@settings(derandomize=True, max_examples=300, deadline=None, database=None)
@for_all(st.lists(st.sampled_from(DECK.cards), unique_by=lambda one: one.id, max_size=11))
def test_kinds_do_not_depend_on_the_order_of_the_cards(found: list[Card]) -> None:
    """[Transcontinental 4.1] The same kinds as the sheet's reference function, from both ends."""
    assert set(recognise(found)) == reference(tuple(found)) == set(recognise(found[::-1]))


@pytest.mark.parametrize("seed", range(8))
def test_all_melds_of_a_hand_are_found_once_each_in_order(seed: int) -> None:
    """[Transcontinental 9.5] As trying every subset finds them."""
    hand = sorted(seeded(seed).sample(DECK.cards, 11), key=lambda one: one.n)
    subsets = [found for size in range(12) for found in combinations(hand, size) if reference(found)]
    assert all_melds(reversed(hand)) == sorted(subsets, key=lambda found: [one.n for one in found])


def test_rail_line_is_named_last() -> None:
    """[Transcontinental 4.1] It is the name for being rail and line at once."""
    assert list(MeldKind)[-1] is MeldKind.RAIL_LINE
    assert verdict(UP, "T6 T7 T8 T9") == "4 rail line rail_line"
