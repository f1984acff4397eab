"""The decisions of a player who executes cards, and their answers [Pacific 3.7].

A question says which answers are legal; the names of the questions are the sheet's types of decisions.
"""

from __future__ import annotations

import msgspec

from promontory.games.pacific.tokens import TokenPick, Tokens
from promontory.games.pacific.vocabulary import Area, Arrow, Kind, Per


class TokenChoice(msgspec.Struct, frozen=True):
    """Any choice of `minimum` to `maximum` tokens out of `options`, which are in the order of areas, then kinds.

    An option's `n` is the most that may be taken of it. `per` limits the choice to one token from each area or of
    each kind.
    """

    options: tuple[TokenPick, ...]
    minimum: int
    maximum: int
    per: Per | None = None


class MoveSource(msgspec.Struct, frozen=True):
    """What may be moved out of `area`, or out of several areas at once if that is None."""

    area: Area | None
    choice: TokenChoice


class OrderCards(msgspec.Struct, frozen=True, tag=True):
    """In which order to execute the cards, which are listed in the order of their slots. Answer: `CardOrder`."""

    card_ids: tuple[str, ...]


class PickArea(msgspec.Struct, frozen=True, tag=True):
    """Which of `areas`, in ring order. Answer: `AreaPick`."""

    areas: tuple[Area, ...]


class PickArrow(msgspec.Struct, frozen=True, tag=True):
    """On which of `arrows` to lay a Path. Answer: `ArrowPick`."""

    arrows: tuple[Arrow, ...]


class PickOrder(msgspec.Struct, frozen=True, tag=True):
    """In which order to do the `parts` parts of an instruction, numbered from 0. Answer: `PartOrder`."""

    parts: int


class PickMoves(msgspec.Struct, frozen=True, tag=True):
    """Which tokens move, and between which areas, never within one. Answer: `Moves`.

    The answer names its source if `names_source`, one of `sources`, and its destination if `names_destination`, one of
    `destinations`, else neither. Only if `may_decline` an answer without tokens may leave both out.
    """

    sources: tuple[MoveSource, ...]
    destinations: tuple[Area, ...]
    names_source: bool
    names_destination: bool
    may_decline: bool


class PickRemovals(msgspec.Struct, frozen=True, tag=True):
    """Which tokens leave the mat. Answer: `Removals`."""

    choice: TokenChoice


class PickReplacements(msgspec.Struct, frozen=True, tag=True):
    """Which tokens are replaced, each by `replacement` in the same area. Answer: `Replacements`."""

    choice: TokenChoice
    replacement: Tokens


class PickRunAreas(msgspec.Struct, frozen=True, tag=True):
    """Which `count` different areas of `areas` to run, in the order named. Answer: `RunAreas`."""

    areas: tuple[Area, ...]
    count: int


class Ports(msgspec.Struct, frozen=True, tag=True):
    """Which tokens of other areas the Ports of `area` fetch, at most one each. Answer: `Fetches`."""

    area: Area
    choice: TokenChoice


class RunArea(msgspec.Struct, frozen=True, tag=True):
    """How the tokens of `area` act. Answer: `FactoryRun`, or `SteppedRun`.

    `pending` are the tokens that must act. In the default order `factories` of them act as factories when the area
    holds `removable`; in a run where fish stay, `fish_stay`, fish are not pending.
    """

    area: Area
    pending: Tokens
    removable: Tokens
    factories: int
    fish_stay: bool


Question = (
    OrderCards
    | PickArea
    | PickArrow
    | PickOrder
    | PickMoves
    | PickRemovals
    | PickReplacements
    | PickRunAreas
    | Ports
    | RunArea
)


class Decision(msgspec.Struct, frozen=True):
    """An open decision; `decision_id` counts a player's decisions in the match from 1.

    `card_id` is the card whose text asks; empty for the order of cards and in the run of the cards' colours.
    """

    decision_id: int
    card_id: str
    question: Question


class CardOrder(msgspec.Struct, frozen=True, tag=True):
    """The cards in the order in which they are executed."""

    card_ids: tuple[str, ...]


class AreaPick(msgspec.Struct, frozen=True, tag=True):
    """The area."""

    area: Area


class ArrowPick(msgspec.Struct, frozen=True, tag=True):
    """The arrow."""

    arrow: Arrow


class PartOrder(msgspec.Struct, frozen=True, tag=True):
    """The parts, numbered from 0, in the order in which they are done."""

    parts: tuple[int, ...]


class Moves(msgspec.Struct, frozen=True, tag=True):
    """The tokens that move, each kind and area named once, and the areas that the question wants named."""

    moves: tuple[TokenPick, ...]
    source: Area | None = None
    destination: Area | None = None


class Removals(msgspec.Struct, frozen=True, tag=True):
    """The tokens that are removed, each kind and area named once."""

    removals: tuple[TokenPick, ...]


class Replacements(msgspec.Struct, frozen=True, tag=True):
    """The tokens that are replaced, each kind and area named once."""

    replacements: tuple[TokenPick, ...]


class RunAreas(msgspec.Struct, frozen=True, tag=True):
    """The areas in the order in which they are run."""

    areas: tuple[Area, ...]


class Fetch(msgspec.Struct, frozen=True):
    """One token that a Port fetches from `area`."""

    kind: Kind
    area: Area


class Fetches(msgspec.Struct, frozen=True, tag=True):
    """What the Ports fetch, one token each, possibly nothing."""

    fetches: tuple[Fetch, ...] = ()


class FactoryRun(msgspec.Struct, frozen=True, tag=True):
    """The default order of a run; `removals` says what each acting factory removes, the rest of them nothing."""

    removals: tuple[Tokens, ...] = ()


class Step(msgspec.Struct, frozen=True):
    """`n` pending tokens of a kind act one after another, or one factory acts and removes `removes`, if anything."""

    kind: Kind
    n: int = 1
    removes: Tokens | None = None


class SteppedRun(msgspec.Struct, frozen=True, tag=True):
    """A run step by step; what is then still pending acts in the default order, factories removing nothing."""

    steps: tuple[Step, ...] = ()


Answer = (
    CardOrder
    | AreaPick
    | ArrowPick
    | PartOrder
    | Moves
    | Removals
    | Replacements
    | RunAreas
    | Fetches
    | FactoryRun
    | SteppedRun
)
