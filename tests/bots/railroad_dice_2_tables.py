"""Tables of Railroad Dice 2 with house bots, and positions on whole maps for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from promontory.bots.port import Policy
from promontory.bots.railroad_dice_2 import POLICIES
from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.commands import Command
from promontory.games.railroad_dice_2.state import State
from tests.support.railroad_dice_2 import GAME, begun, position, seeded
from tests.support.railroad_dice_2_play import GAMES, draws_of

GREEDY: Policy = POLICIES["greedy"](GAME)
RANDOM: Policy = POLICIES["random"](GAME)
COLUMNS, ROWS = 12, 8


def choice(chooser: Policy, state: State, *, seat: int = 0, seed: int = 1) -> Command:
    """Return what `chooser` plays for `seat`."""
    command: Command = chooser(GAME.view(state, seat), seeded(seed))
    return command


def on_map(*rows: str, **fields: Any) -> State:
    """Return a position on six tiles, three in a row; rows that are not drawn are empty, short ones go on so."""
    drawn = [*rows, *[""] * (ROWS - len(rows))]
    return position("\n".join(row.ljust(COLUMNS, ".") for row in drawn), **fields)


@cache
def moments(layout: str, seats: int, seed: int) -> tuple[State, ...]:
    """Return all states of a game at a table of greedy and random players in which somebody is to act, and its end."""
    game, random, rng = GAMES[layout], seeded(seed), draws_of(seed)
    state = begun(seats, rng, game=game)
    seen = [state]
    choosers: Sequence[Policy] = [GREEDY, *random.choices([GREEDY, RANDOM], k=seats - 1)]
    while to_act := game.to_act(state):
        seat = to_act[0]
        state = fold(game, state, game.decide(state, choosers[seat](game.view(state, seat), random), rng))
        seen.append(state)
    return tuple(seen)
