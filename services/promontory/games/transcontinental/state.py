"""The state of a game [Transcontinental 9.4]."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Side


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
    active: Side = Side.CP
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
        return self.cp if side is Side.CP else self.up

    def seat_of(self, side: Side) -> Seat:
        """Return the seat that plays `side`."""
        return self.cp_seat if side is Side.CP else 1 - self.cp_seat

    def side_of(self, seat: Seat) -> Side:
        """Return the side that `seat`, 0 or 1, plays."""
        return Side.CP if seat == self.cp_seat else Side.UP
