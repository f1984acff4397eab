"""What areas, filters, numbers and conditions of instructions come to on a mat [Pacific 3.2]."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from promontory.games.pacific.instructions import ANYWHERE, Bounds, Condition, Formula, InAreas, Num, Where, Which
from promontory.games.pacific.tokens import Mat, Tokens
from promontory.games.pacific.vocabulary import AREAS, Area

Bound = Area | tuple[Area, ...] | int | None

_NAMED: dict[str, Area] = {area.value: area for area in AREAS}


class Scene(msgspec.Struct, frozen=True):
    """What an instruction looks at when it starts.

    `names` are the bound ones: an area, or None for no area, a set of areas, or a number; `here` the area being served.
    """

    mat: Mat
    money: int
    names: dict[str, Bound]
    sole_pick: bool
    here: Area | None = None

    def at(self, area: Area) -> Tokens:
        """Return the tokens of `area`."""
        return self.mat[area.place]

    def area(self, word: str) -> Area | None:
        """Return the area that `word` stands for; None if it is a name bound to nothing."""
        if word == "here":
            return self.here
        if word.startswith("$"):
            bound = self.names.get(word[1:])
            return bound if isinstance(bound, Area) else None
        return _NAMED[word]

    def passing(self, where: Where) -> tuple[Area, ...]:
        """Return the areas that pass a filter, in ring order."""
        if where == ANYWHERE:
            return AREAS
        excluded = [self.area(word) for word in where.not_]
        return tuple([area for area in AREAS if area not in excluded and _passes(self.mat[area.place], where)])

    def number(self, num: Num) -> int:
        """Return what a number comes to."""
        return num if isinstance(num, int) else self._worked_out(num)

    def holds(self, cond: Condition) -> bool:
        """Tell whether a condition holds."""
        if cond.at_least is not None:
            return self.number(cond.at_least[0]) >= cond.at_least[1]
        return self.sole_pick

    def _worked_out(self, formula: Formula) -> int:
        match formula:
            case Formula(count=Which() as which, at=at) if at is not None:
                return sum(counted(tokens, which) for tokens in self._tokens_at(at))
            case Formula(kinds_at=str() as word):
                return sum(kinds_of(tokens) for tokens in self._tokens_at(word))
            case Formula(areas=Where() as where):
                return len(self.passing(where))
            case Formula(size_of=str() as name):
                bound = self.names.get(name)
                return len(bound) if isinstance(bound, tuple) else bound if isinstance(bound, int) else 0
            case Formula(fewest=Which() as which):
                return min(counted(tokens, which) for tokens in self.mat)
            case Formula(min=tuple() as numbers):
                return min(self.number(number) for number in numbers)
            case Formula(times=(factor, number)):
                return factor * self.number(number)
            case _:
                return self.money

    def _tokens_at(self, at: str | InAreas) -> Iterator[Tokens]:
        if isinstance(at, InAreas):
            yield from (self.at(area) for area in self.passing(at.where))
        elif at == "all":
            yield from self.mat
        elif (area := self.area(at)) is not None:
            yield self.at(area)


def counted(tokens: Tokens, which: Which) -> int:
    """Return how many of `tokens` are meant."""
    return tokens.total if which is Which.ANY else tokens.of(which.kinds[0])


def kinds_of(tokens: Tokens) -> int:
    """Return how many different kinds there are."""
    return len(tokens.present())


def _passes(tokens: Tokens, where: Where) -> bool:
    return (
        (where.empty is None or not tokens.total)
        and (where.has is None or counted(tokens, where.has) > 0)
        and (where.tokens is None or _within(tokens, where.tokens))
        and (where.kinds is None or kinds_of(tokens) >= where.kinds.min)
        and (where.only is None or 0 < tokens.of(where.only) == tokens.total)
    )


def _within(tokens: Tokens, bounds: Bounds) -> bool:
    number = counted(tokens, bounds.of)
    return (bounds.min or 0) <= number and (bounds.max is None or number <= bounds.max)
