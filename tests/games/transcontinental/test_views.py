"""Who sees what: views [Transcontinental 10.1] and redacted events [Transcontinental 11.3]."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.games.transcontinental.events import CardDrawn, DeckShuffled, Event, HandRefilled, HandsDealt
from promontory.games.transcontinental.legal import LegalCommands
from promontory.games.transcontinental.state import Result
from promontory.games.transcontinental.view import GameView, SideView
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Source
from tests.support.scenarios import play
from tests.support.transcontinental import (
    CP,
    DECK,
    GAME,
    UP,
    FileOrder,
    begun,
    card,
    cards,
    codes,
    decide,
    discard,
    draw,
    end_work,
    in_phase,
    table,
)

CP_DEALT, UP_DEALT = cards("W1 W3 W5 W7 W9 E1 E3 E5 E7 E9"), cards("W2 W4 W6 W8 W10 E2 E4 E6 E8 E10")


def told(scenario_id: str, seat: int | None, *kinds: type[Event]) -> list[Event]:
    """Return the events of these kinds in a scenario as the seat, or a spectator, is told them."""
    happened = [(event, state) for event, state in play(scenario_id).happened if isinstance(event, kinds)]
    return [GAME.redact(state, event, seat) for event, state in happened]


def test_a_seat_sees_its_hand_and_the_public_rest() -> None:
    """[Transcontinental 10.1] Hand, counts, piles, totals, idle and phase."""
    state = table(
        "W9 W1 D1", "D2 D3", deck="L1", discard="J5 J1", totals=(4, 7), drew_discard=(False, True), idle=3, turn=8
    )
    unseen = tuple(card_id for card_id in DECK.ids if card_id not in cards("W1 W9 D1 J5 J1"))
    assert GAME.view(state, 0) == GameView(
        seat=0,
        side=CP,
        cp_seat=0,
        phase=Phase.PLANNING,
        active=CP,
        turn=8,
        cp=SideView(4, 3, drew_discard=False),
        up=SideView(7, 2, drew_discard=True),
        deck_size=70,
        discard_card_ids=cards("J5 J1"),
        idle=3,
        melds_this_turn=0,
        hand_card_ids=cards("W1 W9 D1"),
        unseen_card_ids=unseen,
        legal=LegalCommands(draw_sources=(Source.DECK, Source.DISCARD), resign=True),
    )


def test_a_spectator_sees_public_knowledge_only() -> None:
    """[T-35] Neither hand, nothing derived from one, nothing to do."""
    view = GAME.view(table("W1", "D2", discard="J1"), None)
    hidden = (view.hand_card_ids, view.opponent_known_card_ids, view.unseen_card_ids, view.legal, view.seat, view.side)
    assert hidden == ((), (), (), None, None, None)
    assert (view.cp.hand_size, view.up.hand_size, view.deck_size) == (1, 1, 74)


@pytest.mark.parametrize("seat", [0, 1, None])
def test_sizes_and_scores_are_public(seat: int | None) -> None:
    """[T-34] Of both hands and of the draw pile."""
    view = GAME.view(table("W1 W2", "D1", totals=(5, 6)), seat)
    assert (view.cp, view.up, view.deck_size) == (
        SideView(5, 2, drew_discard=False),
        SideView(6, 1, drew_discard=False),
        74,
    )


def test_a_card_taken_from_the_discard_pile_is_known_to_the_opponent() -> None:
    """[Transcontinental 10.1] Until it is melded or discarded."""
    _, taken = decide(table("D1", "D2", discard="J9 J1"), draw(CP, Source.DISCARD))
    _, left = decide(taken, end_work(CP), discard(CP, "J1"))
    views = [GAME.view(state, 1).opponent_known_card_ids for state in (taken, left)]
    assert [codes(view) for view in views] == ["J1", ""]
    assert GAME.view(taken, 0).opponent_known_card_ids == ()


def test_with_an_empty_deck_the_unseen_cards_are_the_opponents_hand() -> None:
    """[Transcontinental 10.1] Derivable and intended; S-21 goes on from here."""
    state = table("D1 D2", "D3 D4", discard="M8 M9 M10", rest="discard")
    assert [codes(GAME.view(state, seat).unseen_card_ids) for seat in (0, 1)] == ["D3 D4", "D1 D2"]


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_that_does_not_exist_sees_nothing(seat: int) -> None:
    """[Transcontinental 10.1] It is an error, not somebody's view."""
    with pytest.raises(ValueError, match="no seat"):
        GAME.view(begun(), seat)


def test_a_finished_game_shows_its_result() -> None:
    """[Transcontinental 10.1] And that nothing is left to do."""
    state = in_phase(Phase.OVER, "W1", result=Result(EndReason.RESIGNATION, UP))
    view = GAME.view(state, 0)
    assert (view.result, view.legal) == (Result(EndReason.RESIGNATION, UP), LegalCommands())


