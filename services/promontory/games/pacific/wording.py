"""Tokens, and what a decision asks, in words."""

from __future__ import annotations

from collections.abc import Iterable

from promontory.games.pacific.cards import Deck
from promontory.games.pacific.decisions import (
    MoveSource,
    OrderCards,
    PickArea,
    PickArrow,
    PickMoves,
    PickOrder,
    PickRemovals,
    PickReplacements,
    PickRunAreas,
    Ports,
    Question,
    RunArea,
    TokenChoice,
)
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.vocabulary import Area, Arrow, Kind
from promontory.games.text import counted, words


def tokens_in_words(tokens: Tokens) -> str:
    """Return `2 fish, 3 boats`, or `nothing`."""
    return ", ".join(_number(kind, number) for kind, number in tokens.present()) or "nothing"


def _number(kind: Kind, number: int) -> str:
    return counted(number, "HQ" if kind is Kind.HQ else kind, _PLURALS.get(kind, ""))


_PLURALS = {Kind.FISH: "fish", Kind.FACTORY: "factories", Kind.HATCHERY: "hatcheries"}


def arrow_in_words(arrow: Arrow) -> str:
    """Return `japan to california`."""
    return " to ".join(map(words, arrow.ends))


def question_in_words(deck: Deck, question: Question) -> str:
    """Return what a decision asks, and what there is to choose from."""
    match question:
        case OrderCards(card_ids):
            return f"the order of {', '.join(deck.by_id[card_id].name for card_id in card_ids)}"
        case PickArea(areas):
            return f"an area: {_areas(areas)}"
        case PickArrow(arrows):
            return f"an arrow for a path: {', '.join(map(arrow_in_words, arrows))}"
        case PickOrder(parts):
            return f"the order of {parts} parts"
        case PickMoves(sources, destinations):
            return f"moves to {_areas(destinations)}; {'; or '.join(map(_source, sources))}"
        case PickRemovals(choice):
            return f"what to remove, {_choice(choice)}"
        case PickReplacements(choice, replacement):
            return f"what to replace by {tokens_in_words(replacement)} each, {_choice(choice)}"
        case PickRunAreas(areas, count):
            return f"{counted(count, 'area')} to run, in order: {_areas(areas)}"
        case Ports(area, choice):
            return f"what ports fetch to {words(area)}, {_choice(choice)}"
        case RunArea():
            return _run(question)


def _areas(areas: Iterable[Area]) -> str:
    return ", ".join(map(words, areas))


def _source(source: MoveSource) -> str:
    where = "" if source.area is None else f"from {words(source.area)} "
    return f"{where}{_choice(source.choice)}"


def _choice(choice: TokenChoice) -> str:
    options = ", ".join(f"{_number(pick.kind, pick.n)} in {words(pick.area)}" for pick in choice.options)
    numbers = sorted({choice.minimum, choice.maximum})
    per = "" if choice.per is None else f", one per {choice.per}"
    return f"{' to '.join(map(str, numbers))} of {options or 'nothing'}{per}"


def _run(question: RunArea) -> str:
    acting = f"how {words(question.area)} runs, where {tokens_in_words(question.pending)} act"
    removable = tokens_in_words(question.removable)
    removal = f"; factories that act: {question.factories}, removing up to 3 each of {removable}"
    fish = "; fish stay" if question.fish_stay else ""
    return f"{acting}{removal if question.factories else ''}{fish}"
