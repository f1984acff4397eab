"""How a player executes the cards it chose, from decision to decision [Pacific 2.2]."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from promontory.games.kernel import Seat
from promontory.games.pacific.answers import answer_as, check_permutation
from promontory.games.pacific.cards import Card, Deck
from promontory.games.pacific.decisions import Answer, CardOrder, Decision, OrderCards, Question
from promontory.games.pacific.effects import Text, perform
from promontory.games.pacific.events import Event
from promontory.games.pacific.executor import Executor
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.running import Script, run_area
from promontory.games.pacific.state import Execution, Player
from promontory.games.pacific.tokens import Paths
from promontory.games.pacific.vocabulary import AREAS, Area, Colour


class Progress(NamedTuple):
    """What followed the last answer (or the start): events, the next decision or None, and what the player then has."""

    events: tuple[Event, ...]
    decision: Decision | None
    holdings: Holdings


def proceed(deck: Deck, seat: Seat, player: Player, execution: Execution) -> Progress:
    """Return how `execution` goes on after its last answer, up to the next decision or its end.

    The steps up to there are gone through again, which gives the same events as before: executing draws nothing, and
    nobody else can touch it [P-1]. Raises `Rejected` if the last answer is not allowed.
    """
    executor, script = begin(deck, seat, player, execution)
    question = next(script, None)
    for given in execution.given:
        executor.events.clear()
        executor.explicit_runs = given.explicit_runs
        question = _next_question(script, given.answer)
    decision = None if question is None else Decision(player.decisions + 1, executor.card_id, question)
    return Progress(tuple(executor.events), decision, executor.holdings)


def begin(deck: Deck, seat: Seat, player: Player, execution: Execution) -> tuple[Executor, Script]:
    """Return who executes the cards of `execution`, and the script of it from the start, whatever was answered since.

    The script yields the questions, is sent their answers, and raises `Rejected` for one that is not allowed.
    """
    executor = Executor(seat, execution.start, player.active)
    executor.explicit_runs = execution.explicit_runs
    return executor, _execute(deck, execution, executor)


def areas_of(cards: Iterable[Card], paths: Paths) -> tuple[Area, ...]:
    """Return the areas that cards run, in ring order, with the colours that Paths add [Pacific 3.8]."""
    return _joined(tuple([card.colours for card in cards]), paths)


@lru_cache(maxsize=4096)
def _joined(colours: tuple[tuple[Colour, ...], ...], paths: Paths) -> tuple[Area, ...]:
    areas = {colour.area for each in colours for colour in each if colour.area is not None}
    while more := {end for path in paths for end in path.ends if not areas.isdisjoint(path.ends)} - areas:
        areas |= more
    return tuple([area for area in AREAS if area in areas])


def _next_question(script: Script, answer: Answer) -> Question | None:
    try:
        return script.send(answer)
    except StopIteration:
        return None


def _execute(deck: Deck, execution: Execution, executor: Executor) -> Script:
    card_ids = execution.card_ids
    if len(card_ids) > 1:
        answer = answer_as(CardOrder, (yield OrderCards(card_ids)))
        check_permutation(answer.card_ids, card_ids)
        card_ids = answer.card_ids
    cards = [deck.by_id[card_id] for card_id in card_ids]
    for card in cards:
        executor.card_id = card.id
        yield from perform(card.instructions, _text(execution, executor))
    executor.card_id = ""
    for area in areas_of(cards, executor.holdings.paths):
        yield from run_area(executor, area)


def _text(execution: Execution, executor: Executor) -> Text:
    card_id = executor.card_id
    reserved = [one.drawn_card_ids for one in execution.reservations if one.card_id == card_id]
    sole_pick = execution.sole_picks[execution.card_ids.index(card_id)]
    return Text(executor, sole_pick=sole_pick, reserved=chain.from_iterable(reserved))
