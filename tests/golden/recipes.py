"""How the recorded matches were played: who sits where, and what each seat does when it is to act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any

import msgspec

from promontory.bots.registry import policy
from promontory.games import registry
from promontory.games.pacific import commands as pacific
from promontory.games.pacific.decisions import RunArea, Step, SteppedRun
from promontory.games.transcontinental import commands as transcontinental
from promontory.games.transcontinental.vocabulary import Phase, Source
from promontory.rules.domain import SeatKind, SeatSetup, Setup

Choose = Callable[[Any, Random], tuple[Any, ...]]
"""What a seat submits at once, given its view."""


class Recipe(msgspec.Struct, frozen=True):
    """A match: `seats` say what each seat submits; the first `automatic` commands of a house bot the service plays."""

    setup: Setup
    seats: tuple[Choose, ...]
    automatic: int = 0


@cache
def one_by_one(game: str, name: str) -> Choose:
    """Return who plays the policy of `game` called `name`, each command as a submission of its own."""
    choose = policy(registry.game(game), name)
    return lambda view, rng: (choose(view, rng),)


def giving_up(game: str, name: str, *, after_turn: int) -> Choose:
    """Return who plays as `one_by_one`, and resigns once turn `after_turn` is over."""
    rules, choose = registry.game(game), one_by_one(game, name)
    return lambda view, rng: (rules.resign(view.seat),) if view.turn > after_turn else choose(view, rng)


def idling(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play a turn that melds nothing: at once, but for what comes after a card from the deck [fairness 3]."""
    rest = (
        transcontinental.EndWork(view.seat),
        transcontinental.DiscardCards(view.seat, view.hand_card_ids[:1]),
    )
    if view.phase is not Phase.PLANNING:
        return rest
    if Source.DISCARD not in view.legal.draw_sources:
        return (transcontinental.DrawCard(view.seat, Source.DECK),)
    return (transcontinental.DrawCard(view.seat, Source.DISCARD), *rest)


def self_reliant(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play at random, but always execute the card that the seat itself put out: each card of all hands is executed."""
    (command,) = one_by_one("pacific", "random")(view, rng)
    if not isinstance(command, pacific.Choose) or view.seat in command.slots:
        return (command,)
    return (pacific.Choose(view.seat, (view.seat, *command.slots[1:])),)


def second_thoughts(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play as `self_reliant`, and while others are waited for answer once more, in the same submission [P-4]."""
    answered = self_reliant(view, rng)
    late = any(player.active for player in view.players)
    is_last = all(player.ready for seat, player in enumerate(view.players) if seat != view.seat)
    if late or is_last or isinstance(answered[0], pacific.AnswerDecision):
        return answered
    return (*answered, *self_reliant(view, rng))


def step_by_step(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play as `self_reliant`, but have every run asked for, and let one pending token act in a step [Pacific 4.3]."""
    if not view.players[view.seat].explicit_runs:
        return (pacific.SetExplicitRuns(view.seat, True), *self_reliant(view, rng))
    decision = view.legal.decision
    if decision is None or not isinstance(decision.question, RunArea):
        return self_reliant(view, rng)
    kind, _ = rng.choice(list(decision.question.pending.present()))
    return (pacific.AnswerDecision(view.seat, decision.decision_id, SteppedRun((Step(kind),))),)


def players(*names: str, salt: str = "golden") -> tuple[SeatSetup, ...]:
    """Return seats of players, each with its share in the randomness; with another `salt` other hands are dealt."""
    return tuple(SeatSetup(name, client_entropy=f"{salt} {name}".encode()) for name in names)


NAMES = ("ada", "ben", "cyd", "dot", "eli")
HOUSE = SeatSetup("house-greedy-1", SeatKind.HOUSE_BOT, "greedy")
TC, PC = "transcontinental", "pacific"

RECIPES: Mapping[str, Mapping[str, Recipe]] = {
    TC: {
        "points": Recipe(
            Setup((HOUSE, *players("ben")), pool="transcontinental.ranked", rated=True),
            (one_by_one(TC, "greedy"), one_by_one(TC, "greedy")),
            automatic=3,
        ),
        "resigned": Recipe(
            Setup(players("ada", "ben"), draw_start=True),
            (one_by_one(TC, "random"), giving_up(TC, "random", after_turn=16)),
        ),
        "no_progress": Recipe(
            Setup(players("ada", "ben"), pool="transcontinental.ranked", draw_start=True), (idling, idling)
        ),
    },
    PC: {
        "two_against_house": Recipe(
            Setup((HOUSE, *players("ben")), pool="pacific.ranked", rated=True),
            (one_by_one(PC, "greedy"), one_by_one(PC, "greedy")),
            automatic=6,
        ),
        "two_second_thoughts": Recipe(Setup(players(*NAMES[:2])), (second_thoughts, second_thoughts)),
        "three_greedy": Recipe(Setup(players(*NAMES[:3])), (one_by_one(PC, "greedy"),) * 3),
        "three_resigned": Recipe(
            Setup(players(*NAMES[:3])),
            (giving_up(PC, "random", after_turn=2), one_by_one(PC, "random"), giving_up(PC, "greedy", after_turn=1)),
        ),
        "four_one_resigned": Recipe(
            Setup(players(*NAMES[:4])),
            (*(one_by_one(PC, "random"),) * 2, giving_up(PC, "random", after_turn=4), one_by_one(PC, "greedy")),
        ),
        "five_greedy": Recipe(Setup(players(*NAMES)), (one_by_one(PC, "greedy"),) * 5),
        "five_step_by_step": Recipe(Setup(players(*NAMES)), (step_by_step, *(self_reliant,) * 3, second_thoughts)),
        "five_self_reliant": Recipe(Setup(players(*NAMES, salt="golden 34")), (self_reliant,) * 5),
    },
}
