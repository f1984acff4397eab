"""The arena: plays policies against one another by the referee's own rules and measures their strength."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from random import Random
from statistics import fmean
from typing import Any

import msgspec

from promontory.bots.port import Policy, RefusedPolicyError
from promontory.bots.registry import policy
from promontory.games.fairness import KeyedDraws, match_key
from promontory.games.kernel import Draws, Rejected, fold
from promontory.games.registry import AnyGame, seat_counts

_Z95 = 1.959964
"""Half the width of the central 95 % of the normal distribution, in standard deviations."""

Progress = Callable[[int, int], None]
"""Told after each game how many of how many are done."""

CpuClock = Callable[[], float]
"""The CPU seconds this process has spent, like `time.process_time`."""


class Plan(msgspec.Struct, frozen=True):
    """What to play: `games` games, one policy a seat; the same plan gives the same games."""

    policies: tuple[str, ...]
    games: int = 1000
    seed: int = 1


class Share(msgspec.Struct, frozen=True):
    """A share of the games, 0 to 1, with its 95 % Wilson interval. A shared win counts in equal parts."""

    value: float
    low: float
    high: float


class Standing(msgspec.Struct, frozen=True):
    """What one policy, or one seat, made of all games: `wins` alone in first place, `draws` sharing it.

    `mean_score` is in the game's unit.
    """

    name: str
    wins: int
    draws: int
    share: Share
    mean_score: float
    decisions: int
    cpu_seconds_per_decision: float


class ArenaResult(msgspec.Struct, frozen=True):
    """The outcome of a run. `policies` are in the order given, `seats` in the order of turns.

    `draws` are games without a sole winner; `mean_turns` counts the stretches of decisions of one seat;
    `mean_best_score` is that of first places, in the game's unit.
    """

    game: str
    rules_version: str
    seed: int
    games: int
    draws: int
    mean_turns: float
    mean_best_score: float
    policies: tuple[Standing, ...]
    seats: tuple[Standing, ...]


class Played(msgspec.Struct, frozen=True):
    """One game: by seat, who sat there (number of the policy), places, scores, decisions and CPU seconds for them."""

    seating: tuple[int, ...]
    places: tuple[int, ...]
    scores: tuple[int, ...]
    turns: int
    decisions: tuple[int, ...]
    cpu_seconds: tuple[float, ...]


def run_arena(
    game: AnyGame,
    plan: Plan,
    *,
    cpu_clock: CpuClock,
    progress: Progress | None = None,
    own: Mapping[str, Policy] | None = None,
) -> ArenaResult:
    """Return how the policies of `plan` did, their seats rotated from game to game.

    A policy's name is looked up in `own`, which holds the caller's, before those that come with the game.

    Raises:
        UnknownPolicyError: there is no policy of a name.
        RefusedPolicyError: a policy gave a command that the rules refuse.
        ValueError: the game is not for as many seats, or there is nothing to play.
    """
    known = own or {}
    if len(plan.policies) not in game.seats:
        seats = seat_counts(game.seats)
        raise ValueError(f"{game.name} is not a game for {len(plan.policies)} policies: it needs {seats}, one a seat")
    if plan.games < 1:
        raise ValueError(f"the number of games must be at least 1, not {plan.games}")
    policies = [known[name] if name in known else policy(game, name) for name in plan.policies]
    played = []
    for number in range(plan.games):
        played.append(play(game, policies, seed=plan.seed, number=number, cpu_clock=cpu_clock))
        if progress is not None:
            progress(number + 1, plan.games)
    return summarise(game, plan, played)


def play(game: AnyGame, policies: Sequence[Policy], *, seed: int, number: int, cpu_clock: CpuClock) -> Played:
    """Return the game with this number, from 0, of a run: policy i sits at seat 0 in each game i, and so on around.

    Raises `RefusedPolicyError` if a policy gives a command that the rules refuse.
    """
    count = len(policies)
    seating = tuple((seat + number) % count for seat in range(count))
    draws = _draws(game.name, seed, number)
    randoms = [Random(f"{seed}/{number}/{seat}") for seat in range(count)]  # noqa: S311 - strength, not secrecy
    decisions, cpu_seconds, turns, last = [0] * count, [0.0] * count, 0, -1
    state = game.initial(count)
    state = fold(game, state, game.begin(state, draws, draw_start=False))
    while seats := game.to_act(state):
        seat = seats[0]
        view = game.view(state, seat)
        started = cpu_clock()
        command = policies[seating[seat]](view, randoms[seat])
        cpu_seconds[seat] += cpu_clock() - started
        try:
            events = _decided(game, state, command, seat=seat, draws=draws)
        except Rejected as refusal:
            raise RefusedPolicyError(seating[seat], number, view=view, command=command, refusal=refusal) from refusal
        state = fold(game, state, events)
        decisions[seat] += 1
        turns += seat != last
        last = seat
    outcome = game.outcome(state)
    places, scores = (outcome.places, outcome.scores) if outcome is not None else ((1,) * count, (0,) * count)
    return Played(seating, places, scores, turns=turns, decisions=tuple(decisions), cpu_seconds=tuple(cpu_seconds))


def summarise(game: AnyGame, plan: Plan, played: Sequence[Played]) -> ArenaResult:
    """Return the standings after the games `played`, at least one."""
    return ArenaResult(
        game=game.name,
        rules_version=game.rules_version,
        seed=plan.seed,
        games=len(played),
        draws=sum(each.places.count(1) > 1 for each in played),
        mean_turns=fmean(each.turns for each in played),
        mean_best_score=fmean(each.scores[each.places.index(1)] for each in played),
        policies=tuple(
            _standing(name, [(each, each.seating.index(i)) for each in played]) for i, name in enumerate(plan.policies)
        ),
        seats=tuple(_standing(f"seat {seat}", [(each, seat) for each in played]) for seat in range(len(plan.policies))),
    )


def wilson(successes: float, trials: int) -> Share:
    """Return the share of `successes` among `trials`, at least 1, with its 95 % Wilson interval."""
    value = successes / trials
    spread = _Z95**2 / trials
    centre = (value + spread / 2) / (1 + spread)
    reach = sqrt(value * (1 - value) * spread + spread**2 / 4) / (1 + spread)
    return Share(value, max(0.0, centre - reach), min(1.0, centre + reach))


def _decided(game: AnyGame, state: Any, command: Any, *, seat: int, draws: Draws) -> tuple[Any, ...]:
    if game.seat_of(command) != seat:
        raise Rejected("SEAT_NOT_YOURS", rule="one's own seat", seat=seat)
    return game.decide(state, command, draws)


def _draws(game_name: str, seed: int, number: int) -> KeyedDraws:
    name = f"arena-{seed}-{number}"
    return KeyedDraws(match_key(name, hashlib.sha256(name.encode()).digest(), ()), game_name)


def _standing(name: str, played: Sequence[tuple[Played, int]]) -> Standing:
    """Return the standing of whoever sat, in each game, at the seat named with it."""
    firsts = [each.places.count(1) for each, seat in played if each.places[seat] == 1]
    decisions = sum(each.decisions[seat] for each, seat in played)
    cpu_seconds = sum(each.cpu_seconds[seat] for each, seat in played)
    return Standing(
        name=name,
        wins=firsts.count(1),
        draws=len(firsts) - firsts.count(1),
        share=wilson(sum(1 / count for count in firsts), len(played)),
        mean_score=fmean(each.scores[seat] for each, seat in played),
        decisions=decisions,
        cpu_seconds_per_decision=cpu_seconds / decisions if decisions else 0.0,
    )
