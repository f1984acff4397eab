"""Tokens: how many of each kind lie somewhere, and which of them somebody picks [Pacific 1.2]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from promontory.games.pacific.vocabulary import KINDS, Area, Arrow, EffectKind, Kind


class Tokens(msgspec.Struct, frozen=True):
    """Numbers of tokens by kind, none negative."""

    fish: int = 0
    hotel: int = 0
    factory: int = 0
    boat: int = 0
    hatchery: int = 0
    port: int = 0
    balloon: int = 0
    hq: int = 0

    def of(self, kind: Kind) -> int:
        """Return the number of tokens of `kind`."""
        number: int = getattr(self, kind)
        return number

    @property
    def total(self) -> int:
        """The number of tokens of all kinds."""
        return sum(msgspec.structs.astuple(self))

    def present(self) -> Iterator[tuple[Kind, int]]:
        """Yield the kinds there are with their numbers, in kind order."""
        for kind, number in zip(KINDS, msgspec.structs.astuple(self), strict=True):
            if number:
                yield kind, number

    def __add__(self, other: Tokens) -> Tokens:
        return _tokens(a + b for a, b in zip(_numbers(self), _numbers(other), strict=True))

    def __sub__(self, other: Tokens) -> Tokens:
        return _tokens(a - b for a, b in zip(_numbers(self), _numbers(other), strict=True))

    def __mul__(self, factor: int) -> Tokens:
        return _tokens(number * factor for number in _numbers(self))


class TokenPick(msgspec.Struct, frozen=True):
    """`n` tokens of one kind in one area, 1 or more."""

    kind: Kind
    area: Area
    n: int


class Hq(msgspec.Struct, frozen=True):
    """An HQ with the kinds that it has copied this turn, in kind order; `hq_id` counts a player's HQs from 1."""

    hq_id: int
    area: Area
    used: tuple[Kind, ...] = ()


class Effect(msgspec.Struct, frozen=True):
    """What a card does in the turn after it [Pacific 2.4].

    `amount` is in dollars for `gain_…`, in cards for `extra_card`, and 0 otherwise; only `place_per_placement` has
    `tokens`.
    """

    card_id: str
    kind: EffectKind
    amount: int = 0
    tokens: Tokens | None = None


NO_TOKENS = Tokens()
EMPTY_MAT = (NO_TOKENS,) * len(Area)
"""A mat: the tokens of each area in ring order."""

Mat = tuple[Tokens, ...]
Paths = tuple[Arrow, ...]


def some(kind: Kind, number: int = 1) -> Tokens:
    """Return `number` tokens of one kind."""
    return Tokens(**{kind.value: number})


def _numbers(tokens: Tokens) -> tuple[int, ...]:
    numbers: tuple[int, ...] = msgspec.structs.astuple(tokens)
    return numbers


def _tokens(numbers: Iterable[int]) -> Tokens:
    return Tokens(*numbers)