@pytest.mark.parametrize(
    ("seat", "dealt"), [(0, HandsDealt(CP_DEALT, ())), (1, HandsDealt((), UP_DEALT)), (None, HandsDealt())]
)
def test_the_deal_shows_a_seat_its_own_cards(seat: int | None, dealt: HandsDealt) -> None:
    """[Transcontinental 11.3] After S-01: no other hand, no order of the pile."""
    state = GAME.initial(2)
    _, shuffled, hands, _ = GAME.begin(state, FileOrder(), draw_start=False)
    assert GAME.redact(begun(), hands, seat) == dealt
    assert GAME.redact(begun(), shuffled, seat) == DeckShuffled(1, 77)


@pytest.mark.parametrize(
    ("scenario_id", "seat", "drawn"),
    [
        ("S-02", 0, CardDrawn(CP, Source.DECK, card("T1").id)),
        ("S-02", 1, CardDrawn(CP, Source.DECK)),
        ("S-02", None, CardDrawn(CP, Source.DECK)),
        ("S-04", 0, CardDrawn(UP, Source.DISCARD, card("T6").id)),
        ("S-04", 1, CardDrawn(UP, Source.DISCARD, card("T6").id)),
        ("S-04", None, CardDrawn(UP, Source.DISCARD, card("T6").id)),
    ],
)
def test_a_card_from_the_deck_is_told_to_its_drawer_only(scenario_id: str, seat: int | None, drawn: CardDrawn) -> None:
    """[Transcontinental 11.3] One from the discard pile to everybody."""
    assert told(scenario_id, seat, CardDrawn) == [drawn]


@pytest.mark.parametrize(
    ("scenario_id", "seat", "expected"),
    [
        ("S-03", 0, [HandRefilled(CP, 9, cards("T2 T3 T4 T5 T6 T7 T8 T9 T10"))]),
        ("S-03", 1, [HandRefilled(CP, 9)]),
        ("S-03", None, [HandRefilled(CP, 9)]),
        (
            "S-23",
            0,
            [HandRefilled(CP, 1, cards("J10")), DeckShuffled(2, 69), HandRefilled(CP, 2, cards("W5 W6"))],
        ),
        ("S-23", 1, [HandRefilled(CP, 1), DeckShuffled(2, 69), HandRefilled(CP, 2)]),
        ("S-23", None, [HandRefilled(CP, 1), DeckShuffled(2, 69), HandRefilled(CP, 2)]),
    ],
)
def test_a_refill_is_told_to_its_drawer_only(scenario_id: str, seat: int | None, expected: list[Event]) -> None:
    """[Transcontinental 11.3] The others learn how many cards; nobody the order of a shuffle."""
    assert told(scenario_id, seat, HandRefilled, DeckShuffled) == expected


@pytest.mark.parametrize("seat", [0, 1, None])
def test_all_else_is_told_to_everybody(seat: int | None) -> None:
    """[Transcontinental 11.3] Melds and discards with all cards."""
    happened = [event for event, _ in play("S-03").happened if not isinstance(event, HandRefilled | CardDrawn)]
    kinds: Any = tuple({type(event) for event in happened})
    assert told("S-03", seat, *kinds) == happened


@pytest.mark.parametrize(("seat", "known"), [(0, "D3 D4"), (1, "D1 D2"), (None, "")])
def test_an_empty_deck_lets_players_but_not_spectators_know_a_hand(seat: int | None, known: str) -> None:
    """[Transcontinental 11.3] Before the reshuffle of S-21; a spectator can compute only the union of both hands."""
    state = table("D1 D2", "D3 D4", discard="M8 M9 M10", rest="discard")
    view = GAME.view(state, seat)
    union = [card_id for card_id in DECK.ids if card_id not in view.discard_card_ids]
    assert (codes(view.unseen_card_ids), codes(union)) == (known, "D1 D2 D3 D4")


@pytest.mark.parametrize(
    ("event", "foreseeable"),
    [
        (CardDrawn(CP, Source.DECK, card("W1").id), False),
        (CardDrawn(CP, Source.DISCARD, card("W1").id), True),
        (HandRefilled(CP, 1, cards("W1")), False),
        (DeckShuffled(2, 1, cards("W1")), False),
        (HandsDealt(), False),
        *((event, True) for event, _ in play("S-18").happened if not isinstance(event, CardDrawn)),
        *((event, True) for event, _ in play("S-08").happened if not isinstance(event, CardDrawn)),
    ],
)
def test_a_preview_ends_at_chance_and_hidden_cards(event: Event, foreseeable: bool) -> None:
    """[Transcontinental 10.1] Everything else follows from what the seat knows."""
    assert GAME.foreseeable(begun(), event) == foreseeable
