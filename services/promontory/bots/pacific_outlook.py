"""What tokens and effects of Pacific are worth while turns are left, in dollars of the end.

The numbers are fitted to games between greedy players with some random choices in them: what somebody still made from
a turn on, explained by what lay on the mat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import mul
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple

from promontory.games.pacific.answers import MOST_REMOVALS
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.running import REMOVAL_GAIN
from promontory.games.pacific.state import TURNS
from promontory.games.pacific.tokens import Mat, Tokens
from promontory.games.pacific.vocabulary import AREAS, KINDS, Area, EffectKind, Kind


class _Worth(NamedTuple):
    """What a token is worth with r turns left: `steady` x r + `growing` x r x r."""

    steady: float
    growing: float


_TOKENS = {
    Kind.FISH: _Worth(0.0, 0.075),
    Kind.HOTEL: _Worth(0.52, 0.0),
    Kind.FACTORY: _Worth(0.0, 0.085),
    Kind.BOAT: _Worth(0.04, 0.1),
    Kind.HATCHERY: _Worth(0.1, 0.17),
    Kind.PORT: _Worth(1.1, 0.0),
    Kind.BALLOON: _Worth(0.2, 0.15),
    Kind.HQ: _Worth(0.0, 0.22),
}
_FISH_BESIDE_BOAT = 0.45
"""More for each boat and fish in one area, with one turn left; twice as much with more."""

_FISH_BEFORE_BOAT = 0.13
"""More for each boat and fish in the area before it, a turn left."""

_TOKEN_BESIDE_FACTORY = 0.9
"""More for each token that the factories of its area can remove in one run."""

_TOKEN_LOST = 0.45
"""What a token that a factory removes is worth, a turn left."""

_EFFECTS = {
    EffectKind.OWN_CARD_ONLY: -4.0,
    EffectKind.LATE_PUT_OUT: 0.0,
    EffectKind.EXTRA_CARD: 11.0,
    EffectKind.GAIN_PER_DEPARTURE: 11.0,
    EffectKind.GAIN_PER_PLACEMENT: 6.0,
    EffectKind.PLACE_PER_PLACEMENT: 4.0,
}


class Worths(msgspec.Struct, frozen=True):
    """What one more token of each kind would be worth, by area in ring order."""

    by_area: tuple[Mapping[Kind, float], ...]

    def of(self, kind: Kind, area: Area) -> float:
        """Return the worth of one more token of `kind` in `area`."""
        return self.by_area[area.place][kind]


class Outlook:
    """What a player can expect who executes, or has executed, the cards of `turn`."""

    def __init__(self, turn: int) -> None:
        self._turns = TURNS - turn
        self._tokens = tuple(self._turns * (worth.steady + self._turns * worth.growing) for worth in _TOKENS.values())
        self._beside = _FISH_BESIDE_BOAT * min(self._turns, 2)
        self._before = _FISH_BEFORE_BOAT * self._turns
        self._fodder = _TOKEN_BESIDE_FACTORY if self._turns else 0.0
        self._removal = max(0.0, REMOVAL_GAIN - _TOKEN_LOST * self._turns)

    def value(self, holdings: Holdings) -> float:
        """Return the money that the player of `holdings` will have at the end."""
        effects = sum(_EFFECTS[effect.kind] for effect in holdings.pending) if self._turns else 0.0
        mat = holdings.mat
        return holdings.money + effects + sum(self._area(here, mat[place - 1]) for place, here in enumerate(mat))

    def worths(self, mat: Mat, soon: Collection[Area]) -> Worths:
        """Return the worths of more tokens on `mat`, of which the areas `soon` are still run this turn."""
        return Worths(tuple(self._more(mat, area, soon) for area in AREAS))

    def _area(self, here: Tokens, previous: Tokens) -> float:
        value: float = sum(map(mul, self._tokens, astuple(here)))
        if here.boat:
            value += here.boat * (self._beside * here.fish + self._before * previous.fish)
        if here.factory:
            value += self._fodder * min(MOST_REMOVALS * here.factory, here.total - 1)
        return value

    def _more(self, mat: Mat, area: Area, soon: Collection[Area]) -> Mapping[Kind, float]:
        """Return the worth of one more token of each kind; fish may meet the boats of two areas in one turn."""
        here, following, previous = mat[area.place], mat[area.following.place], mat[area.place - 1]
        runs = area in soon
        meets = runs and area is not AREAS[-1] and area.following in soon
        more = dict(zip(KINDS, self._tokens, strict=True))
        more[Kind.FISH] += (self._beside + runs) * here.boat + (self._before + meets) * following.boat
        more[Kind.HOTEL] += runs
        more[Kind.BOAT] += (self._beside + runs) * here.fish + self._before * previous.fish
        if runs:
            more[Kind.FACTORY] += self._removal * min(MOST_REMOVALS, here.total)
        return more
