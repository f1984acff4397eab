"""A bot for Transcontinental that searches ahead: where two piles are open to it, it tries both, and plays on.

The rest it leaves to the policy `greedy`. Measure it with `promontory arena --policies FILE,greedy`, then widen the
search: to melds, to what the opponent's known cards tell, to more worlds.
"""

from functools import cache
from random import Random

from promontory.bots.transcontinental import Greedy
from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import Draws, fold
from promontory.games.transcontinental.cards import load_deck, shipped_cards
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.decider import Transcontinental
from promontory.games.transcontinental.legal import expand
from promontory.games.transcontinental.sampling import determinize
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.view import GameView

WORLDS = 12
COMMANDS_AHEAD = 16


def choose(view: GameView, rng: Random) -> Command:
    """Return the command that leaves this side furthest ahead, over `WORLDS` ways to deal the cards it cannot see."""
    if view.legal is None or view.seat is None or len(view.legal.draw_sources) < 2:
        return greedy()(view, rng)
    seat, worlds = view.seat, [determinize(rules().deck, view, rng) for _ in range(WORLDS)]
    draws = KeyedDraws(rng.randbytes(32), rules().name)

    def worth(command: Command) -> int:
        return sum(lead(seat, command, state=world, draws=draws, rng=rng) for world in worlds)

    return max(expand(view.legal, seat), key=worth)


def lead(seat: int, command: Command, *, state: State, draws: Draws, rng: Random) -> int:
    """Return how many points `seat` is ahead after `command` and what `greedy` plays next for both sides."""
    for _ in range(COMMANDS_AHEAD):
        state = fold(rules(), state, rules().decide(state, command, draws))
        seats = rules().to_act(state)
        if not seats:
            break
        command = greedy()(rules().view(state, seats[0]), rng)
    side = state.side_of(seat)
    return state.of(side).total - state.of(side.other).total


@cache
def rules() -> Transcontinental:
    """Return the referee's own rules, with the 77 cards."""
    return Transcontinental(load_deck(shipped_cards()))


@cache
def greedy() -> Greedy:
    """Return the policy of the house's better bots."""
    return Greedy(rules().deck)
