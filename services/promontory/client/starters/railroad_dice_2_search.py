"""A bot for Railroad Dice 2 that searches ahead: it tries each roll and each place for a die, and plays its turn on.

The rest it leaves to the policy `greedy`. Measure it with `promontory arena --game railroad_dice_2 --policies
FILE,greedy`, then widen the search: to locomotives, to more rolls, to what the others do next.
"""

from functools import cache
from random import Random

from promontory.bots.railroad_dice_2 import Greedy
from promontory.bots.railroad_dice_2_prospects import Prospects
from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import Draws, fold
from promontory.games.railroad_dice_2.commands import Command, PlaceDie, RollDice
from promontory.games.railroad_dice_2.component_file import load_components, shipped_data
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.legal import expand
from promontory.games.railroad_dice_2.sampling import determinize
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.view import GameView

ROLLS = 4
PASSENGER = 4
"""Dollars that locomotives will still bring for each passenger they can carry in a turn."""


def choose(view: GameView, rng: Random) -> Command:
    """Return the command that leaves this seat furthest ahead at the end of its turn."""
    usual = greedy()(view, rng)
    if view.legal is None or view.seat is None or not (view.legal.rolls or view.legal.dice):
        return usual
    seat, state = view.seat, determinize(rules().box, view, rng)
    falls = [KeyedDraws(rng.randbytes(32), rules().name) for _ in range(ROLLS if view.legal.rolls else 1)]

    def worth(command: Command) -> float:
        return sum(lead(seat, command, state=state, draws=draws, rng=rng) for draws in falls)

    others = [command for command in expand(view.legal, seat) if isinstance(command, RollDice | PlaceDie)]
    return max(dict.fromkeys([usual, *others]), key=worth)


def lead(seat: int, command: Command, *, state: State, draws: Draws, rng: Random) -> float:
    """Return how many dollars `seat` is ahead after `command`, and what `greedy` does in the rest of its turn."""
    turn = state.turn.number
    seats: tuple[int, ...] = (seat,)
    while seats and state.turn.number == turn:
        state = fold(rules(), state, rules().decide(state, command, draws))
        seats = rules().to_act(state)
        if seats and seats[0] == seat:
            command = greedy()(rules().view(state, seat), rng)
    promises = [promise(state, one) for one in range(len(state.players))]
    own = promises.pop(seat)
    return own - max(promises)


def promise(state: State, seat: int) -> float:
    """Return roughly how many dollars a player will have in the end."""
    player = state.players[seat]
    return player.money + Prospects(rules().box, state, seat).worth + PASSENGER * sum(player.locomotives)


@cache
def rules() -> RailroadDice2:
    """Return the referee's own rules, with the components that come with them."""
    return RailroadDice2(load_components(shipped_data()))


@cache
def greedy() -> Greedy:
    """Return the policy of the house's better bots."""
    return Greedy(rules().box)
