"""What one seat, or a spectator, may know of a game [Transcontinental 10.1]."""

from __future__ import annotations

from itertools import filterfalse

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.cards import Deck
from promontory.games.transcontinental.events import (
    CardDrawn,
    DeckShuffled,
    Event,
    HandRefilled,
    HandsDealt,
    SidesAssigned,
)
from promontory.games.transcontinental.legal import LegalCommands, legal_commands
from promontory.games.transcontinental.state import Result, SideState, State
from promontory.games.transcontinental.vocabulary import Phase, Side, Source


class SideView(msgspec.Struct, frozen=True):
    """What everybody may know of a side; `drew_discard` bars the discard pile in its next planning phase [T-9]."""

    total: int
    hand_size: int
    drew_discard: bool


class GameView(msgspec.Struct, frozen=True):
    """A game as `seat`, or a spectator, may know it.

    A spectator's `seat`, `side` and `legal` are None, and its card lists other than the discard pile are empty.
    The discard pile is bottom first, the other lists are in the order of the deck's list. The opponent's known cards
    are those seen going into that hand and not leaving it; unseen are all cards neither in the own hand nor in the
    discard pile: draw pile and opponent's hand together.
    """

    seat: Seat | None
    side: Side | None
    cp_seat: Seat
    phase: Phase
    active: Side
    turn: int
    cp: SideView
    up: SideView
    deck_size: int
    discard_card_ids: tuple[str, ...]
    idle: int
    melds_this_turn: int
    hand_card_ids: tuple[str, ...] = ()
    opponent_known_card_ids: tuple[str, ...] = ()
    unseen_card_ids: tuple[str, ...] = ()
    legal: LegalCommands | None = None
    result: Result | None = None


def view_of(deck: Deck, state: State, seat: Seat | None) -> GameView:
    """Return what `seat`, 0 or 1, or a spectator (None), may know of `state`."""
    public = GameView(
        seat=None,
        side=None,
        cp_seat=state.cp_seat,
        phase=state.phase,
        active=state.active,
        turn=state.turn,
        cp=_side_view(state.cp),
        up=_side_view(state.up),
        deck_size=len(state.deck),
        discard_card_ids=state.discard,
        idle=state.idle,
        melds_this_turn=state.melds,
        result=state.result,
    )
    return public if seat is None else _seat_view(deck, state, seat, public=public)


def redacted(event: Event, side: Side | None) -> Event:
    """Return `event` as `side`, or a spectator (None), may see it while the match is open [Transcontinental 9.3]."""
    match event:
        case DeckShuffled(number, size):
            return DeckShuffled(number, size)
        case HandsDealt(cp_card_ids, up_card_ids):
            return HandsDealt(cp_card_ids if side is Side.CP else (), up_card_ids if side is Side.UP else ())
        case CardDrawn(drawer, Source.DECK) if drawer is not side:
            return CardDrawn(drawer, Source.DECK)
        case HandRefilled(drawer, count) if drawer is not side:
            return HandRefilled(drawer, count)
        case _:
            return event


def is_foreseeable(event: Event) -> bool:
    """Tell whether a seat could know `event` before it happens: it shows neither chance nor cards of the draw pile."""
    if isinstance(event, CardDrawn):
        return event.source is Source.DISCARD
    return not isinstance(event, SidesAssigned | DeckShuffled | HandsDealt | HandRefilled)


def _side_view(state: SideState) -> SideView:
    return SideView(state.total, len(state.hand), state.drew_discard)


def _seat_view(deck: Deck, state: State, seat: Seat, *, public: GameView) -> GameView:
    side = state.side_of(seat)
    hand = state.of(side).hand
    seen = hand.union(state.discard)
    return msgspec.structs.replace(
        public,
        seat=seat,
        side=side,
        hand_card_ids=deck.in_order(hand),
        opponent_known_card_ids=deck.in_order(state.of(side.other).seen),
        unseen_card_ids=tuple(filterfalse(seen.__contains__, deck.by_id)),
        legal=legal_commands(deck, state, seat),
    )
