"""Restricted and difficulty cards [Transcontinental 5]."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.events import CardDrawn
from promontory.games.transcontinental.vocabulary import Phase, Side, Source
from tests.support.transcontinental import (
    CP,
    DECK,
    GAME,
    SEAT,
    UP,
    at_work,
    card,
    codes,
    discard,
    draw,
    given,
    in_phase,
    meld,
    table,
)

WORK = Phase.WORK


def longest(side: Side, suit: str, *, kind: str) -> int:
    """Return the size of the longest meld of `kind` that `side` can make of all the cards of a suit."""
    hand = " ".join(one.code for one in DECK.cards if one.suit == suit)
    state = at_work(side, hand)
    return max(len(option.card_ids) for option in GAME.legal(state, SEAT[side]).melds if kind in option.kinds)


@pytest.mark.parametrize(
    ("side", "meld_codes", "first"), [(CP, "W1 T6 T7 W2", "T6"), (UP, "T6 T7 T1 T2", "T1"), (UP, "W1 E1 J1", "E1")]
)
def test_only_its_own_side_can_meld_a_restricted_card(side: Side, meld_codes: str, first: str) -> None:
    """[T-20] "Used" means melded; the refusal names the first such card."""
    state = at_work(side, meld_codes)
    given(state).when(meld(side, meld_codes)).refused("RESTRICTED_CARD", rule="T-20", cardId=card(first).id)


@pytest.mark.parametrize("source", list(Source))
def test_both_sides_may_draw_a_restricted_card(source: Source) -> None:
    """[T-20] From either pile."""
    state = table("D1", deck="T6", discard="T6" if source is Source.DISCARD else "")
    given(state).when(draw(CP, source)).then(CardDrawn(CP, source, card("T6").id))


def test_both_sides_may_discard_a_restricted_card() -> None:
    """[T-20] Holding it must be possible, and so must getting rid of it."""
    state = given(in_phase(Phase.SURVEYORS, "T6 T7")).when(discard(CP, "T7")).then_state(lambda end: end)
    assert (codes(state.discard), codes(state.cp.hand)) == ("T7", "T6")


def test_restricted_cards_count_for_the_hand_limit() -> None:
    """[T-20] They occupy space like any other card."""
    state = in_phase(Phase.SURVEYORS, "T6 T7 T8 T9 T10 W1 W2 W3 W4 W5 W6")
    assert given(state).when(discard(CP)).then_state(lambda end: end.phase) is Phase.LOGISTICS


@pytest.mark.parametrize(
    ("side", "suit", "kind", "size"),
    [
        (CP, "towns", "line", 5),
        (UP, "towns", "line", 5),
        (CP, "supplies", "rail_line", 9),
        (UP, "supplies", "rail_line", 8),
        (UP, "supplies", "line", 9),
        (CP, "ethnicities", "rail_line", 8),
        (CP, "ethnicities", "line", 9),
        (UP, "ethnicities", "rail_line", 9),
        (CP, "work", "rail_line", 10),
    ],
)
def test_restrictions_limit_the_longest_melds(side: Side, suit: str, kind: str, size: int) -> None:
    """[Transcontinental 5.1] What each side can make of a whole suit."""
    assert longest(side, suit, kind=kind) == size


@pytest.mark.parametrize("meld_codes", ["D1 D2 D3", "W1 W2 W3 W4 D1", "T6 D1 W1"])
def test_a_difficulty_card_is_never_melded(meld_codes: str) -> None:
    """[Transcontinental 5.2] Reported before a restricted card."""
    given(in_phase(WORK, meld_codes)).when(meld(CP, meld_codes)).refused(
        "DIFFICULTY_IN_MELD", rule="Transcontinental 5.2", cardId=card("D1").id
    )
