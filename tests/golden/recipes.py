"""How the recorded matches were played: who sits where, and what each seat does when it is to act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from random import Random
from typing import Any

import msgspec

from promontory.bots.registry import policy
from promontory.codec.terms import ClockKind, TimeControl
from promontory.games import registry
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import fold
from promontory.games.pacific import commands as pacific
from promontory.games.pacific.decisions import RunArea, Step, SteppedRun
from promontory.games.railroad_dice_2 import commands as railroad
from promontory.games.railroad_dice_2.sampling import determinize
from promontory.games.transcontinental import commands as transcontinental
from promontory.games.transcontinental.vocabulary import Phase, Source
from promontory.rules.domain import SeatKind, SeatSetup, Setup

Choose = Callable[[Any, Random], tuple[Any, ...]]
"""What a seat submits at once, given its view: commands, or asides."""


class Aside(msgspec.Struct, frozen=True):
    """What `seat` does that is no command of the game: a call of the service's `method`, after `pause_ms`.

    Without a seat it is the platform.
    """

    method: str
    seat: int | None = None
    ending: int = 0
    pause_ms: int = 0
    note: str = ""


MOST_AT_ONCE = 16
"""How many commands the service takes in a submission."""


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
    return lambda view, rng: (rules.resign(view.seat),) if turn_of(view) > after_turn else choose(view, rng)


def beside(choose: Choose, script: Mapping[int, tuple[Aside, ...]]) -> Choose:
    """Return who plays as `choose`, but has all of `script` happen when it is to act in the turn it names, once."""
    done: set[int] = set()

    def next_up(view: Any, rng: Random) -> tuple[Any, ...]:
        turn = turn_of(view)
        if turn in script and turn not in done:
            done.add(turn)
            return script[turn]
        return choose(view, rng)

    return next_up


TIME_RUNS_OUT = (Aside("EnforceClock", pause_ms=60_300),)
DRAW, CANCEL = 1, 2


def turn_of(view: Any) -> int:
    """Return the number of the turn; in Railroad Dice 2 it is 0 during the set-up."""
    number: int = getattr(view.turn, "number", view.turn)
    return number


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


def passing(view: Any, rng: Random) -> tuple[Any, ...]:
    """Set up at random, then do nothing at all [R-56]."""
    if view.legal.end_turn:
        return (railroad.EndTurn(view.seat),)
    return one_by_one("railroad_dice_2", "random")(view, rng)


def restocking(view: Any, rng: Random) -> tuple[Any, ...]:
    """Do nothing but restock all tiles, until the bank is empty."""
    return (railroad.RestockAll(view.seat),) if view.legal.restock_all else passing(view, rng)


def shopping(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play greedily, but buy every locomotive as soon as it can be paid, so that small ones are scrapped [R-40]."""
    option = view.legal.buy_locomotive
    if option is not None:
        return (railroad.BuyLocomotive(view.seat, option.value),)
    return one_by_one("railroad_dice_2", "greedy")(view, rng)


def sprawling(view: Any, rng: Random) -> tuple[Any, ...]:
    """Lay track everywhere but to stations, simple dice as long as there are some, then as `upgrading`."""
    return _laying(view, rng) or _rolling(view) or upgrading(view, rng)


def upgrading(view: Any, rng: Random) -> tuple[Any, ...]:
    """Replace simple dice by complex ones, and lay the simple ones that come back, to no stations if possible."""
    options = view.legal.take_complex
    if not options:
        return _laying(view, rng) or _rolling(view) or passing(view, rng)
    option = rng.choice([option for option in options if not option.links] or options)
    return (railroad.TakeComplex(view.seat, option.square, option.rotation, option.face),)


def _laying(view: Any, rng: Random) -> tuple[Any, ...]:
    options = [(die.die, option) for die in view.legal.dice for option in die.placements if not option.links]
    return tuple(
        railroad.PlaceDie(view.seat, die, option.square, option.rotation, option.face)
        for die, option in rng.sample(options, min(1, len(options)))
    )


def _rolling(view: Any) -> tuple[Any, ...]:
    """Return the roll of most simple dice, if any can be rolled."""
    rolls = [roll for roll in view.legal.rolls if roll.simple]
    return tuple(railroad.RollDice(view.seat, roll.simple, roll.complex) for roll in rolls[:1])


def in_one_go(choose: Choose) -> Choose:
    """Return who plays Railroad Dice 2 as `choose`, and submits at once all up to the next roll [fairness 3]."""
    rules: Any = registry.game("railroad_dice_2")

    def chosen(view: Any, rng: Random) -> tuple[Any, ...]:
        state, commands = determinize(rules.box, view, rng), list[Any]()
        while rules.to_act(state) == (view.seat,) and len(commands) < MOST_AT_ONCE:
            commands += choose(rules.view(state, view.seat), rng)
            if isinstance(commands[-1], railroad.RollDice):
                break
            state = fold(rules, state, rules.decide(state, commands[-1], BlindDraws()))
        return tuple(_in_batches(commands))

    return chosen


def _in_batches(commands: Iterable[Any]) -> Iterator[Any]:
    """Yield the commands; of dice placed in a row one `Build` [Railroad Dice 2 6.2]."""
    for is_placing, group in groupby(commands, lambda command: isinstance(command, railroad.PlaceDie)):
        row = list(group)
        if is_placing and len(row) > 1:
            steps = (railroad.Placement(each.die, each.square, each.rotation, each.face) for each in row)
            yield railroad.Build(row[0].seat, tuple(steps))
        else:
            yield from row


