"""The order of events [Transcontinental 9.3] and what they do to a state [Transcontinental 9.4]."""

from __future__ import annotations

import msgspec
import pytest

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.transcontinental.events import (
    CardDrawn,
    CardsDiscarded,
    HandRefilled,
    MeldPlayed,
    TurnEnded,
    TurnStarted,
    WorkEnded,
)
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Phase, Source
from tests.support.transcontinental import (
    CP,
    GAME,
    UP,
    after,
    begun,
    card,
    cards,
    discard,
    draw,
    end_work,
    given,
    held,
    kinds,
    meld,
    table,
    trim,
)


def test_a_turn_with_a_meld_writes_its_events_in_order() -> None:
    """[Transcontinental 9.3] CardDrawn, MeldPlayed, WorkEnded, HandRefilled, CardsDiscarded, TurnEnded, TurnStarted."""
    state = table("W3 J3 D1", deck="L3 M1 M2 M4 M5 M6 M7 M8 M9 M10")
    refill = cards("M1 M2 M4 M5 M6 M7 M8 M9 M10")
    given(state).when(draw(CP), meld(CP, "W3 J3 L3"), end_work(CP), discard(CP, "D1 M1")).then(
        CardDrawn(CP, Source.DECK, card("L3").id),
        MeldPlayed(CP, cards("W3 J3 L3"), kinds("surplus"), points=1, total=1),
        WorkEnded(CP, melds=1),
        HandRefilled(CP, 9, refill),
        CardsDiscarded(CP, Phase.SURVEYORS, cards("D1 M1")),
        TurnEnded(1, CP, idle=0),
        TurnStarted(2, UP),
    )


def test_a_turn_without_a_meld_may_discard_twice() -> None:
    """[Transcontinental 9.3] Surveyors and logistics write an event each, an empty list too."""
    state = table("W1 W2 W4 J5 J7 L8 L9 M3 D1 D2", deck="D3")
    given(state).when(draw(CP), end_work(CP), discard(CP), trim(CP, "D3")).then(
        CardDrawn(CP, Source.DECK, card("D3").id),
        WorkEnded(CP, melds=0),
        CardsDiscarded(CP, Phase.SURVEYORS, ()),
        CardsDiscarded(CP, Phase.LOGISTICS, cards("D3")),
        TurnEnded(1, CP, idle=1),
        TurnStarted(2, UP),
    )


def test_a_seen_card_is_remembered_until_it_leaves_the_hand() -> None:
    """[Transcontinental 9.4] A card taken from the discard pile is known to be in that hand."""
    taken = after(table("D1", discard="J1"), CardDrawn(CP, Source.DISCARD, card("J1").id))
    discarded = after(taken, CardsDiscarded(CP, Phase.SURVEYORS, cards("J1")))
    assert (taken.cp.seen, discarded.cp.seen) == (held("J1"), frozenset())


def test_a_card_drawn_from_the_deck_is_not_seen() -> None:
    """[Transcontinental 9.4] Even if it lay on the discard pile before the last shuffle."""
    assert after(table("D1", deck="J1"), CardDrawn(CP, Source.DECK, card("J1").id)).cp.seen == frozenset()


@pytest.mark.parametrize("seed", range(4))
def test_deciding_again_gives_the_same_events(seed: int) -> None:
    """[Transcontinental 10.2] A repeated decision draws the same."""
    rng = KeyedDraws(bytes([seed]) * 32, "transcontinental")
    assert GAME.begin(State(), rng, draw_start=True) == GAME.begin(State(), rng, draw_start=True)


def test_folding_the_events_gives_the_state() -> None:
    """[Transcontinental 9.4] Replay never evaluates rules or randomness again."""
    rng = KeyedDraws(bytes(32), "transcontinental")
    events = GAME.begin(GAME.initial(2), rng, draw_start=False)
    assert fold(GAME, GAME.initial(2), events) == begun(rng)


def test_a_state_survives_being_written_down() -> None:
    """[Transcontinental 9.4] For snapshots: all of it is plain values."""
    state = table("W1 W2", "D1", discard="J1 J2", deck="L1", totals=(3, 4), idle=5)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State) == state
