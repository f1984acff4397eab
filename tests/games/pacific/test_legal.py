"""What a seat may do, and what is done for one that is absent [Pacific 3.7]."""

from __future__ import annotations

from itertools import islice

import pytest

from promontory.games.pacific.answers import all_answers, default_answer
from promontory.games.pacific.commands import AnswerDecision, Choose, PutOut
from promontory.games.pacific.decisions import (
    AreaPick,
    ArrowPick,
    CardOrder,
    FactoryRun,
    Fetches,
    Moves,
    OrderCards,
    PartOrder,
    PickArea,
    PickArrow,
    PickOrder,
    Removals,
    Replacements,
    RunAreas,
)
from promontory.games.pacific.legal import LegalCommands, SlotChoice, expand
from promontory.games.pacific.state import Player
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import AREAS, Area, Arrow
from tests.support.pacific import (
    BENCH,
    GAME,
    answers,
    begun,
    choose,
    choosing,
    executing,
    given,
    open_decision,
    picks,
    player,
    putting_out,
    set_up,
    state_after,
)


def asked(card_id: str, words: str, *said: str, **fields: str) -> object:
    """Return what a player with the mat `words` is asked when it executes a card, after some answers."""
    _, state = answers(executing([card_id], player(words, **fields), game=BENCH), *said, game=BENCH)
    decision = open_decision(state)
    return None if decision is None else decision.question


def default(card_id: str, words: str, *said: str) -> object:
    """Return the default answer to it."""
    question = asked(card_id, words, *said)
    assert question is not None
    return default_answer(question)


def count(card_id: str, words: str, *said: str) -> int:
    """Return how many answers there are."""
    question = asked(card_id, words, *said)
    return len(list(all_answers(question)))


def test_the_set_up_offers_all_pairs_of_areas() -> None:
    """[P-13] Twenty of them."""
    legal = GAME.legal(begun(2), 0)
    assert legal == LegalCommands(setup_areas=AREAS, set_explicit_runs=True, resign=True)
    assert len(list(expand(legal, 0))) == 20


def test_putting_out_offers_the_hand() -> None:
    """[Pacific 2.2] Also to a seat that has put out and may change its mind [P-4]."""
    state = putting_out(player(hand="spas port"), player(hand="dugongs"), player(hand="sharks"))
    legal = LegalCommands(put_out_card_ids=("spas", "port"), set_explicit_runs=True, resign=True)
    assert (GAME.legal(state, 0), GAME.legal(state_after(state, PutOut(0, "spas")), 0)) == (legal, legal)
    assert list(expand(legal, 0)) == [PutOut(0, "spas"), PutOut(0, "port")]


def test_choosing_offers_the_slots() -> None:
    """[Pacific 2.2] In a game for two the dummies' as well."""
    state = choosing(Player(), Player(), table="spas port dugongs sharks")
    legal = LegalCommands(choose=SlotChoice((0, 1, 2, 3), 1), set_explicit_runs=True, resign=True)
    assert GAME.legal(state, 1) == legal
    assert list(expand(legal, 1)) == [Choose(1, (slot,)) for slot in range(4)]


def test_executing_offers_the_open_decision() -> None:
    """[Pacific 3.7] One at a time; who has none may only set and resign."""
    state = executing(["fishing"], player())
    decision = open_decision(state)
    assert GAME.legal(state, 0) == LegalCommands(decision=decision, set_explicit_runs=True, resign=True)
    assert list(expand(GAME.legal(state, 0), 0)) == [AnswerDecision(0, 1, AreaPick(area)) for area in AREAS]
    done = answers(state, "area peru")[1]
    assert GAME.legal(done, 0) == LegalCommands(set_explicit_runs=True, resign=True)


def test_a_seat_that_a_phase_does_not_ask_may_only_set_and_resign() -> None:
    """[Pacific 2.1] Here one that is bound to put out late."""
    state = putting_out(player(hand="spas", active="dolphin_spy_network"), player(hand="port"), player(hand="sharks"))
    assert GAME.legal(state, 0) == LegalCommands(set_explicit_runs=True, resign=True)


