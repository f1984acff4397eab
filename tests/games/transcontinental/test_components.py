"""The deck and its file [Transcontinental 1]."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from promontory.games.transcontinental.cards import CardFileError, load_deck, shipped_cards
from promontory.games.transcontinental.vocabulary import Phase, Side, Suit
from tests.support.transcontinental import CP, DECK, UP, begun, card, codes

MAIN_SUITS = [suit for suit in Suit if suit is not Suit.DIFFICULTY]
Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> bytes:
    """Return the shipped card file after `change` was made to its contents."""
    file = json.loads(shipped_cards())
    change(file)
    return json.dumps(file).encode()


def set_card(number: int, **fields: Any) -> Change:
    """Return the change that gives card `number` of the list other values."""
    return lambda file: file["cards"][number - 1].update(fields)


def test_the_deck_has_77_cards_70_of_main_suits_and_7_difficulty() -> None:
    """[T-1] Seven suits of ten and seven difficulty cards, whatever a catalogue says."""
    sizes = Counter(one.suit for one in DECK.cards)
    assert [sizes[suit] for suit in (*MAIN_SUITS, Suit.DIFFICULTY)] == [10] * 7 + [7]


@pytest.mark.parametrize("suit", MAIN_SUITS)
def test_a_main_suit_has_each_rank_once(suit: Suit) -> None:
    """[Transcontinental 1] Exactly one card for each main suit and rank 1 to 10."""
    assert sorted(one.rank or 0 for one in DECK.cards if one.suit is suit) == list(range(1, 11))


def test_difficulty_cards_have_no_rank() -> None:
    """[Transcontinental 1] The minor suit is unranked."""
    assert {one.rank for one in DECK.cards if one.suit is Suit.DIFFICULTY} == {None}


def test_each_side_has_seven_restricted_cards() -> None:
    """[Transcontinental 1] The restricted cards of each side, by name."""
    restricted = {side: codes(one.id for one in DECK.cards if one.restriction is side) for side in (CP, UP)}
    assert restricted == {CP: "E1 T1 T2 T3 T4 T5 S2", UP: "E2 T6 T7 T8 T9 T10 S1"}


@pytest.mark.parametrize("side", [CP, UP])
def test_a_side_can_meld_63_cards(side: Side) -> None:
    """[Transcontinental 1] 14 of the 77 cards are dead in a side's hand."""
    assert sum(not one.is_dead_for(side) for one in DECK.cards) == 63


def test_totals_have_no_limit_of_markers() -> None:
    """[T-2] Points are a counter that starts at 0; S-32 takes it to 149."""
    assert (begun().cp.total, begun().up.total) == (0, 0)


def test_phase_and_suit_have_one_spelling() -> None:
    """[T-37] The phase is `surveyors`, though a card is called that too; cards have a `suit`."""
    assert (Phase.SURVEYORS.value, card("J5").id, card("J5").suit.value) == ("surveyors", "surveyors", "jobs")


def test_cards_are_listed_in_rulebook_order() -> None:
    """[Transcontinental 1] `n` counts the list from 1."""
    assert [one.n for one in DECK.cards] == list(range(1, 78))
    assert codes(DECK.in_order([card("D1").id, card("E2").id, card("W10").id])) == "W10 E2 D1"


def test_the_deck_carries_the_hash_of_its_file() -> None:
    """[Transcontinental 9.3] A match is pinned to the hash of the card file's bytes."""
    raw = shipped_cards()
    assert DECK.data_hash == hashlib.sha256(raw).digest()
    assert load_deck(raw + b"\n").data_hash != DECK.data_hash


def test_the_file_decides_what_melds_score() -> None:
    """[Transcontinental 4.2] The table of points is part of the file."""
    assert load_deck(changed(lambda file: file["meld_points"].update({"3": 2}))).meld_points[3] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_card(24, rank=11), r"card 24: Expected `int` <= 10 - at `\$.rank`"),
        (set_card(24, suit="rivers"), "card 24: Invalid enum value 'rivers'"),
        (set_card(24, restriction="BR"), "card 24: Invalid enum value 'BR'"),
        (set_card(24, id="Reno City"), "card 24: Expected `str` matching regex"),
        (set_card(24, colour="red"), "card 24: Object contains unknown field `colour`"),
        (set_card(24, n=25), r"card 24 \(reno\): n is 25"),
        (set_card(24, rank=None), r"card 24 \(reno\): a card of a main suit needs a rank"),
        (set_card(71, rank=1), r"card 71 \(indian-attacks\): a difficulty card has neither rank nor restriction"),
        (set_card(71, restriction="CP"), r"card 71 \(indian-attacks\): a difficulty card has neither"),
        (set_card(24, id="elko"), r"card 24 \(elko\): same id as card 23"),
        (set_card(24, code="T3"), r"card 24 \(reno\): same code as card 23"),
        (set_card(24, rank=3), r"card 24 \(reno\): same suit and rank as card 23 \(towns 3\)"),
        (lambda file: file["cards"].pop(), "card file: 76 cards, 6 of them difficulty"),
        (lambda file: file["meld_points"].pop("10"), "meld_points must give the sizes 3 to 10"),
        (lambda file: file["meld_points"].update({"3": 0}), "Expected `int` >= 1"),
        (lambda file: file.update(ruleset="transcontinental/2"), "made for the rules 'transcontinental/2'"),
        (lambda file: file.pop("cards"), "missing required field `cards`"),
    ],
)
def test_a_malformed_card_file_is_refused_with_card_and_reason(change: Change, message: str) -> None:
    """[Transcontinental 1] Only the deck of the rules is accepted."""
    with pytest.raises(CardFileError, match=message):
        load_deck(changed(change))


@pytest.mark.parametrize("raw", [b"", b"no json", b'{"ruleset": "\xff"}'])
def test_a_file_that_is_no_json_is_refused(raw: bytes) -> None:
    """[Transcontinental 1] The card file is JSON in UTF-8."""
    with pytest.raises(CardFileError, match="card file: "):
        load_deck(raw)
