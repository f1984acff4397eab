"""Tokens: how many of each kind lie somewhere, and which of them somebody picks [Pacific 1.2]."""

from __future__ import annotations

from functools import lru_cache
from operator import sub

import msgspec
from msgspec.structs import astuple

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
        return sum(astuple(self))

    def present(self) -> tuple[tuple[Kind, int], ...]:
        """Return the kinds there are with their numbers, in kind order."""
        return _present(self)

    def plus(self, kind: Kind, number: int) -> Tokens:
        """Return these and `number` more tokens of one kind, or fewer if it is negative."""
        numbers = list(astuple(self))
        numbers[kind.place] += number
        return Tokens(*numbers)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.fish + other.fish,
            self.hotel + other.hotel,
            self.factory + other.factory,
            self.boat + other.boat,
            self.hatchery + other.hatchery,
            self.port + other.port,
            self.balloon + other.balloon,
            self.hq + other.hq,
        )

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(*map(sub, astuple(self), astuple(other)))

    def __mul__(self, factor: int) -> Tokens:
        return Tokens(*[number * factor for number in astuple(self)])


@lru_cache(maxsize=4096)
def _present(tokens: Tokens) -> tuple[tuple[Kind, int], ...]:
    return tuple([(kind, number) for kind, number in zip(KINDS, astuple(tokens), strict=True) if number])


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
    return NO_TOKENS.plus(kind, number)
