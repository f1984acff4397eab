"""What one seat, or a spectator, may know of a game [Transcontinental 10.1]."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.legal import LegalCommands
from promontory.games.transcontinental.state import Result
from promontory.games.transcontinental.vocabulary import Phase, Side


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
