"""The state of a game, and how events change it [Transcontinental 9.4]."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.transcontinental.events import (
    CardDrawn,
    CardsDiscarded,
    DeckShuffled,
    Event,
    GameOver,
    HandRefilled,
    HandsDealt,
    MeldPlayed,
    SidesAssigned,
    TurnEnded,
    TurnStarted,
    WorkEnded,
)
from promontory.games.transcontinental.vocabulary import CP, UP, EndReason, Phase, Side, Source

HAND_LIMIT = 10
"""The most cards a hand keeps at the end of a turn [Transcontinental 3.6]."""


class SideState(msgspec.Struct, frozen=True):
    """What belongs to one side.

    `seen` are the cards of the hand that everybody saw going into it: taken from the discard pile and not yet left
    [Transcontinental 10.1]. `drew_discard` tells whether the last planning draw came from the discard pile [T-9].
    """

    hand: frozenset[str] = frozenset()
    total: int = 0
    drew_discard: bool = False
    seen: frozenset[str] = frozenset()


class Result(msgspec.Struct, frozen=True):
    """How the game ended; `winner` is None for a draw."""

    reason: EndReason
    winner: Side | None


class State(msgspec.Struct, frozen=True):
    """A game between two events. Before the first turn `turn` is 0.

    `deck` is the draw pile, top first; `discard` the discard pile, bottom first. `shuffles` is the number of the last
    shuffle, `melds` counts the active side's melds this turn, `idle` the turns in a row that ended without one.
    """

    cp_seat: Seat = 0
    phase: Phase = Phase.PLANNING
    active: Side = CP
    turn: int = 0
    melds: int = 0
    idle: int = 0
    shuffles: int = 0
    deck: tuple[str, ...] = ()
    discard: tuple[str, ...] = ()
    cp: SideState = SideState()
    up: SideState = SideState()
    result: Result | None = None

    def of(self, side: Side) -> SideState:
        """Return what belongs to `side`."""
        return self.cp if side is CP else self.up

    def seat_of(self, side: Side) -> Seat:
        """Return the seat that plays `side`."""
        return self.cp_seat if side is CP else 1 - self.cp_seat

    def side_of(self, seat: Seat) -> Side:
        """Return the side that `seat` plays.

        Raises `ValueError` for a seat that is not 0 or 1.
        """
        if seat not in (0, 1):
            raise ValueError(f"there is no seat {seat} in a game for two")
        return CP if seat == self.cp_seat else UP


def evolve(state: State, event: Event) -> State:
    """Return `state` after `event`."""
    match event:
        case CardDrawn(side, source, card_id):
            return _drawn(state, side, source, card_id=card_id)
        case MeldPlayed(side, card_ids, _, _, total):
            holding = _without(state.of(side), card_ids)
            after = _with(state, side, replace(holding, total=total))
            return replace(after, melds=state.melds + 1, discard=state.discard + card_ids)
        case WorkEnded():
            return replace(state, phase=Phase.SURVEYORS)
        case HandRefilled(side, count, card_ids):
            holding = state.of(side)
            after = _with(state, side, replace(holding, hand=holding.hand.union(card_ids)))
            return replace(after, deck=state.deck[count:])
        case CardsDiscarded(side, _, card_ids):
            holding = _without(state.of(side), card_ids)
            phase = Phase.LOGISTICS if len(holding.hand) > HAND_LIMIT else state.phase
            return replace(_with(state, side, holding), phase=phase, discard=state.discard + card_ids)
        case TurnEnded(_, _, idle):
            return replace(state, idle=idle)
        case TurnStarted(turn, side):
            return replace(state, turn=turn, active=side, phase=Phase.PLANNING, melds=0)
        case DeckShuffled(number, _, card_ids):
            return replace(state, shuffles=number, deck=card_ids, discard=())
        case SidesAssigned(cp_seat):
            return replace(state, cp_seat=cp_seat)
        case HandsDealt(cp_card_ids, up_card_ids):
            dealt = len(cp_card_ids) + len(up_card_ids)
            cp, up = SideState(frozenset(cp_card_ids)), SideState(frozenset(up_card_ids))
            return replace(state, cp=cp, up=up, deck=state.deck[dealt:])
        case GameOver(reason, winner):
            return replace(state, phase=Phase.OVER, result=Result(reason, winner))


def _drawn(state: State, side: Side, source: Source, *, card_id: str) -> State:
    holding = state.of(side)
    card = frozenset((card_id,)) if card_id else frozenset()
    hand = holding.hand | card
    if source is Source.DISCARD:
        holding = replace(holding, hand=hand, seen=holding.seen | card, drew_discard=True)
        return replace(_with(state, side, holding), phase=Phase.WORK, discard=state.discard[:-1])
    holding = replace(holding, hand=hand, drew_discard=False)
    return replace(_with(state, side, holding), phase=Phase.WORK, deck=state.deck[1:])


def _without(holding: SideState, card_ids: tuple[str, ...]) -> SideState:
    return replace(holding, hand=holding.hand.difference(card_ids), seen=holding.seen.difference(card_ids))


def _with(state: State, side: Side, holding: SideState) -> State:
    return replace(state, cp=holding) if side is CP else replace(state, up=holding)
