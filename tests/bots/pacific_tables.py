"""Tables of Pacific with house bots, and players who execute cards by a policy's answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from promontory.bots.pacific import POLICIES
from promontory.bots.port import Policy
from promontory.games.pacific.commands import Command
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.state import Player, State
from tests.support.pacific import GAME, after, begun, open_decision, seeded, state_after
from tests.support.pacific_play import draws_of

GREEDY: Policy = POLICIES["greedy"](GAME)
RANDOM: Policy = POLICIES["random"](GAME)


def choice(chooser: Policy, state: State, *, seat: int = 0, seed: int = 1) -> Command:
    """Return what `chooser` plays for `seat`."""
    command: Command = chooser(GAME.view(state, seat), seeded(seed))
    return command


def ending(state: State, chooser: Policy, *, seat: int = 0, game: Pacific = GAME) -> Player:
    """Return the player in `seat` after `chooser` has answered all that it is asked while it executes cards."""
    random = seeded(1)
    while open_decision(state, seat) is not None:
        state = state_after(state, chooser(game.view(state, seat), random), game=game)
    return state.players[seat]


@cache
def moments(seats: int, seed: int) -> tuple[State, ...]:
    """Return all states of a game at a table of greedy and random players in which somebody is to act."""
    random, rng = seeded(seed), draws_of(seed)
    state, seen = begun(seats, rng), []
    choosers: Sequence[Policy] = [random.choice([GREEDY, GREEDY, RANDOM]) for _ in range(seats)]
    while to_act := GAME.to_act(state):
        seen.append(state)
        seat = random.choice(to_act)
        state = after(state, *GAME.decide(state, choosers[seat](GAME.view(state, seat), random), rng))
    return tuple(seen)


def moment(seats: int, seed: int) -> tuple[State, int]:
    """Return some state of such a game, another one for each seed, and a seat that is to act in it."""
    random = seeded(seed)
    state = random.choice(moments(seats, seed))
    return state, random.choice(GAME.to_act(state))