def players(*names: str, salt: str = "golden") -> tuple[SeatSetup, ...]:
    """Return seats of players, each with its share in the randomness; with another `salt` other hands are dealt."""
    return tuple(SeatSetup(name, client_entropy=f"{salt} {name}".encode()) for name in names)


NAMES = ("ada", "ben", "cyd", "dot", "eli")
HOUSE = SeatSetup("house-greedy-1", SeatKind.HOUSE_BOT, "greedy")
TC, PC, RD = "transcontinental", "pacific", "railroad_dice_2"
GREEDY, RANDOM = one_by_one(RD, "greedy"), one_by_one(RD, "random")

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
        "timed_out": Recipe(
            Setup(
                players("ada", "ben"),
                pool="transcontinental.ranked",
                rated=True,
                time_control=TimeControl(ClockKind.PER_TURN, 60_000, default_moves=2),
            ),
            (beside(one_by_one(TC, "greedy"), dict.fromkeys((1, 3, 7), TIME_RUNS_OUT)), one_by_one(TC, "random")),
        ),
        "abandoned": Recipe(
            Setup(players("ada", "ben"), abandon_after_ms=60_000),
            (
                beside(one_by_one(TC, "random"), {3: (Aside("ClaimAbandoned", 1, pause_ms=60_000),)}),
                one_by_one(TC, "random"),
            ),
        ),
        "aborted": Recipe(
            Setup(players("ada", "ben")), (beside(one_by_one(TC, "greedy"), {1: (Aside("AbortMatch", 1),)}),) * 2
        ),
        "cancelled": Recipe(
            Setup(players("ada", "ben")),
            (beside(one_by_one(TC, "greedy"), {2: (Aside("CancelMatch", note="the server was moved"),)}),) * 2,
        ),
        "drawn": Recipe(
            Setup(players("ada", "ben"), time_control=TimeControl(ClockKind.INCREMENT, 60_000, 10_000)),
            (
                beside(
                    one_by_one(TC, "greedy"),
                    {
                        3: (Aside("OfferEnding", 0, CANCEL), Aside("DeclineEnding", 1)),
                        5: (Aside("OfferEnding", 1, DRAW), Aside("OfferEnding", 0, DRAW)),
                    },
                ),
                one_by_one(TC, "random"),
            ),
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
        "three_taken_over": Recipe(
            Setup(
                players(*NAMES[:3]),
                time_control=TimeControl(ClockKind.PER_TURN, 60_000, default_moves=1, default_policy="random"),
                stand_in_policy="greedy",
            ),
            (
                one_by_one(PC, "random"),
                beside(one_by_one(PC, "random"), {2: TIME_RUNS_OUT}),
                giving_up(PC, "random", after_turn=4),
            ),
        ),
        "two_cancelled": Recipe(
            Setup(players(*NAMES[:2])),
            (
                beside(
                    one_by_one(PC, "random"), {2: (Aside("OfferEnding", 0, CANCEL), Aside("OfferEnding", 1, CANCEL))}
                ),
                one_by_one(PC, "random"),
            ),
        ),
        "five_greedy": Recipe(Setup(players(*NAMES)), (one_by_one(PC, "greedy"),) * 5),
        "five_step_by_step": Recipe(Setup(players(*NAMES)), (step_by_step, *(self_reliant,) * 3, second_thoughts)),
        "five_self_reliant": Recipe(Setup(players(*NAMES, salt="golden 34")), (self_reliant,) * 5),
    },
    RD: {
        "two_against_house": Recipe(
            Setup((HOUSE, *players("ben")), pool="railroad_dice_2.ranked.2", rated=True),
            (GREEDY, in_one_go(GREEDY)),
            automatic=12,
        ),
        "two_variable_random": Recipe(Setup(players(*NAMES[:2]), variant="variable"), (RANDOM,) * 2),
        "three_shopping": Recipe(Setup(players(*NAMES[:3])), (in_one_go(shopping),) * 3),
        "three_variable_greedy": Recipe(Setup(players(*NAMES[:3]), variant="variable"), (GREEDY,) * 3),
        "three_variable_restocking": Recipe(
            Setup(players(*NAMES[:3]), variant="variable"), (in_one_go(restocking),) * 3
        ),
        "three_resigned": Recipe(
            Setup(players(*NAMES[:3])),
            (giving_up(RD, "random", after_turn=2), RANDOM, giving_up(RD, "greedy", after_turn=5)),
        ),
        "three_abandoned": Recipe(
            Setup(players(*NAMES[:3]), abandon_after_ms=60_000, stand_in_policy="greedy"),
            (
                beside(GREEDY, {7: (Aside("ClaimAbandoned", 2, pause_ms=60_000),)}),
                beside(RANDOM, {5: (Aside("ClaimAbandoned", 0, pause_ms=60_000),)}),
                GREEDY,
            ),
        ),
        "four_random": Recipe(Setup(players(*NAMES[:4])), (RANDOM,) * 4),
        "four_passing": Recipe(Setup(players(*NAMES[:4])), (passing,) * 4),
        "four_sprawling": Recipe(Setup(players(*NAMES[:4], salt="golden 10")), (in_one_go(sprawling),) * 4),
        "four_sprawling_on": Recipe(Setup(players(*NAMES[:4], salt="golden 1")), (in_one_go(sprawling),) * 4),
        "four_variable_upgrading": Recipe(Setup(players(*NAMES[:4]), variant="variable"), (in_one_go(upgrading),) * 4),
        "four_variable_one_resigned": Recipe(
            Setup(players(*NAMES[:4]), pool="railroad_dice_2.variable.4", variant="variable"),
            (GREEDY, giving_up(RD, "random", after_turn=-1), *(in_one_go(GREEDY),) * 2),
        ),
    },
}
