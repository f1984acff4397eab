"""Legal commands of Pacific drawn at random, without listing all there are: a question may have millions of answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from promontory.bots.pacific_replies import Picks, factory_run
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    ArrowPick,
    CardOrder,
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
from promontory.games.pacific.phases import SlotChoice
from promontory.games.pacific.tokens import TokenPick
from promontory.games.pacific.vocabulary import Area, Kind, Per


def some_answer(question: Question, rng: Random) -> Answer:
    """Return any legal answer with equal chance; in a run, any removal of each acting factory with equal chance."""
    match question:
        case OrderCards(card_ids):
            return CardOrder(tuple(rng.sample(card_ids, len(card_ids))))
        case PickArea(areas):
            return AreaPick(rng.choice(areas))
        case PickArrow(arrows):
            return ArrowPick(rng.choice(arrows))
        case PickOrder(parts):
            return PartOrder(tuple(rng.sample(range(parts), parts)))
        case PickMoves():
            return _some_moves(question, rng)
        case PickRemovals(choice):
            return Removals(some_picks(choice, rng))
        case PickReplacements(choice):
            return Replacements(some_picks(choice, rng))
        case PickRunAreas(areas, count):
            return RunAreas(tuple(rng.sample(areas, count)))
        case Ports(_, choice):
            picks = some_picks(choice, rng)
            return Fetches(tuple(Fetch(pick.kind, pick.area) for pick in picks for _ in range(pick.n)))
        case RunArea():
            return factory_run(question, lambda choice, _: some_picks(choice, rng))


def some_slots(choice: SlotChoice, rng: Random) -> tuple[int, ...]:
    """Return any legal choice of slots with equal chance, ascending."""
    if choice.required is None:
        return tuple(sorted(rng.sample(choice.slots, choice.count)))
    others = [slot for slot in choice.slots if slot != choice.required]
    return tuple(sorted([choice.required, *rng.sample(others, choice.count - 1)]))


def some_picks(choice: TokenChoice, rng: Random) -> Picks:
    """Return any allowed choice of tokens with equal chance, in the order of the options."""
    groups = _groups(choice)
    ways = _ways(groups, choice.maximum)
    numbers = range(choice.minimum, choice.maximum + 1)
    (left,) = rng.choices(numbers, ways[0][choice.minimum :])
    picks: list[TokenPick] = []
    for group, rest in zip(groups, ways[1:], strict=True):
        if not left:
            break
        parts = _parts(group, left)
        ((option, number),) = rng.choices(parts, [rest[left - number] for _, number in parts])
        if number:
            picks.append(replace(option, n=number))
            left -= number
    return tuple(picks if choice.per is None else sorted(picks, key=lambda pick: (pick.area.place, pick.kind.place)))


class _Group(NamedTuple):
    """Options that share a limit: up to `most` tokens may be taken of the only one, or a single token of any."""

    options: Sequence[TokenPick]
    most: int


def _groups(choice: TokenChoice) -> list[_Group]:
    """Return the groups of options, of which tokens are taken independently of one another."""
    if choice.per is None:
        return [_Group((option,), min(option.n, choice.maximum)) for option in choice.options]
    sharing: dict[Area | Kind, list[TokenPick]] = defaultdict(list)
    for option in choice.options:
        sharing[option.area if choice.per is Per.AREA else option.kind].append(option)
    return [_Group(options, 1) for options in sharing.values()]


def _parts(group: _Group, left: int) -> list[tuple[TokenPick, int]]:
    """Return how many tokens may be taken of which option if `left`, at least one, are still to be taken."""
    first = group.options[0]
    if group.most > 1:
        return [(first, number) for number in range(min(group.most, left) + 1)]
    return [(first, 0), *[(option, 1) for option in group.options]]


def _ways(groups: Sequence[_Group], most: int) -> list[list[int]]:
    """Return in how many ways 0 to `most` tokens can be taken of the groups from each one on, last of none."""
    ways = [[1] + [0] * most]
    for options, limit in reversed(groups):
        rest = ways[-1]
        if limit > 1:
            sums = [0, *accumulate(rest)]
            ways.append([sums[total + 1] - sums[max(0, total - limit)] for total in range(most + 1)])
        else:
            ways.append([there + len(options) * fewer for there, fewer in zip(rest, [0, *rest[:-1]], strict=True)])
    return ways[::-1]


def _some_moves(question: PickMoves, rng: Random) -> Moves:
    """Return any legal moves with equal chance; those of no token at all are one."""
    pairs = [
        (source, destination)
        for source in question.sources
        for destination in question.destinations
        if source.area is not destination
    ]
    ways = {source.area: _count(source.choice) - question.may_decline for source in question.sources}
    counts = [ways[source.area] for source, _ in pairs]
    number = rng.randrange(sum(counts) + question.may_decline)
    if number >= sum(counts):
        return Moves(())
    ((source, destination),) = rng.choices(pairs, counts)
    choice = replace(source.choice, minimum=1) if question.may_decline else source.choice
    return Moves(
        some_picks(choice, rng),
        source.area if question.names_source else None,
        destination if question.names_destination else None,
    )


def _count(choice: TokenChoice) -> int:
    """Return how many choices of tokens are allowed."""
    return sum(_ways(_groups(choice), choice.maximum)[0][choice.minimum :])
