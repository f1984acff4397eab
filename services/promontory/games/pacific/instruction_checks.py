"""What is wrong with a card's instructions, beyond the form of the file [Pacific 3.9]."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from promontory.games.pacific.instructions import (
    AnyOrder,
    Areas,
    Choose,
    ChooseArea,
    Condition,
    Draw,
    Duplicate,
    Each,
    Formula,
    Gain,
    If,
    InAreas,
    Instruction,
    Limit,
    Move,
    NextTurn,
    Num,
    Place,
    Remove,
    Replace,
    Run,
    SkipRun,
    Where,
)
from promontory.games.pacific.vocabulary import EffectKind, Kind

DEEPEST = 8
"""How deep instructions and numbers may be nested."""

_PARAMETERS = {
    EffectKind.OWN_CARD_ONLY: set[str](),
    EffectKind.LATE_PUT_OUT: set[str](),
    EffectKind.EXTRA_CARD: {"n"},
    EffectKind.GAIN_PER_DEPARTURE: {"amount"},
    EffectKind.GAIN_PER_PLACEMENT: {"amount"},
    EffectKind.PLACE_PER_PLACEMENT: {"tokens"},
}


class _Meaning(StrEnum):
    """What a bound name stands for."""

    AREA = "area"
    AREAS = "set of areas"
    NUMBER = "number"


class _Scope(msgspec.Struct):
    """The names bound so far, whether `here` means something, and how deep inside the card this is."""

    names: dict[str, _Meaning]
    here: bool = False
    depth: int = 0

    def inner(self, *, here: bool = False) -> _Scope:
        """Return a scope whose names end with it."""
        return _Scope(dict(self.names), here=here or self.here, depth=self.depth + 1)


def faults(instructions: tuple[Instruction, ...]) -> Iterator[str]:
    """Yield what is wrong with a card's instructions, in order: names, forms of numbers, parameters, places."""
    yield from _in_block(instructions, _Scope({}))


def _in_block(instructions: tuple[Instruction, ...], scope: _Scope) -> Iterator[str]:
    if scope.depth > DEEPEST:
        yield "it is nested too deeply"
        return
    for number, instruction in enumerate(instructions, start=1):
        for fault in _in_instruction(instruction, scope):
            yield f"instruction {number}: {fault}"


def _in_instruction(instruction: Instruction, scope: _Scope) -> Iterator[str]:
    match instruction:
        case ChooseArea(bind, where):
            yield from _in_where(where, scope)
            scope.names[bind] = _Meaning.AREA
        case Place():
            yield from _in_place(instruction, scope)
        case Move():
            yield from _in_move(instruction, scope)
        case Remove() | Replace():
            yield from _in_taking(instruction, scope)
        case Gain(amount):
            yield from _in_number(amount, scope)
        case If(cond, then):
            yield from _in_condition(cond, scope)
            yield from _in_block(then, scope.inner())
        case AnyOrder(parts):
            for part in parts:
                yield from _in_block(part, scope.inner())
        case Duplicate(area) | SkipRun(area):
            yield from _in_area(area, scope)
        case Run(areas):
            yield from _in_areas(areas, scope)
        case Draw() | NextTurn():
            yield from _in_top_level(instruction, scope)


def _in_place(instruction: Place, scope: _Scope) -> Iterator[str]:
    everywhere = isinstance(instruction.at, Each)
    if isinstance(instruction.at, Each):
        yield from _in_where(instruction.at.each, scope)
    else:
        yield from _in_area(instruction.at, scope)
    if not instruction.tokens:
        yield "places no kind of token"
    for amount in instruction.tokens.values():
        yield from _in_number(amount, scope.inner(here=everywhere))
    if instruction.bind is not None:
        if not everywhere:
            yield "`bind` on `place` needs `each`"
        scope.names[instruction.bind] = _Meaning.AREAS


def _in_move(instruction: Move, scope: _Scope) -> Iterator[str]:
    yield from _in_count(instruction.count)
    for end in (instruction.source, instruction.destination):
        if isinstance(end, Choose):
            yield from _in_where(end.choose, scope)
        else:
            yield from _in_area(end, scope)
    if instruction.source == "elsewhere" and isinstance(instruction.destination, Choose):
        yield "`from: elsewhere` needs a fixed `to`"


def _in_taking(instruction: Remove | Replace, scope: _Scope) -> Iterator[str]:
    if isinstance(instruction, Replace):
        yield from _in_area(instruction.at, scope)
        if len(set(instruction.what)) < len(instruction.what):
            yield "`what` names a kind twice"
        return
    yield from _in_count(instruction.count)
    yield from _in_area(instruction.source, scope)
    if instruction.bind is not None:
        scope.names[instruction.bind] = _Meaning.NUMBER


def _in_areas(areas: Areas, scope: _Scope) -> Iterator[str]:
    if (areas.pick is None) == (areas.each is None):
        yield "`areas` needs either `pick` or `each`"
    if areas.each is not None:
        yield from _in_where(areas.each, scope)


def _in_top_level(instruction: Draw | NextTurn, scope: _Scope) -> Iterator[str]:
    if scope.depth:
        yield "`draw` and `next_turn` stand only at the top level of a card"
    if isinstance(instruction, NextTurn):
        given = {name for name in ("amount", "n", "tokens") if getattr(instruction, name)}
        if given != _PARAMETERS[instruction.effect]:
            wanted = ", ".join(_PARAMETERS[instruction.effect]) or "no parameter"
            yield f"`{instruction.effect}` takes {wanted}"
        if Kind.HATCHERY in (instruction.tokens or {}):
            yield "Hatcheries that bring Hatcheries along would never end"


def _in_count(count: str | Limit) -> Iterator[str]:
    if isinstance(count, Limit) and (count.exactly is None) == (count.up_to is None):
        yield "`count` needs either `exactly` or `up_to`"


def _in_condition(cond: Condition, scope: _Scope) -> Iterator[str]:
    if (cond.at_least is None) == (cond.sole_pick is None):
        yield "`cond` needs either `at_least` or `sole_pick`"
    if cond.at_least is not None:
        yield from _in_number(cond.at_least[0], scope)


def _in_number(number: Num, scope: _Scope) -> Iterator[str]:
    if not isinstance(number, Formula):
        return
    forms = ("count", "kinds_at", "areas", "size_of", "fewest", "min", "times", "money")
    if sum(getattr(number, form) is not None for form in forms) != 1:
        yield "a number needs exactly one form"
    if (number.count is None) != (number.at is None):
        yield "`count` and `at` go together"
    for area in (number.at, number.kinds_at):
        if isinstance(area, str):
            yield from _in_area(area, scope)
    for where in (number.areas, number.at.where if isinstance(number.at, InAreas) else None):
        if where is not None:
            yield from _in_where(where, scope)
    if number.size_of is not None and scope.names.get(number.size_of) not in {_Meaning.AREAS, _Meaning.NUMBER}:
        yield f"`{number.size_of}` is not bound to a set of areas or a number"
    if scope.depth > DEEPEST:
        yield "it is nested too deeply"
        return
    for part in (*(number.min or ()), *(number.times or ())[1:]):
        yield from _in_number(part, scope.inner())


def _in_where(where: Where, scope: _Scope) -> Iterator[str]:
    for area in where.not_:
        yield from _in_area(area, scope)


def _in_area(area: str, scope: _Scope) -> Iterator[str]:
    if area == "here" and not scope.here:
        yield "`here` stands only in amounts under `each`"
    if area.startswith("$") and scope.names.get(area[1:]) is not _Meaning.AREA:
        yield f"`{area}` is not bound to an area"
