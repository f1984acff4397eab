"""What happens in a game [Pacific 7].

What a seat may not see is empty in its copy: `""` for a card, `()` for several, None for a seat or an area.
"""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.decisions import Answer, Decision
from promontory.games.pacific.tokens import Effect, Tokens
from promontory.games.pacific.vocabulary import (
    Area,
    Arrow,
    EndReason,
    GainCause,
    Kind,
    MoveCause,
    Phase,
    PlacingSource,
    RemovalCause,
)


class DeckShuffled(msgspec.Struct, frozen=True):
    """The whole deck of `size` cards was shuffled; `card_ids` is the order from the top, which no seat sees."""

    size: int
    card_ids: tuple[str, ...] = ()


class HandDealt(msgspec.Struct, frozen=True):
    """A seat was dealt `count` cards, which only it sees."""

    seat: Seat
    count: int
    card_ids: tuple[str, ...] = ()


class PhaseStarted(msgspec.Struct, frozen=True):
    """A phase of turn `turn` began; the set-up of a game for two belongs to turn 0."""

    turn: int
    phase: Phase


class SetupChosen(msgspec.Struct, frozen=True):
    """A seat chose its areas for hotel and factory, which only it sees.

    `again` tells that it had chosen before; others then do not see whose choice it was [P-4].
    """

    seat: Seat | None
    hotel: Area | None = None
    factory: Area | None = None
    again: bool = False


class SetupPlaced(msgspec.Struct, frozen=True):
    """A seat's hotel and factory were placed."""

    seat: Seat
    hotel: Area
    factory: Area


class CardPutOut(msgspec.Struct, frozen=True):
    """A seat put a card out face down, which only it sees; `again` as in `SetupChosen`."""

    seat: Seat | None
    card_id: str = ""
    again: bool = False


class SeatCard(msgspec.Struct, frozen=True):
    """A card of a seat."""

    seat: Seat
    card_id: str


class CardsRevealed(msgspec.Struct, frozen=True):
    """The cards put out in `phase` were turned face up, and are in no hand any more."""

    phase: Phase
    cards: tuple[SeatCard, ...]


class DummiesDealt(msgspec.Struct, frozen=True):
    """The two dummies were dealt a card each, face up; fewer than two only if the draw deck ran out [P-7]."""

    card_ids: tuple[str, ...]


class SlotsChosen(msgspec.Struct, frozen=True):
    """A seat chose slots, ascending, which only it sees; `again` as in `SetupChosen`.

    A choice that leaves nothing to decide is recorded by the rules: it is `forced`, and everybody may see it.
    """

    seat: Seat | None
    slots: tuple[int, ...] = ()
    again: bool = False
    forced: bool = False


class Choice(msgspec.Struct, frozen=True):
    """The slots a seat chose, ascending; for each of them whether no other seat's choice contains it."""

    seat: Seat
    slots: tuple[int, ...]
    sole_picks: tuple[bool, ...]


class Reservation(msgspec.Struct, frozen=True):
    """Cards off the top of the draw deck, reserved for what a seat will draw by the card `card_id` [P-3].

    `count` is public; `drawn_card_ids` are the cards, which no seat sees before it draws them.
    """

    seat: Seat
    card_id: str
    count: int
    drawn_card_ids: tuple[str, ...] = ()


class ChoicesRevealed(msgspec.Struct, frozen=True):
    """All choices were shown, and every seat begins to execute."""

    choices: tuple[Choice, ...]
    reservations: tuple[Reservation, ...] = ()


class DecisionOpened(msgspec.Struct, frozen=True):
    """A seat is to decide."""

    seat: Seat
    decision: Decision


class DecisionAnswered(msgspec.Struct, frozen=True):
    """A seat decided."""

    seat: Seat
    decision_id: int
    answer: Answer


class TokensPlaced(msgspec.Struct, frozen=True):
    """Tokens were placed together in one area: one batch. HQs there note the kinds, unless an HQ placed them."""

    seat: Seat
    area: Area
    tokens: Tokens
    source: PlacingSource


class PathPlaced(msgspec.Struct, frozen=True):
    """A Path was laid on an arrow."""

    seat: Seat
    arrow: Arrow


class TokensMoved(msgspec.Struct, frozen=True):
    """`n` tokens of a kind moved; if HQs did, `hq_ids` tells which."""

    seat: Seat
    kind: Kind
    source: Area
    destination: Area
    n: int
    cause: MoveCause
    hq_ids: tuple[int, ...] = ()


class TokensRemoved(msgspec.Struct, frozen=True):
    """`n` tokens of a kind left the mat; if HQs did, `hq_ids` tells which."""

    seat: Seat
    kind: Kind
    area: Area
    n: int
    cause: RemovalCause
    hq_ids: tuple[int, ...] = ()


class MoneyGained(msgspec.Struct, frozen=True):
    """A seat made `amount` dollars, 1 or more."""

    seat: Seat
    amount: int
    cause: GainCause


class AreaRunStarted(msgspec.Struct, frozen=True):
    """The run of an area began."""

    seat: Seat
    area: Area


class AreaRunEnded(msgspec.Struct, frozen=True):
    """The run of an area ended."""

    seat: Seat
    area: Area


class CardDrawn(msgspec.Struct, frozen=True):
    """A reserved card came into a hand; only its holder sees it."""

    seat: Seat
    card_id: str = ""


class EffectArmed(msgspec.Struct, frozen=True):
    """A seat has an effect that will work next turn."""

    seat: Seat
    effect: Effect


class ExecutionDone(msgspec.Struct, frozen=True):
    """A seat has executed its cards."""

    seat: Seat


class SeatEffect(msgspec.Struct, frozen=True):
    """An effect of a seat."""

    seat: Seat
    effect: Effect


class TurnEnded(msgspec.Struct, frozen=True):
    """A turn ended, and its cards are history; `effects` are those that work next turn, none after the last."""

    turn: int
    effects: tuple[SeatEffect, ...] = ()


class ExplicitRunsSet(msgspec.Struct, frozen=True):
    """A seat set whether every run of an area is asked for."""

    seat: Seat
    on: bool


class SeatResigned(msgspec.Struct, frozen=True):
    """A seat gave up; while others play on, the rules answer for it."""

    seat: Seat


class GameOver(msgspec.Struct, frozen=True):
    """The game ended: every seat's money, and the seats that win, shared if there are several. The last event."""

    reason: EndReason
    money: tuple[int, ...]
    winners: tuple[Seat, ...]


Event = (
    DeckShuffled
    | HandDealt
    | PhaseStarted
    | SetupChosen
    | SetupPlaced
    | CardPutOut
    | CardsRevealed
    | DummiesDealt
    | SlotsChosen
    | ChoicesRevealed
    | DecisionOpened
    | DecisionAnswered
    | TokensPlaced
    | PathPlaced
    | TokensMoved
    | TokensRemoved
    | MoneyGained
    | AreaRunStarted
    | AreaRunEnded
    | CardDrawn
    | EffectArmed
    | ExecutionDone
    | TurnEnded
    | ExplicitRunsSet
    | SeatResigned
    | GameOver
)
