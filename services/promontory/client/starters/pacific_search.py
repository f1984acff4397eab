"""A bot for Pacific that searches ahead: it tries each choice from the table, and plays on for another turn.

The rest it leaves to the policy `greedy`. Measure it with `promontory arena --game pacific --policies FILE,greedy`,
then widen the search: to the card it puts out, to more turns and worlds, to what the others are likely to put out.
"""

from functools import cache
from random import Random

from promontory.bots.pacific import Greedy, play_at_random
from promontory.bots.pacific_outlook import Outlook
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import fold
from promontory.games.pacific.cards import load_deck, shipped_deck
from promontory.games.pacific.commands import Command
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.legal import expand
from promontory.games.pacific.sampling import determinize
from promontory.games.pacific.state import TURNS, State
from promontory.games.pacific.view import GameView

WORLDS = 3
TURNS_AHEAD = 1


def choose(view: GameView, rng: Random) -> Command:
    """Return the command that promises most money, over `WORLDS` ways to deal the cards this seat cannot see."""
    if view.legal is None or view.seat is None or view.legal.choose is None:
        return greedy()(view, rng)
    seat, last = view.seat, min(view.turn + TURNS_AHEAD, TURNS)
    worlds = [determinize(rules().deck, view, rng) for _ in range(WORLDS)]

    def worth(command: Command) -> float:
        return sum(promise(seat, command, state=world, last=last, rng=rng) for world in worlds)

    return max(expand(view.legal, seat), key=worth)


def promise(seat: int, command: Command, *, state: State, last: int, rng: Random) -> float:
    """Return the money that `seat` can expect in the end, after `command` and what is played to the end of turn `last`.

    This seat goes on as `greedy` would. What the others do matters little, for nobody touches another's mat: at random.
    """
    seats: tuple[int, ...] = (seat,)
    while seats and state.turn <= last:
        state = fold(rules(), state, rules().decide(state, command, BlindDraws()))
        seats = rules().to_act(state)
        if seats:
            policy = greedy() if seats[0] == seat else play_at_random
            command = policy(rules().view(state, seats[0]), rng)
    return Outlook(last).value(state.players[seat].holdings)


@cache
def rules() -> Pacific:
    """Return the referee's own rules, with the 80 cards."""
    return Pacific(load_deck(shipped_deck()))


@cache
def greedy() -> Greedy:
    """Return the policy of the house's better bots."""
    return Greedy(rules().deck)
