"""What is drawn, and the sheet's test vector [Transcontinental 10.2]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from promontory.games import fairness
from promontory.games.transcontinental.events import DeckShuffled
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.transcontinental import CP, DECK, GAME, begun, cards, codes, draw, end_work, in_phase, meld, table

RNG = fairness.KeyedDraws(fairness.match_key("match-1", bytes(range(32)), [b"", b""]), GAME.name)


class Recorder:
    """Draws of nothing that note what they were asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Note the draw and return 0."""
        self.asked.append((n, purpose, number, index))
        return 0

    def shuffle(self, items: Sequence[Any], purpose: str, number: int) -> tuple[Any, ...]:
        """Note the shuffle and leave the items as they are."""
        self.asked.append((tuple(items), purpose, number))
        return tuple(items)


def test_the_vector_draws_seat_1_as_cp() -> None:
    """[Transcontinental 10.2] `start`, number 0, index 0, n = 2."""
    assert begun(RNG, draw_start=True).cp_seat == 1


def test_the_vector_shuffles_the_deck() -> None:
    """[Transcontinental 10.2] Shuffle 1 of the 77 cards in ascending `n`."""
    order = codes(RNG.shuffle(DECK.ids, "shuffle", 1)).split()
    assert " ".join(order[:12]) == "D3 T7 T1 J6 W4 D1 L3 E10 M10 J4 E3 T5"
    assert " ".join(order[12:22]) == "T10 E1 L7 T6 W5 J9 W10 M8 W9 W3"
    assert " ".join(order[-5:]) == "S7 T9 L9 S4 T3"


def test_the_vector_deals_the_hands() -> None:
    """[Transcontinental 10.2] From the top, CP first."""
    state = begun(RNG)
    assert state.cp.hand == set(cards("D3 T1 W4 L3 M10 E3 T10 L7 W5 W10"))
    assert state.up.hand == set(cards("T7 J6 D1 E10 J4 T5 E1 T6 J9 M8"))
    assert codes(state.deck[:2]) == "W9 W3"


def test_the_vector_shuffles_the_work_cards_again() -> None:
    """[Transcontinental 10.2] Shuffle 2 of the ten cards W1 to W10."""
    assert codes(RNG.shuffle(cards("W1 W2 W3 W4 W5 W6 W7 W8 W9 W10"), "shuffle", 2)) == "W6 W9 W3 W1 W7 W4 W10 W8 W2 W5"


@pytest.mark.parametrize(
    ("draw_start", "asked"),
    [(False, [(DECK.ids, "shuffle", 1)]), (True, [(2, "start", 0, 0), (DECK.ids, "shuffle", 1)])],
)
def test_the_set_up_draws_the_deck_and_where_asked_the_sides(draw_start: bool, asked: list[tuple[Any, ...]]) -> None:
    """[Transcontinental 10.2] Nothing else."""
    recorder = Recorder()
    GAME.begin(GAME.initial(2), recorder, draw_start=draw_start)
    assert recorder.asked == asked


def test_a_reshuffle_starts_from_ascending_order_with_the_next_number() -> None:
    """[Transcontinental 10.2] So the order of the discard pile has no influence."""
    hands = " ".join(one.code for one in DECK.cards if one.suit != "work")
    pile = "W9 W1 W5 W10 W2 W3 W8 W4 W6 W7"
    recorder = Recorder()
    GAME.decide(table(hands, discard=pile, shuffles=4), draw(CP), recorder)
    assert recorder.asked == [(cards("W1 W2 W3 W4 W5 W6 W7 W8 W9 W10"), "shuffle", 5)]


def test_the_order_of_a_shuffle_is_recorded() -> None:
    """[Transcontinental 10.2] Replay uses the stored order."""
    shuffled, _ = GAME.decide(table("D1", rest="discard"), draw(CP), RNG)
    state = GAME.evolve(table("D1", rest="discard"), shuffled)
    assert isinstance(shuffled, DeckShuffled)
    assert state.deck == RNG.shuffle(DECK.in_order(state.deck), "shuffle", 2)


@pytest.mark.parametrize("command", [meld(CP, "W1 W2 W3 W4"), end_work(CP)])
def test_what_needs_no_shuffle_draws_nothing(command: Any) -> None:
    """[Transcontinental 10.2] Shuffles and sides are all there is."""
    recorder = Recorder()
    GAME.decide(in_phase(Phase.WORK, "W1 W2 W3 W4", melds=1), command, recorder)
    assert recorder.asked == []
