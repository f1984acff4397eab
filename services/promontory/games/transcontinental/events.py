"""What happens in a game [Transcontinental 9.3].

Events name sides, not seats. What a seat may not see is empty in its copy: `""` for a card, `()` for cards.
"""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.vocabulary import EndReason, MeldKind, Phase, Side, Source


class SidesAssigned(msgspec.Struct, frozen=True):
    """The sides were given to the seats: `cp_seat`, 0 or 1, plays CP, the other seat UP [T-4]."""

    cp_seat: Seat


class DeckShuffled(msgspec.Struct, frozen=True):
    """The discard pile (at the start: the whole deck) became the draw pile of `size` cards.

    `number` counts from 1, the set-up. `card_ids` is the order from the top, which no seat sees.
    """

    number: int
    size: int
    card_ids: tuple[str, ...] = ()


class HandsDealt(msgspec.Struct, frozen=True):
    """Both sides were dealt 10 cards, in the order dealt; each sees its own."""

    cp_card_ids: tuple[str, ...] = ()
    up_card_ids: tuple[str, ...] = ()


class TurnStarted(msgspec.Struct, frozen=True):
    """Turn number `turn`, from 1, began, and `side` is active."""

    turn: int
    side: Side


class CardDrawn(msgspec.Struct, frozen=True):
    """A card was drawn in the planning phase; from the draw pile only the drawer sees it."""

    side: Side
    source: Source
    card_id: str = ""


class MeldPlayed(msgspec.Struct, frozen=True):
    """A set was melded for `points`, 1 to 50, and lies on the discard pile in the order played [T-3].

    `kinds` are in the order of `MeldKind`; `total` is the side's total after it.
    """

    side: Side
    card_ids: tuple[str, ...]
    kinds: tuple[MeldKind, ...]
    points: int
    total: int


class WorkEnded(msgspec.Struct, frozen=True):
    """The work phase ended after `melds` melds."""

    side: Side
    melds: int


class HandRefilled(msgspec.Struct, frozen=True):
    """`count` cards were drawn from the draw pile in the camp phase, in the order drawn; only the drawer sees them."""

    side: Side
    count: int
    card_ids: tuple[str, ...] = ()


class CardsDiscarded(msgspec.Struct, frozen=True):
    """Cards were discarded in `phase` (surveyors or logistics), possibly none, the last one on top."""

    side: Side
    phase: Phase
    card_ids: tuple[str, ...]


class TurnEnded(msgspec.Struct, frozen=True):
    """Turn number `turn` of `side` ended; `idle` turns in a row have now ended without a meld."""

    turn: int
    side: Side
    idle: int


class GameOver(msgspec.Struct, frozen=True):
    """The game ended; `winner` is None for a draw. The game's last event."""

    reason: EndReason
    winner: Side | None
    cp_total: int
    up_total: int


Event = (
    SidesAssigned
    | DeckShuffled
    | HandsDealt
    | TurnStarted
    | CardDrawn
    | MeldPlayed
    | WorkEnded
    | HandRefilled
    | CardsDiscarded
    | TurnEnded
    | GameOver
)
