"""What a seat may do now, in a compact form [Transcontinental 9.5]."""

from __future__ import annotations

import msgspec

from promontory.games.transcontinental.vocabulary import MeldKind, Source


class MeldOption(msgspec.Struct, frozen=True):
    """A set that may be melded: ids in the order of the deck's list, its kinds, and the points it scores, 1 to 50."""

    card_ids: tuple[str, ...]
    kinds: tuple[MeldKind, ...]
    points: int


class CardChoice(msgspec.Struct, frozen=True):
    """Any choice of `minimum` to `maximum` different cards out of `card_ids`, which are in the order of the list."""

    card_ids: tuple[str, ...]
    minimum: int
    maximum: int


class LegalCommands(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat now, complete; cards may be named in any order.

    `draw_sources` is empty outside the seat's planning phase, `melds` and `end_work` outside its work phase; `discard`
    is None outside its surveyors phase, `trim` outside its logistics phase. `resign` is true until the game is over.
    """

    draw_sources: tuple[Source, ...] = ()
    melds: tuple[MeldOption, ...] = ()
    end_work: bool = False
    discard: CardChoice | None = None
    trim: CardChoice | None = None
    resign: bool = False