@pytest.mark.parametrize("seat", [-1, 3])
def test_a_seat_that_does_not_exist_may_do_nothing(seat: int) -> None:
    """[Pacific 1.4] It is an error."""
    with pytest.raises(ValueError, match="no seat"):
        GAME.legal(begun(3), seat)


@pytest.mark.parametrize(
    ("card_id", "words", "said", "number"),
    [
        ("direct_flight", "", (), 5),
        ("disperse", "", ("area japan",), 2),
        ("disperse", "", ("area japan", "order 0 1"), 4),
        ("disperse", "japan 1 fish", ("area japan", "order 0 1"), 8),
        ("head_west", "japan 1 fish 1 boat / peru 3 fish", (), 6),
        ("migration", "peru 3 fish", ("area japan",), 4),
        ("relocate", "japan 1 fish", (), 1 + 4 + 4),
        ("reorganize", "japan 2 fish / peru 1 boat", (), 6),
        ("yachts", "japan 1 fish 1 boat / peru 1 fish", (), 6),
        ("oversee", "", (), 20),
        ("sharks", "japan 1 fish", (), 7),
        ("industrial_hotels", "japan 2 factory / peru 1 factory", (), 6),
        ("liquidate", "japan 1 fish 1 boat / peru 2 hotel", (), 6),
        ("port", "japan 2 fish / california 1 hotel", ("area japan",), 2),
        ("run_japan", "japan 1 factory 2 hotel", (), 3),
        ("run_japan", "japan 1 factory 1 hotel 1 boat", (), 4),
        ("run_japan", "japan 2 factory", (), 3),
    ],
)
def test_all_answers_are_listed_once(card_id: str, words: str, said: tuple[str, ...], number: int) -> None:
    """[Pacific 3.7] Those with the same effect count as one."""
    question = asked(card_id, words, *said)
    listed = list(all_answers(question))
    assert (len(listed), len(set(map(str, listed)))) == (number, number)


def test_answers_are_listed_lazily() -> None:
    """[Pacific 3.7] Taking a few of very many costs a few."""
    question = asked("run_japan", "japan 40 factory 40 hotel 40 fish 40 boat 40 hq")
    assert next(all_answers(question)) == FactoryRun()
    assert len(list(islice(all_answers(question), 1000))) == 1000


def test_two_cards_may_be_ordered_either_way() -> None:
    """[Pacific 3.7] By slot first."""
    question = OrderCards(("spas", "port"))
    assert list(all_answers(question)) == [CardOrder(("spas", "port")), CardOrder(("port", "spas"))]
    assert default_answer(question) == CardOrder(("spas", "port"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (PickArea((Area.PERU, Area.CORAL_SEA)), AreaPick(Area.PERU)),
        (PickArrow(tuple(Arrow)), ArrowPick(Arrow.JAPAN_CALIFORNIA)),
        (PickOrder(3), PartOrder((0, 1, 2))),
    ],
)
def test_an_absent_player_takes_the_first(question: PickArea, answer: AreaPick) -> None:
    """[Pacific 3.7] Area in ring order, the first arrow, the parts as printed."""
    assert default_answer(question) == answer


@pytest.mark.parametrize(
    ("card_id", "words", "said", "answer"),
    [
        ("head_west", "japan 1 fish", (), Moves(())),
        ("relocate", "japan 1 fish", (), Moves(())),
        ("migration", "peru 3 fish", ("area japan",), Moves((), Area.CALIFORNIA)),
        ("migration", "peru 3 fish", ("area california",), Moves((), Area.JAPAN)),
        ("disperse", "japan 1 hq", ("area japan", "order 0 1"), Moves(picks("1 boat japan"), None, Area.CALIFORNIA)),
        ("disperse", "", ("area california", "order 0 1"), Moves(picks("1 boat california"), None, Area.JAPAN)),
        ("pet_rocks", "peru 1 hotel / japan 1 boat 1 hq", (), Removals(picks("1 boat japan"))),
        ("sharks", "", (), Removals(picks("3 fish california"))),
        ("plastics_factories", "japan 1 fish / peru 5 fish", (), Removals(picks("1 fish japan, 1 fish peru"))),
        ("liquidate", "japan 1 fish", (), Removals(())),
        ("seafood_chain", "japan 1 fish", (), Replacements(())),
        ("oversee", "", (), RunAreas((Area.JAPAN, Area.CALIFORNIA))),
        ("run_japan", "japan 1 port / peru 1 fish", (), Fetches(())),
        ("run_japan", "japan 1 factory 1 fish", (), FactoryRun(())),
    ],
)
def test_an_absent_player_does_as_little_as_allowed(
    card_id: str, words: str, said: tuple[str, ...], answer: object
) -> None:
    """[Pacific 3.7] The defaults of the table; compulsory tokens in the order of areas and kinds."""
    assert default(card_id, words, *said) == answer


