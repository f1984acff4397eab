"""Which events a turn writes, and in which order [Pacific 7]."""

from __future__ import annotations

import pytest

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.pacific.commands import SetExplicitRuns
from promontory.games.pacific.decisions import AreaPick, Decision, FactoryRun, PickArea, RunArea
from promontory.games.pacific.events import (
    AreaRunEnded,
    AreaRunStarted,
    CardDrawn,
    CardPutOut,
    DecisionAnswered,
    DecisionOpened,
    EffectArmed,
    Event,
    ExecutionDone,
    ExplicitRunsSet,
    MoneyGained,
    PhaseStarted,
    SeatEffect,
    SetupChosen,
    SlotsChosen,
    TokensMoved,
    TokensPlaced,
    TokensRemoved,
    TurnEnded,
)
from promontory.games.pacific.state import Player
from promontory.games.pacific.tokens import Effect, Tokens
from promontory.games.pacific.vocabulary import (
    AREAS,
    Area,
    EffectKind,
    GainCause,
    Kind,
    MoveCause,
    Phase,
    PlacingSource,
    RemovalCause,
)
from tests.support.pacific import GAME, begin_executing, begun, choose, choosing, decide, given, played, player

JAPAN, CALIFORNIA, PERU = Area.JAPAN, Area.CALIFORNIA, Area.PERU


def test_a_decision_is_opened_answered_and_then_done() -> None:
    """[Pacific 7] The answer comes before what it does; the next decision, or the end, comes last."""
    started, state = begin_executing(["widget_factory"], player("california 1 hotel 1 fish"))
    assert started == [DecisionOpened(0, Decision(1, "widget_factory", PickArea(AREAS)))]
    run = RunArea(
        CALIFORNIA, Tokens(fish=1, hotel=1, factory=1), Tokens(fish=1, hotel=1, factory=1), 1, fish_stay=False
    )
    state = (
        given(state)
        .said("area california")
        .then(
            DecisionAnswered(0, 1, AreaPick(CALIFORNIA)),
            TokensPlaced(0, CALIFORNIA, Tokens(factory=1), PlacingSource.CARD),
            MoneyGained(0, 1, GainCause.CARD),
            AreaRunStarted(0, CALIFORNIA),
            DecisionOpened(0, Decision(2, "", run)),
        )
    )
    given(state).said("factories 1 hotel").then(
        DecisionAnswered(0, 2, FactoryRun((Tokens(hotel=1),))),
        MoneyGained(0, 1, GainCause.HOTEL),
        TokensRemoved(0, Kind.HOTEL, CALIFORNIA, 1, RemovalCause.FACTORY),
        MoneyGained(0, 2, GainCause.FACTORY),
        TokensMoved(0, Kind.FISH, CALIFORNIA, PERU, 1, MoveCause.RUN),
        AreaRunEnded(0, CALIFORNIA),
        AreaRunStarted(0, PERU),
        TokensMoved(0, Kind.FISH, PERU, Area.POLYNESIA, 1, MoveCause.RUN),
        AreaRunEnded(0, PERU),
        ExecutionDone(0),
    )


def test_nothing_gained_writes_no_event() -> None:
    """[Pacific 7] Nor does nothing placed, moved or removed."""
    events, _ = played("diversify", player())
    assert events == [AreaRunStarted(0, CALIFORNIA), AreaRunEnded(0, CALIFORNIA), ExecutionDone(0)]


def test_a_turn_ends_with_the_effects_of_the_next_one() -> None:
    """[Pacific 7] After the last execution, in the same commit."""
    state = choosing(
        player(hand="spas"),
        player(hand="port"),
        Player(),
        table="documentary computer_chip_factory port",
        deck="yachts",
    )
    events, _ = decide(state, *choose(0, 1, 0))
    effect = Effect("documentary", EffectKind.GAIN_PER_DEPARTURE, 2)
    assert [event for event in events if isinstance(event, EffectArmed | CardDrawn)] == [
        EffectArmed(0, effect),
        CardDrawn(1, "yachts"),
        EffectArmed(2, effect),
    ]
    assert events[-2:] == [
        TurnEnded(5, (SeatEffect(0, effect), SeatEffect(2, effect))),
        PhaseStarted(6, Phase.PUT_OUT_FIRST),
    ]


def test_a_setting_is_an_event_of_its_own() -> None:
    """[Pacific 4.3] It may be changed at any time, on anybody's turn."""
    state = given(begun(3)).when(SetExplicitRuns(1, on=True)).then(ExplicitRunsSet(1, on=True))
    assert [one.explicit_runs for one in state.players] == [False, True, False]


def test_folding_the_events_gives_the_state() -> None:
    """[Pacific 7] Replay never evaluates rules or randomness again."""
    rng = KeyedDraws(bytes(32), GAME.name)
    events = GAME.begin(GAME.initial(4), rng, draw_start=False)
    assert fold(GAME, GAME.initial(4), events) == begun(4, rng)


@pytest.mark.parametrize(
    "event",
    [
        ExplicitRunsSet(0, on=True),
        SetupChosen(0, Area.PERU, Area.JAPAN, again=True),
        CardPutOut(0, "a", again=True),
        SlotsChosen(0, (1,), again=True),
    ],
)
def test_changes_can_be_made_without_end(event: Event) -> None:
    """[P-4] [Pacific 4.3] They bring the game no further."""
    assert GAME.repeatable(event)


@pytest.mark.parametrize(
    "event", [PhaseStarted(1, Phase.CHOOSE), SetupChosen(0, Area.PERU, Area.JAPAN), CardPutOut(0, "a"), SlotsChosen(0)]
)
def test_first_answers_bring_the_game_on(event: Event) -> None:
    """[P-4] And so does all that follows from them."""
    assert not GAME.repeatable(event)
