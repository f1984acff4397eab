"""What a seat may do, listed and played automatically [Transcontinental 9.5]."""

from __future__ import annotations

from itertools import islice

import pytest

from promontory.games.transcontinental.commands import Command, DiscardCards, DrawCard, EndWork, PlayMeld, TrimHand
from promontory.games.transcontinental.legal import CardChoice, LegalCommands, MeldOption, expand
from promontory.games.transcontinental.vocabulary import Phase, Source
from tests.support.transcontinental import GAME, begun, cards, in_phase, kinds, table

ELEVEN = "W1 W2 W4 J5 J7 L8 L9 M3 D1 D2 D3"


def choices(*sizes: int, tops: bool = False) -> list[Command]:
    """Return the discards of the given range of sizes out of eleven cards, expanded."""
    choice = CardChoice(cards(ELEVEN), *sizes)
    return list(expand(LegalCommands(discard=choice), 0, tops=tops))


def test_the_first_turn_offers_the_deck_only() -> None:
    """[T-6] There is no discard pile yet."""
    assert GAME.legal(begun(), 0) == LegalCommands(draw_sources=(Source.DECK,), resign=True)


def test_both_piles_are_offered_where_both_can_be_drawn_from() -> None:
    """[Transcontinental 9.5] One or two choices."""
    assert GAME.legal(table("D1", discard="J1"), 0).draw_sources == (Source.DECK, Source.DISCARD)


def test_the_discard_pile_is_not_offered_twice_in_a_row() -> None:
    """[T-9] As the decider judges."""
    state = table("D1", discard="J1", drew_discard=(True, False))
    assert GAME.legal(state, 0).draw_sources == (Source.DECK,)


def test_the_work_phase_offers_every_meld_in_the_order_of_the_list() -> None:
    """[Transcontinental 9.5] Legal card sets and the end of work; dead cards are in none."""
    state = in_phase(Phase.WORK, "W3 E3 J3 D1 T6 S3 W9")
    three, four = ("W3 E3 J3", "W3 E3 S3", "W3 J3 S3", "E3 J3 S3"), "W3 E3 J3 S3"
    melds = {MeldOption(cards(codes), kinds("surplus"), 1) for codes in three}
    legal = GAME.legal(state, 0)
    assert set(legal.melds) == {*melds, MeldOption(cards(four), kinds("surplus"), 2)}
    assert [option.card_ids for option in legal.melds] == [
        cards(codes) for codes in ("W3 E3 J3", "W3 E3 J3 S3", "W3 E3 S3", "W3 J3 S3", "E3 J3 S3")
    ]
    assert (legal.end_work, legal.resign) == (True, True)


@pytest.mark.parametrize(("hand", "most"), [("", 0), ("W1 D1", 2), (ELEVEN, 5)])
def test_surveyors_offers_up_to_five_of_the_hand(hand: str, most: int) -> None:
    """[Transcontinental 9.5] Any sets of 0 to 5 cards."""
    state = in_phase(Phase.SURVEYORS, hand)
    assert GAME.legal(state, 0) == LegalCommands(discard=CardChoice(cards(hand), 0, most), resign=True)


def test_logistics_offers_one_of_eleven() -> None:
    """[Transcontinental 9.5] Eleven choices."""
    legal = GAME.legal(in_phase(Phase.LOGISTICS, ELEVEN), 0)
    assert legal == LegalCommands(trim=CardChoice(cards(ELEVEN), 1, 1), resign=True)
    assert list(expand(legal, 0)) == [TrimHand(0, (card_id,)) for card_id in cards(ELEVEN)]


def test_the_other_seat_may_only_resign() -> None:
    """[T-28] At any time."""
    assert GAME.legal(table("D1"), 1) == LegalCommands(resign=True)


@pytest.mark.parametrize("seat", [0, 1])
def test_nothing_is_legal_after_the_end(seat: int) -> None:
    """[Transcontinental 7] Not even to resign."""
    assert GAME.legal(in_phase(Phase.OVER, "W1 W2 W3 W4"), seat) == LegalCommands()


def test_there_are_1024_sets_to_discard_and_4247_with_the_choice_of_the_top_card() -> None:
    """[Transcontinental 9.5] Of eleven cards, 0 to 5."""
    assert (len(choices(0, 5)), len(choices(0, 5, tops=True))) == (1024, 4247)


def test_canonical_commands_list_cards_in_order_and_with_tops_each_card_last() -> None:
    """[Transcontinental 9.5] One variant per choice of the last card."""
    option = MeldOption(cards("W3 J3 L3"), kinds("surplus"), 1)
    legal = LegalCommands(melds=(option,), end_work=True)
    assert list(expand(legal, 1)) == [PlayMeld(1, cards("W3 J3 L3")), EndWork(1)]
    assert list(expand(legal, 1, tops=True)) == [
        *(PlayMeld(1, cards(codes)) for codes in ("W3 J3 L3", "W3 L3 J3", "J3 L3 W3")),
        EndWork(1),
    ]


def test_commands_are_listed_lazily() -> None:
    """[Transcontinental 9.5] Taking a few costs a few."""
    commands = expand(LegalCommands(discard=CardChoice(cards(ELEVEN), 0, 5)), 0)
    assert list(islice(commands, 2)) == [DiscardCards(0, ()), DiscardCards(0, cards("W1"))]


@pytest.mark.parametrize(
    ("phase", "command"),
    [
        (Phase.PLANNING, DrawCard(0, Source.DECK)),
        (Phase.WORK, EndWork(0)),
        (Phase.SURVEYORS, DiscardCards(0, ())),
        (Phase.LOGISTICS, TrimHand(0, cards("D3"))),
    ],
)
def test_an_absent_player_draws_from_the_deck_never_melds_and_trims_the_highest_card(
    phase: Phase, command: Command
) -> None:
    """[Transcontinental 9.5] One command at a time; difficulty cards have the highest numbers."""
    assert GAME.automatic(in_phase(phase, ELEVEN, discard="M9"), 0) == command
