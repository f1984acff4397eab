"""Draw pile, discard pile and the reshuffle [Transcontinental 6]."""

from __future__ import annotations

import subprocess
import sys

import pytest

from promontory.games.transcontinental.events import CardDrawn, DeckShuffled, HandRefilled, WorkEnded
from promontory.games.transcontinental.state import SideState, State
from promontory.games.transcontinental.vocabulary import Phase, Source
from tests.support.transcontinental import (
    BLIND,
    CP,
    DECK,
    GAME,
    UP,
    card,
    cards,
    codes,
    decide,
    discard,
    draw,
    end_work,
    given,
    in_phase,
    meld,
    table,
)

DISCARD = Source.DISCARD


@pytest.mark.parametrize("seat", [0, 1, None])
def test_the_whole_discard_pile_is_public_in_its_order(seat: int | None) -> None:
    """[T-22] Though only its top card can be drawn."""
    state = table("D1", "D2", discard="J5 W1 M9")
    assert codes(GAME.view(state, seat).discard_card_ids) == "J5 W1 M9"


def test_both_piles_keep_their_order() -> None:
    """[Transcontinental 6.1] The deck gives from the top, the discard pile what was put down last."""
    state = table("D1 D2", "D3", deck="J1 J2 J3", discard="L1")
    turns = (draw(CP), end_work(CP), discard(CP, "D2 D1"), draw(UP), end_work(UP), discard(UP))
    piles = given(state).when(*turns).then_state(lambda end: (codes(end.deck[:1]), codes(end.discard)))
    assert piles == ("J3", "L1 D2 D1")


def test_an_empty_deck_is_made_anew_when_a_card_must_be_drawn_from_it() -> None:
    """[T-23] Lazily, and of the whole discard pile: no card stays."""
    state = table("D1", "D2", discard="M8 M9 M10", rest="discard")
    oldest_first = state.discard
    after = (
        given(state).when(draw(CP)).then(DeckShuffled(2, 75, oldest_first), CardDrawn(CP, Source.DECK, oldest_first[0]))
    )
    assert (after.discard, len(after.deck), after.shuffles) == ((), 74, 2)


def test_a_draw_from_the_discard_pile_reshuffles_nothing() -> None:
    """[Transcontinental 6.2] However empty the deck is."""
    state = table("D1", discard="M8 M9 M10", rest="discard")
    given(state).when(draw(CP, DISCARD)).then(CardDrawn(CP, DISCARD, card("M10").id))


def test_a_deck_that_runs_out_in_the_camp_splits_the_refill() -> None:
    """[Transcontinental 9.3] One refill before the shuffle, one after it; the cards just melded come back."""
    state = in_phase(Phase.WORK, "W1 W2 W3 W4 D1 D2 D3 D4", deck="J10", discard="M9 M10", rest="discard")
    oldest_first = (*state.discard, *cards("W1 W2 W3 W4"))
    given(state).when(meld(CP, "W1 W2 W3 W4"), end_work(CP)).then_last(
        WorkEnded(CP, 1),
        HandRefilled(CP, 1, cards("J10")),
        DeckShuffled(2, 72, oldest_first),
        HandRefilled(CP, 5, oldest_first[:5]),
    )


def test_a_deck_already_empty_in_the_camp_gives_one_refill_after_the_shuffle() -> None:
    """[Transcontinental 9.3] The first refill is left out."""
    state = in_phase(Phase.WORK, "W1 W2 W3 W4", rest="discard")
    oldest_first = (*state.discard, *cards("W1 W2 W3 W4"))
    given(state).when(meld(CP, "W1 W2 W3 W4"), end_work(CP)).then_last(
        WorkEnded(CP, 1), DeckShuffled(2, 77, oldest_first), HandRefilled(CP, 10, oldest_first[:10])
    )


def test_the_reshuffle_waits_if_the_last_card_was_just_enough() -> None:
    """[T-23] The reason for it is a draw."""
    state = in_phase(Phase.WORK, "W1 W2 W3 W4 D1 D2 D3 D4 D5 D6 D7", deck="J1 J2 J3", rest="discard")
    after = (
        given(state)
        .when(meld(CP, "W1 W2 W3 W4"), end_work(CP))
        .then_last(WorkEnded(CP, 1), HandRefilled(CP, 3, cards("J1 J2 J3")))
    )
    assert (after.deck, codes(after.discard[-4:])) == ((), "W1 W2 W3 W4")


def test_after_a_reshuffle_the_discard_pile_stays_empty() -> None:
    """[Transcontinental 6.2] Until somebody melds or discards, it cannot be drawn from."""
    _, state = decide(table("D1", "D2", rest="discard"), draw(CP), end_work(CP), discard(CP))
    assert state.active is UP
    assert GAME.legal(state, 1).draw_sources == (Source.DECK,)


def test_both_piles_empty_is_asserted_not_to_happen() -> None:
    """[T-24] It cannot: hands hold at most 21 cards, so 56 are always in the piles."""
    with pytest.raises(AssertionError, match="both piles are empty"):
        GAME.decide(State(turn=1, shuffles=1, cp=SideState(frozenset(DECK.ids))), draw(CP), BLIND)


WITHOUT_ASSERTIONS = """
from promontory.games.fairness import BlindDraws
from promontory.games.registry import game
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.state import SideState, State
from promontory.games.transcontinental.vocabulary import Source
rules = game("transcontinental")
state = State(turn=1, shuffles=1, cp=SideState(frozenset(rules.deck.ids)))
for event in rules.decide(state, DrawCard(0, Source.DECK), BlindDraws()):
    state = rules.evolve(state, event)
print(state.phase, len(state.cp.hand))
"""


def test_with_assertions_off_a_draw_from_nothing_yields_no_card() -> None:
    """[T-24] The phase goes on."""
    result = subprocess.run(
        [sys.executable, "-O", "-c", WITHOUT_ASSERTIONS], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["work", "77"]
