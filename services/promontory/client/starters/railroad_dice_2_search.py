"""A bot for Railroad Dice 2 that searches ahead: it tries each roll, and what `greedy` does, and plays on for a round.

The rest it leaves to the policy `greedy`. Measure it with `promontory arena --game railroad_dice_2 --policies
FILE,greedy`, then widen the search: to placements, to locomotives, to more rounds.
"""

from functools import cache
from random import Random

from promontory.bots.railroad_dice_2 import Greedy
from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import Draws, fold
from promontory.games.railroad_dice_2.commands import Command, RollDice
from promontory.games.railroad_dice_2.component_file import load_components, shipped_data
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.sampling import determinize
from promontory.games.railroad_dice_2.state import Player, State
from promontory.games.railroad_dice_2.view import GameView

ROLLS = 2
ROUNDS_AHEAD = 1
LINK, CAPACITY = 10, 4
"""What a station that is linked will still bring, in dollars, and what each passenger that locomotives can carry."""


def choose(view: GameView, rng: Random) -> Command:
    """Return the command that leaves this seat furthest ahead, over `ROLLS` ways in which dice may fall."""
    usual = greedy()(view, rng)
    if view.legal is None or view.seat is None or not view.legal.rolls:
        return usual
    seat, state = view.seat, determinize(rules().box, view, rng)
    draws = [KeyedDraws(rng.randbytes(32), rules().name) for _ in range(ROLLS)]

    def worth(command: Command) -> int:
        return sum(lead(seat, command, state=state, draws=each, rng=rng) for each in draws)

    rolls = [RollDice(seat, roll.simple, roll.complex) for roll in view.legal.rolls]
    return max(dict.fromkeys([usual, *rolls]), key=worth)


def lead(seat: int, command: Command, *, state: State, draws: Draws, rng: Random) -> int:
    """Return how far ahead `seat` is after `command` and what `greedy` plays next for all seats."""
    last = state.turn.number + ROUNDS_AHEAD * len(state.players)
    seats: tuple[int, ...] = (seat,)
    while seats and state.turn.number <= last:
        state = fold(rules(), state, rules().decide(state, command, draws))
        seats = rules().to_act(state)
        if seats:
            command = greedy()(rules().view(state, seats[0]), rng)
    own, *others = map(promise, (*state.players[seat:], *state.players[:seat]))
    return own - max(others)


def promise(player: Player) -> int:
    """Return roughly how much money a player will have in the end."""
    return player.money + LINK * len(player.linked) + CAPACITY * sum(player.locomotives)


@cache
def rules() -> RailroadDice2:
    """Return the referee's own rules, with the components that come with them."""
    return RailroadDice2(load_components(shipped_data()))


@cache
def greedy() -> Greedy:
    """Return the policy of the house's better bots."""
    return Greedy(rules().box)
