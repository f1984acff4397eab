"""What a seat may want to do [Transcontinental 9.1]. Cards are named by their ids."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.vocabulary import Source


class DrawCard(msgspec.Struct, frozen=True):
    """Draw the turn's one card, in the planning phase."""

    seat: Seat
    source: Source


class PlayMeld(msgspec.Struct, frozen=True):
    """Meld 3 to 10 cards of the hand, in the work phase; the last one ends on top of the discard pile [T-15]."""

    seat: Seat
    card_ids: tuple[str, ...]


class EndWork(msgspec.Struct, frozen=True):
    """End the work phase."""

    seat: Seat


class DiscardCards(msgspec.Struct, frozen=True):
    """Discard 0 to 5 cards of the hand, in the surveyors phase; the last one ends on top [T-15]."""

    seat: Seat
    card_ids: tuple[str, ...]


class TrimHand(msgspec.Struct, frozen=True):
    """Discard exactly the cards above 10, in the logistics phase; the last one ends on top [T-15]."""

    seat: Seat
    card_ids: tuple[str, ...]


class Resign(msgspec.Struct, frozen=True):
    """Give the game up, at any time and on anybody's turn [T-28]."""

    seat: Seat


Command = DrawCard | PlayMeld | EndWork | DiscardCards | TrimHand | Resign
