"""The instruction set that cards are written in, as it stands in a deck file [Pacific 3.1 to 3.3].

Areas are written as the id of one, as `$name` for a bound one, or as `here` for the area being served; numbers as
such or as a `Formula`.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal

import msgspec

from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import KINDS, EffectKind, Kind, Per

_AREA = r"japan|california|peru|polynesia|coral_sea|\$[a-z]+"
AreaName = Annotated[str, msgspec.Meta(pattern=rf"^({_AREA}|here)$")]
AreaOrAll = Annotated[str, msgspec.Meta(pattern=rf"^({_AREA}|here|all)$")]
AreaOrAnywhere = Annotated[str, msgspec.Meta(pattern=rf"^({_AREA}|anywhere)$")]
AreaOrElsewhere = Annotated[str, msgspec.Meta(pattern=rf"^({_AREA}|elsewhere)$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z]{1,20}$")]
Number = Annotated[int, msgspec.Meta(ge=0, le=1000)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Which(StrEnum):
    """The kinds of tokens that are meant: one, or any."""

    FISH = "fish"
    HOTEL = "hotel"
    FACTORY = "factory"
    BOAT = "boat"
    HATCHERY = "hatchery"
    PORT = "port"
    BALLOON = "balloon"
    HQ = "hq"
    ANY = "any"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds, in kind order."""
        return _MEANT[self]


_MEANT = {Which(kind.value): (kind,) for kind in KINDS} | {Which.ANY: KINDS}


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping inside an instruction; unknown keys are errors."""


class Bounds(_Part, frozen=True):
    """A number of tokens `of` a kind, from `min` to `max`."""

    of: Which
    min: Number | None = None
    max: Number | None = None


class KindBounds(_Part, frozen=True):
    """A number of different kinds, at least `min`."""

    min: Number


class Where(_Part, frozen=True, rename={"not_": "not"}):
    """A filter over areas: all that is given must hold [Pacific 3.2]."""

    not_: tuple[AreaName, ...] = ()
    empty: Literal[True] | None = None
    has: Which | None = None
    tokens: Bounds | None = None
    kinds: KindBounds | None = None
    only: Kind | None = None


ANYWHERE = Where()
"""The filter that all areas pass."""


class InAreas(_Part, frozen=True):
    """All areas that pass a filter."""

    where: Where


class Formula(_Part, frozen=True, omit_defaults=True):
    """A number to be worked out; exactly one form is given, `at` only with `count` [Pacific 3.2]."""

    count: Which | None = None
    at: AreaOrAll | InAreas | None = None
    kinds_at: AreaName | None = None
    areas: Where | None = None
    size_of: Name | None = None
    fewest: Which | None = None
    min: Annotated[tuple[Num, ...], msgspec.Meta(min_length=1)] | None = None
    times: tuple[Number, Num] | None = None
    money: Literal[True] | None = None


Num = Number | Formula


class Condition(_Part, frozen=True):
    """What must hold: a number at least so large, or nobody else's choice of the card; exactly one is given."""

    at_least: tuple[Num, Number] | None = None
    sole_pick: Literal[True] | None = None


class Limit(_Part, frozen=True):
    """How many tokens: exactly or up to a number; exactly one is given."""

    exactly: Positive | None = None
    up_to: Positive | None = None


Count = Literal["any", "all"] | Limit


class Choose(_Part, frozen=True):
    """An area that the player names, out of those that pass."""

    choose: Where


class Each(_Part, frozen=True):
    """Every area that passes."""

    each: Where


class Areas(_Part, frozen=True):
    """The areas to run: `pick` so many, or `each` that passes when its turn comes; exactly one is given."""

    pick: Annotated[int, msgspec.Meta(ge=1, le=5)] | None = None
    each: Where | None = None


class _Instruction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op"):
    """A mapping with the key `op`."""


class ChooseArea(_Instruction, frozen=True, tag="choose_area"):
    """The player picks one area that passes."""

    bind: Name
    where: Where = ANYWHERE


class Place(_Instruction, frozen=True, tag="place", dict=True):
    """Put tokens from the supply into one area, or into each that passes; `bind` then names those areas."""

    at: AreaName | Each
    tokens: dict[Kind, Num]
    bind: Name | None = None

    @cached_property
    def fixed(self) -> Tokens | None:
        """The tokens, or None if any number of them is to be worked out."""
        numbers = {kind: number for kind, number in self.tokens.items() if isinstance(number, int)}
        return Tokens(**numbers) if len(numbers) == len(self.tokens) else None


class PlacePath(_Instruction, frozen=True, tag="place_path"):
    """Lay a Path on an arrow."""


class Move(_Instruction, frozen=True, tag="move", rename={"source": "from", "destination": "to"}):
    """Move tokens between areas [Pacific 3.5]."""

    what: Which
    count: Count
    source: AreaOrElsewhere | Choose
    destination: AreaName | Choose
    per: Per | None = None


class Advance(_Instruction, frozen=True, tag="advance"):
    """Every token of a kind moves to the area following its own."""

    what: Kind


class Remove(_Instruction, frozen=True, tag="remove", rename={"source": "from"}):
    """Take tokens off the mat; `bind` names their number [Pacific 3.6]."""

    what: Which
    count: Count
    source: AreaOrAnywhere
    per: Per | None = None
    bind: Name | None = None


class Replace(_Instruction, frozen=True, tag="replace", rename={"replacement": "with"}):
    """Take tokens off and place others in the same area [Pacific 3.6]."""

    what: Annotated[tuple[Kind, ...], msgspec.Meta(min_length=1)]
    count: Literal["any", "all"]
    at: AreaOrAnywhere
    replacement: dict[Kind, Positive]


class Gain(_Instruction, frozen=True, tag="gain"):
    """Make money."""

    amount: Num


class If(_Instruction, frozen=True, tag="if"):
    """Run instructions if something holds now."""

    cond: Condition
    then: tuple[Instruction, ...]


class AnyOrder(_Instruction, frozen=True, tag="any_order"):
    """Run all parts in an order that the player picks."""

    parts: Annotated[tuple[tuple[Instruction, ...], ...], msgspec.Meta(min_length=1)]


class Duplicate(_Instruction, frozen=True, tag="duplicate"):
    """Place one token of each kind that an area has."""

    at: AreaName


class Run(_Instruction, frozen=True, tag="run"):
    """Run areas now [Pacific 4]."""

    areas: Areas
    fish_stay: bool = False


class SkipRun(_Instruction, frozen=True, tag="skip_run"):
    """Do not run an area for the rest of the turn."""

    area: AreaName


class FreezeFish(_Instruction, frozen=True, tag="freeze_fish"):
    """Fish do not swim for the rest of the turn."""


class Draw(_Instruction, frozen=True, tag="draw"):
    """Take reserved cards into the hand."""

    n: Annotated[int, msgspec.Meta(ge=1, le=20)]


class NextTurn(_Instruction, frozen=True, tag="next_turn"):
    """Arm an effect for the next turn [Pacific 2.4]."""

    effect: EffectKind
    amount: Positive | None = None
    n: Positive | None = None
    tokens: dict[Kind, Positive] | None = None


Instruction = (
    ChooseArea
    | Place
    | PlacePath
    | Move
    | Advance
    | Remove
    | Replace
    | Gain
    | If
    | AnyOrder
    | Duplicate
    | Run
    | SkipRun
    | FreezeFish
    | Draw
    | NextTurn
)
