"""Positions of Transcontinental for bots, and other worlds that look the same from a seat."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from promontory.bots.port import Policy
from promontory.bots.registry import policy
from promontory.games.fairness import KeyedDraws
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.view import GameView
from tests.support.transcontinental import GAME, after, begun, seeded

GREEDY: Policy = policy(GAME, "greedy")
RANDOM: Policy = policy(GAME, "random")


def choice(chooser: Policy, state: State, *, seat: int = 0, seed: int = 1) -> Command:
    """Return what `chooser` plays for `seat`."""
    command: Command = chooser(GAME.view(state, seat), seeded(seed))
    return command


def position(seed: int, decisions: int) -> State:
    """Return a game after so many decisions, more often greedy than random ones."""
    rng = seeded(seed)
    draws = KeyedDraws(rng.randbytes(32), GAME.name)
    state = begun(draws)
    for _ in range(decisions):
        chooser = rng.choice([GREEDY, GREEDY, RANDOM])
        state = after(state, *GAME.decide(state, chooser(acting_view(state), rng), draws))
    return state


def acting_view(state: State) -> GameView:
    """Return the view of the seat that is to act."""
    return GAME.view(state, state.seat_of(state.active))


def same_to_the_acting_side(state: State, seed: int) -> State:
    """Return `state` with all that the acting side cannot know dealt anew: the opponent's hand and the draw pile."""
    opponent = state.active.other
    holding = state.of(opponent)
    hidden = [*state.deck, *sorted(holding.hand - holding.seen)]
    seeded(seed).shuffle(hidden)
    hand = holding.seen.union(hidden[len(state.deck) :])
    changed: dict[str, Any] = {opponent.value.lower(): replace(holding, hand=hand)}
    return replace(state, deck=tuple(hidden[: len(state.deck)]), **changed)
