"""Answers that a greedy player of Pacific considers: a few to each question, the most promising first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, permutations, product

import msgspec
from msgspec.structs import replace

from promontory.bots.pacific_outlook import Worths
from promontory.games.pacific.answers import MOST_REMOVALS
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    ArrowPick,
    CardOrder,
    FactoryRun,
    Fetch,
    Fetches,
    Moves,
    OrderCards,
    PartOrder,
    PickArea,
    PickArrow,
    PickMoves,
    PickOrder,
    PickRemovals,
    PickReplacements,
    PickRunAreas,
    Ports,
    Question,
    Removals,
    Replacements,
    RunArea,
    RunAreas,
    TokenChoice,
)
from promontory.games.pacific.executor import BALLOON_GAIN
from promontory.games.pacific.running import REMOVAL_GAIN
from promontory.games.pacific.tokens import Mat, TokenPick, Tokens
from promontory.games.pacific.vocabulary import Area, Kind, Per

MOST_REPLIES = 8
_MOST_ORDERS = 24

Picks = tuple[TokenPick, ...]
Gain = Callable[[TokenPick], float]
"""What it is worth to choose one token of an option."""


class Prospect(msgspec.Struct, frozen=True):
    """What a player sees who is asked: the mat, the areas that are still run this turn, and what tokens are worth.

    `per_departure` and `per_placement` are the dollars that effects pay for each token.
    """

    mat: Mat
    soon: Collection[Area]
    worths: Worths
    per_departure: int = 0
    per_placement: int = 0

    def loss(self, pick: TokenPick) -> float:
        """Return what it costs to lose a token."""
        return self.worths.of(pick.kind, pick.area) - self.per_departure


def replies(question: Question, prospect: Prospect) -> list[Answer]:
    """Return at least one legal answer and at most `MOST_REPLIES`, except for orders, the most promising first."""
    match question:
        case OrderCards(card_ids):
            return list(map(CardOrder, islice(permutations(card_ids), _MOST_ORDERS)))
        case PickOrder(parts):
            return list(map(PartOrder, islice(permutations(range(parts)), _MOST_ORDERS)))
        case PickArea(areas):
            return list(map(AreaPick, sorted(areas, key=lambda area: _crowd(prospect, area), reverse=True)))
        case PickArrow(arrows):
            return list(map(ArrowPick, arrows))
        case PickRunAreas(areas, count):
            return list(islice(map(RunAreas, permutations(_by_income(prospect.mat, areas), count)), MOST_REPLIES))
        case PickMoves():
            return _moves(question, prospect)[:MOST_REPLIES]
        case PickRemovals(choice):
            return list(map(Removals, _amounts(choice, lambda pick: -prospect.loss(pick))))
        case PickReplacements(choice, replacement):
            return list(map(Replacements, _amounts(choice, lambda pick: _exchange(prospect, pick, replacement))))
        case Ports(area, choice):
            picks = best_picks(choice, lambda pick: _fetched(prospect, pick, area))
            return [Fetches(tuple(Fetch(pick.kind, pick.area) for pick in picks for _ in range(pick.n)))]
        case RunArea():
            return [_run(question, prospect)]


def best_picks(choice: TokenChoice, gain: Gain) -> Picks:
    """Return the choice of the most gain, if no token changes what another is worth."""
    ranked = _ranked(choice, gain)
    return _first(ranked, _favoured(choice, ranked, gain))


def factory_run(question: RunArea, choose: Callable[[TokenChoice, int], Picks]) -> FactoryRun:
    """Return a run in which `choose` says, for one factory after another, what it removes.

    It is given the choice, and how many of the other factories have acted: of factories they are removed first. The
    list ends with the last factory that removes something.
    """
    tokens, waiting = question.removable, question.factories
    removals: list[Tokens] = []
    while waiting:
        waiting -= 1
        acted = tokens.factory - waiting - 1
        picks = choose(_removable(question.area, tokens, factories=tokens.factory - 1), acted)
        removed = Tokens(**{pick.kind: pick.n for pick in picks})
        waiting -= max(0, removed.factory - acted)
        tokens -= removed
        removals.append(removed)
    while removals and not removals[-1].total:
        removals.pop()
    return FactoryRun(tuple(removals))


def _removable(area: Area, tokens: Tokens, *, factories: int) -> TokenChoice:
    """Return what a factory in `area` may remove, of other factories so many."""
    numbers = [(kind, factories if kind is Kind.FACTORY else n) for kind, n in tokens.present()]
    options = tuple(TokenPick(kind, area, n) for kind, n in numbers if n)
    return TokenChoice(options, 0, min(MOST_REMOVALS, sum(option.n for option in options)))


def _run(question: RunArea, prospect: Prospect) -> FactoryRun:
    """Return a run in which factories remove what is worth less than it pays, but no factory that has yet to act."""

    def gain(pick: TokenPick) -> float:
        return _removed(prospect, pick, question.area, fish_stay=question.fish_stay)

    def choose(choice: TokenChoice, acted: int) -> Picks:
        left = Tokens(**{option.kind: option.n for option in choice.options})
        return best_picks(_removable(question.area, left, factories=acted), gain)

    return factory_run(question, choose)


def _removed(prospect: Prospect, pick: TokenPick, area: Area, *, fish_stay: bool) -> float:
    """Return the gain of removing a token of `area`, which may be about to leave it anyway."""
    leaves = (pick.kind is Kind.FISH and not fish_stay) or pick.kind is Kind.BALLOON
    then = replace(pick, area=area.following) if leaves else pick
    arrival = BALLOON_GAIN if pick.kind is Kind.BALLOON and then.area is Area.CALIFORNIA else 0
    return REMOVAL_GAIN - prospect.loss(then) - arrival


def _fetched(prospect: Prospect, pick: TokenPick, area: Area) -> float:
    """Return the gain of a token that a Port fetches, which then acts in `area`."""
    here = prospect.mat[area.place]
    acts = {Kind.FISH: here.boat, Kind.HOTEL: 1, Kind.FACTORY: REMOVAL_GAIN, Kind.BOAT: here.fish}
    return prospect.worths.of(pick.kind, area) + acts[pick.kind] - prospect.loss(pick)


def _exchange(prospect: Prospect, pick: TokenPick, replacement: Tokens) -> float:
    placed = sum(n * prospect.worths.of(kind, pick.area) for kind, n in replacement.present())
    return placed + prospect.per_placement * replacement.total - prospect.loss(pick)


def _moves(question: PickMoves, prospect: Prospect) -> list[Answer]:
    """Return the best moves and the largest ones between each two areas, those of the most gain first."""
    found: list[tuple[float, Moves]] = [(0.0, Moves(()))] if question.may_decline else []
    for source, destination in product(question.sources, question.destinations):
        if source.area is destination:
            continue
        gain = _moved_to(prospect, destination)
        ends = (source.area if question.names_source else None, destination if question.names_destination else None)
        for picks in _best_and_largest(source.choice, gain):
            if picks or not question.may_decline:
                found.append((sum(pick.n * gain(pick) for pick in picks), Moves(picks, *ends)))
    return [moves for _, moves in sorted(found, key=lambda each: each[0], reverse=True)]


def _best_and_largest(choice: TokenChoice, gain: Gain) -> Iterable[Picks]:
    ranked = _ranked(choice, gain)
    numbers = dict.fromkeys((_favoured(choice, ranked, gain), choice.maximum))
    return [_first(ranked, number) for number in numbers]


def _moved_to(prospect: Prospect, destination: Area) -> Gain:
    def gain(pick: TokenPick) -> float:
        arrival = BALLOON_GAIN if pick.kind is Kind.BALLOON and destination is Area.CALIFORNIA else 0
        return prospect.worths.of(pick.kind, destination) + arrival - prospect.loss(pick)

    return gain


def _amounts(choice: TokenChoice, gain: Gain) -> Iterator[Picks]:
    """Yield the best choice, then others with other numbers of tokens."""
    ranked = _ranked(choice, gain)
    favoured = _favoured(choice, ranked, gain)
    for number in dict.fromkeys((favoured, choice.maximum, choice.minimum, favoured - 1, favoured + 1)):
        if choice.minimum <= number <= choice.maximum:
            yield _first(ranked, number)


def _ranked(choice: TokenChoice, gain: Gain) -> Sequence[TokenPick]:
    """Return the options from the best on; of those of which only one token can be had, that one."""
    options = sorted(choice.options, key=gain, reverse=True)
    return options if choice.per is None else list(_best_of_each(options, choice.per))


def _best_of_each(options: Iterable[TokenPick], per: Per) -> Iterator[TokenPick]:
    taken: set[Area | Kind] = set()
    for option in options:
        group = option.area if per is Per.AREA else option.kind
        if group not in taken:
            taken.add(group)
            yield replace(option, n=1)


def _favoured(choice: TokenChoice, ranked: Iterable[TokenPick], gain: Gain) -> int:
    """Return the number of tokens that are worth choosing, within the limits."""
    number = sum(option.n for option in ranked if gain(option) > 0)
    return max(choice.minimum, min(choice.maximum, number))


def _first(ranked: Iterable[TokenPick], number: int) -> Picks:
    picks: list[TokenPick] = []
    for option in ranked:
        n = min(option.n, number - sum(pick.n for pick in picks))
        if n > 0:
            picks.append(replace(option, n=n))
    return tuple(picks)


def _crowd(prospect: Prospect, area: Area) -> int:
    return prospect.mat[area.place].total * (1 + (area in prospect.soon))


def _by_income(mat: Mat, areas: Iterable[Area]) -> list[Area]:
    return sorted(areas, key=lambda area: _income(mat[area.place]), reverse=True)


def _income(tokens: Tokens) -> int:
    """Return roughly what a run of the area makes."""
    removed = min(MOST_REMOVALS * tokens.factory, tokens.total - 1) if tokens.factory else 0
    return tokens.hotel + tokens.boat * tokens.fish + REMOVAL_GAIN * removed
