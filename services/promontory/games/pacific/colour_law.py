"""The colour law: a card bears a colour exactly if it does what that colour stands for [Pacific 3.9]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from promontory.games.pacific.instructions import (
    Advance,
    AnyOrder,
    Duplicate,
    Gain,
    If,
    Instruction,
    Move,
    NextTurn,
    Place,
    PlacePath,
    Remove,
    Replace,
    Run,
)
from promontory.games.pacific.vocabulary import Colour, EffectKind, Kind

_PLACED = {
    Kind.BOAT: Colour.GREEN,
    Kind.PORT: Colour.GREEN,
    Kind.BALLOON: Colour.YELLOW,
    Kind.FACTORY: Colour.RED,
    Kind.HOTEL: Colour.BLUE,
    Kind.FISH: Colour.WHITE,
    Kind.HATCHERY: Colour.WHITE,
    Kind.HQ: Colour.ORANGE,
}
_REPLACED_BY = {Kind.HOTEL: Colour.BLUE, Kind.FISH: Colour.WHITE}
_EFFECTS = {
    EffectKind.EXTRA_CARD: Colour.ORANGE,
    EffectKind.GAIN_PER_DEPARTURE: Colour.YELLOW,
    EffectKind.GAIN_PER_PLACEMENT: Colour.YELLOW,
}


def lawful_colours(instructions: Iterable[Instruction]) -> tuple[Colour, ...]:
    """Return the colours that follow from a card's instructions, in run order; orange stands alone."""
    colours = set(_colours(instructions))
    if Colour.ORANGE in colours:
        return (Colour.ORANGE,)
    return tuple(colour for colour in Colour if colour in colours)


def _colours(instructions: Iterable[Instruction]) -> Iterator[Colour]:
    for instruction in instructions:
        match instruction:
            case If(_, then):
                yield from _colours(then)
            case AnyOrder(parts):
                for part in parts:
                    yield from _colours(part)
            case Place():
                yield from (_PLACED[kind] for kind in instruction.tokens)
            case Replace():
                yield Colour.RED
                yield from (_REPLACED_BY[kind] for kind in instruction.replacement if kind in _REPLACED_BY)
            case NextTurn(effect, _, _, tokens):
                yield Colour.GREEN
                yield from _of_effect(effect, tokens or ())
            case PlacePath() | Move():
                yield Colour.GREEN
            case Gain():
                yield Colour.YELLOW
            case Remove():
                yield Colour.RED
            case Run() | Duplicate() | Advance():
                yield Colour.ORANGE


def _of_effect(effect: EffectKind, tokens: Collection[Kind]) -> Iterator[Colour]:
    if effect in _EFFECTS:
        yield _EFFECTS[effect]
    if Kind.HOTEL in tokens:
        yield Colour.BLUE
