"""Answers to questions: whether they are allowed, the only one, the default, and all there are [Pacific 3.7]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, islice, permutations
from typing import TypeVar

import msgspec

from promontory.games.kernel import Malformed
from promontory.games.pacific.choices import all_choices, first_choice, only_choice
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    ArrowPick,
    CardOrder,
    FactoryRun,
    Fetch,
    Fetches,
    Moves,
    MoveSource,
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
)
from promontory.games.pacific.tokens import NO_TOKENS, Tokens
from promontory.games.pacific.vocabulary import KINDS, Area, Kind

MOST_REMOVALS = 3
"""The most tokens a factory removes [Pacific 1.2]."""

A = TypeVar("A")


def answer_as(kind: type[A], answer: Answer) -> A:
    """Return `answer` if it is of the kind that a question asks for, else refuse it."""
    if not isinstance(answer, kind):
        raise Malformed("MALFORMED", rule="Pacific 3.7", expected=kind.__name__)
    return answer


def check_permutation(items: Sequence[object], allowed: Sequence[object]) -> None:
    """Refuse `items` unless they are all of `allowed`, each once."""
    if len(items) != len(allowed) or set(items) != set(allowed):
        raise Malformed("MALFORMED", rule="Pacific 3.7")


def default_answer(question: Question) -> Answer:
    """Return what an absent player answers."""
    match question:
        case OrderCards(card_ids):
            return CardOrder(card_ids)
        case PickArea(areas):
            return AreaPick(areas[0])
        case PickArrow(arrows):
            return ArrowPick(arrows[0])
        case PickOrder(parts):
            return PartOrder(tuple(range(parts)))
        case PickMoves():
            return _default_moves(question)
        case PickRemovals(choice):
            return Removals(first_choice(choice))
        case PickReplacements():
            return Replacements(())
        case PickRunAreas(areas, count):
            return RunAreas(areas[:count])
        case Ports():
            return Fetches()
        case RunArea():
            return FactoryRun()


def only_answer(question: Question) -> Answer | None:
    """Return the answer to a question that leaves nothing to decide, else None."""
    match question:
        case PickArea((area,)):
            return AreaPick(area)
        case PickOrder(1):
            return PartOrder((0,))
        case PickRemovals(choice) if (picks := only_choice(choice)) is not None:
            return Removals(picks)
        case PickRunAreas((area,), _):
            return RunAreas((area,))
        case PickMoves():
            return _only_moves(question)
        case _:
            return None


def all_answers(question: Question) -> Iterator[Answer]:
    """Yield every legal answer to a question once, lazily; of the runs of an area those in the default order.

    Of answers with the same effect only one comes: what Ports fetch in the order of areas and kinds, and lists of
    removals without empty ones at their end.
    """
    match question:
        case OrderCards(card_ids):
            yield from map(CardOrder, permutations(card_ids))
        case PickArea(areas):
            yield from map(AreaPick, areas)
        case PickArrow(arrows):
            yield from map(ArrowPick, arrows)
        case PickOrder(parts):
            yield from map(PartOrder, permutations(range(parts)))
        case PickMoves():
            yield from _all_moves(question)
        case PickRemovals(choice):
            yield from map(Removals, all_choices(choice))
        case PickReplacements(choice):
            yield from map(Replacements, all_choices(choice))
        case PickRunAreas(areas, count):
            yield from map(RunAreas, permutations(areas, count))
        case Ports(_, choice):
            for picks in all_choices(choice):
                yield Fetches(tuple(Fetch(pick.kind, pick.area) for pick in picks for _ in range(pick.n)))
        case RunArea(_, _, removable, factories):
            for removals in _factory_removals(_Floor(removable, factories)):
                yield FactoryRun(removals)


def _pairs(question: PickMoves) -> Iterator[tuple[MoveSource, Area]]:
    """Yield the sources and destinations that go together."""
    for source in question.sources:
        for destination in question.destinations:
            if source.area is not destination:
                yield source, destination


def _named(question: PickMoves, source: MoveSource, destination: Area) -> tuple[Area | None, Area | None]:
    return (
        source.area if question.names_source else None,
        destination if question.names_destination else None,
    )


def _default_moves(question: PickMoves) -> Moves:
    if question.may_decline:
        return Moves(())
    source, destination = next(_pairs(question))
    return Moves(first_choice(source.choice), *_named(question, source, destination))


def _only_moves(question: PickMoves) -> Moves | None:
    first, *others = islice(_pairs(question), 2)
    if others:
        return None
    source, destination = first
    picks = only_choice(source.choice)
    return None if picks is None else Moves(picks, *_named(question, source, destination))


def _all_moves(question: PickMoves) -> Iterator[Moves]:
    if question.may_decline:
        yield Moves(())
    for source, destination in _pairs(question):
        for picks in all_choices(source.choice):
            if picks or not question.may_decline:
                yield Moves(picks, *_named(question, source, destination))


class _Floor(msgspec.Struct, frozen=True):
    """An area in which factories act one by one: its tokens, and how many factories are still to act."""

    tokens: Tokens
    factories: int

    def after(self, removed: Tokens) -> _Floor:
        """Return the area after the next factory removed some; of factories those that acted go first."""
        waiting = self.factories - 1
        acted = self.tokens.factory - waiting - 1
        return _Floor(self.tokens - removed, waiting - max(0, removed.factory - acted))

    def removals(self) -> Iterator[Tokens]:
        """Yield what the next factory may remove, nothing first."""
        kinds = [kind for kind in KINDS if self.tokens.of(kind) > (kind is Kind.FACTORY)]
        for size in range(MOST_REMOVALS + 1):
            for chosen in combinations_with_replacement(kinds, size):
                removed = Tokens(**{kind: chosen.count(kind) for kind in kinds})
                if all(removed.of(kind) <= self.tokens.of(kind) - (kind is Kind.FACTORY) for kind in kinds):
                    yield removed


def _factory_removals(floor: _Floor) -> Iterator[tuple[Tokens, ...]]:
    """Yield every list of removals, none of them with empty ones at its end."""
    yield ()
    if floor.factories:
        for removed in floor.removals():
            for others in _factory_removals(floor.after(removed)):
                if others or removed != NO_TOKENS:
                    yield (removed, *others)