def test_an_absent_player_puts_out_the_first_card_and_executes_it() -> None:
    """[P-52] The hand is in dealt order; with an extra card the lowest other slot comes along."""
    state = putting_out(player(hand="spas port"), player(hand="dugongs"), player(hand="sharks"))
    assert GAME.automatic(state, 0) == PutOut(0, "spas")
    state = choosing(Player(), player(active="make_the_rounds"), Player(), table="spas port dugongs")
    assert [GAME.automatic(state, seat) for seat in range(3)] == [Choose(0, (0,)), Choose(1, (1, 0)), Choose(2, (2,))]


def test_an_absent_player_has_a_default_for_the_set_up() -> None:
    """[P-52] The sheet names none: the first two areas, hotel first."""
    assert GAME.automatic(begun(2), 0) == set_up(0, "japan", "california")


@pytest.mark.parametrize(
    ("card_id", "words", "said"),
    [
        ("head_west", "japan 1 fish", "move"),
        ("archaeology", "japan 1 fish", "move"),
        ("relocate", "japan 1 fish", "move from japan to peru"),
        ("seagulls", "japan 1 fish", "move"),
        ("liquidate", "japan 1 fish", "remove"),
        ("seafood_chain", "japan 1 fish", "replace"),
    ],
)
def test_what_says_up_to_or_any_may_be_declined(card_id: str, words: str, said: str) -> None:
    """[P-15] With areas named or without."""
    assert asked(card_id, words, said) is None


@pytest.mark.parametrize(
    ("card_id", "words", "said"),
    [
        ("pet_rocks", "japan 1 fish 1 boat", "remove"),
        ("sharks", "", "remove 2 fish california"),
        ("migration", "california 2 fish", "move from california"),
        ("disperse", "japan 1 fish", "move to peru"),
    ],
)
def test_what_says_lose_or_move_is_compulsory(card_id: str, words: str, said: str) -> None:
    """[P-15] As far as possible."""
    before = {"migration": ["area japan"], "disperse": ["area japan", "order 1 0"]}.get(card_id, [])
    words = "japan 1 fish 1 boat" if card_id == "disperse" else words
    state = answers(executing([card_id], player(words)), *before)[1]
    fewest = {"pet_rocks": 1, "sharks": 3, "migration": 2, "disperse": 1}[card_id]
    given(state).said(said).refused("TOO_FEW", rule="Pacific 3.1", fewest=fewest)


def test_the_questions_tell_what_may_be_answered() -> None:
    """[Pacific 3.7] Here the areas of which one is to be chosen, after a condition on them."""
    assert asked("humboldt_penguins", "japan 1 hotel / peru 3 hotel / coral_sea 1 hotel") == PickArea(
        (Area.JAPAN, Area.CORAL_SEA)
    )


def test_numbers_of_decisions_are_counted_by_player() -> None:
    """[Pacific 3.7] So that the order in which players answer changes nothing."""
    state = choosing(player(), player(), player(), table="fishing direct_flight spas")
    state = state_after(state, *choose(0, 1, 0))
    numbers = [decision.decision_id for decision in (open_decision(state, seat) for seat in range(3)) if decision]
    assert numbers == [1, 1, 1]
    assert [one.decisions for one in state.players] == [1, 1, 1]


def test_what_a_factory_may_remove_is_listed_for_each_in_turn() -> None:
    """[Pacific 4.3] Without lists that end in nothing."""
    question = asked("run_japan", "japan 2 factory")
    removed = Tokens(factory=1)
    assert list(all_answers(question)) == [FactoryRun(), FactoryRun((Tokens(), removed)), FactoryRun((removed,))]
