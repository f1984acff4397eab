"""The policies of Railroad Dice 2: one plays at random, one takes what promises most [Railroad Dice 2 1.7]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from msgspec.structs import replace

from promontory.bots.port import NotToActError, Policy
from promontory.bots.railroad_dice_2_dice import DiceChoices
from promontory.bots.railroad_dice_2_sites import gray_site, home_site, tile_site
from promontory.bots.railroad_dice_2_traffic import Traffic
from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.commands import (
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceGray,
    PlaceHome,
    PlaceTile,
)
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.legal import LegalCommands, expand
from promontory.games.railroad_dice_2.sampling import determinize
from promontory.games.railroad_dice_2.view import GameView
from promontory.games.railroad_dice_2.vocabulary import Phase


class Greedy:
    """Links stations, then buys locomotives that pay, then carries as much as it can: one command after the other.

    What others are going to do is left out of account. In the set-up tiles and stations go to any of the best places.
    """

    def __init__(self, box: Box) -> None:
        self._box = box

    def __call__(self, view: GameView, rng: Random) -> Command:
        """Return the command to play; `rng` chooses among good places in the set-up only. Raises `NotToActError`."""
        seat, legal = _acting(view)
        if view.phase in (Phase.TURN, Phase.FINAL):
            traffic = Traffic(self._box, view, seat)
            return self._with_dice(view, legal, traffic, rng) or _with_trains(seat, legal, traffic)
        if legal.place_tile is not None:
            square = tile_site(view, legal.place_tile.squares, rng)
            return PlaceTile(seat, legal.place_tile.tile_ids[0], square, rng.choice(legal.place_tile.rotations))
        if legal.home_squares:
            return PlaceHome(seat, home_site(view, legal.home_squares, rng))
        return PlaceGray(seat, gray_site(view, legal.gray_squares, seat=seat, rng=rng))

    def _with_dice(self, view: GameView, legal: LegalCommands, traffic: Traffic, rng: Random) -> Command | None:
        """Return what to do with dice, if anything can be gained by it."""
        if view.phase is Phase.FINAL or (view.turn.dice_action_used and not legal.dice):
            return None
        choices = DiceChoices(self._box, determinize(self._box, view, rng), legal, traffic)
        return choices.hand() if view.turn.dice_action_used else choices.action()


def _with_trains(seat: Seat, legal: LegalCommands, traffic: Traffic) -> Command:
    """Return the next command about locomotives, or the end of the turn."""
    if legal.buy_locomotive is not None and traffic.pays(legal.buy_locomotive):
        return BuyLocomotive(seat, legal.buy_locomotive.value)
    return traffic.best_run(legal.transports) or EndTurn(seat)


def play_at_random(view: GameView, rng: Random) -> Command:
    """Return any legal command that goes on with the game, with equal chance. Raises `NotToActError`.

    Of the ways to return dice, which all mean to do without them, one is among those it chooses from.
    """
    seat, legal = _acting(view)
    if not legal.return_dice:
        return rng.choice(list(expand(legal, seat)))
    commands = list(expand(replace(legal, return_dice=()), seat))
    returns = list(expand(LegalCommands(return_dice=legal.return_dice), seat))
    return rng.choice([*commands, rng.choice(returns)])


POLICIES: Mapping[str, Callable[[RailroadDice2], Policy]] = {
    "greedy": lambda game: Greedy(game.box),
    "random": lambda _: play_at_random,
}
"""What makes each policy from the game, by name."""


def _acting(view: GameView) -> tuple[Seat, LegalCommands]:
    if view.seat is None or view.legal is None:
        raise NotToActError("a spectator never acts")
    if view.seat != view.active or view.phase is Phase.OVER:
        raise NotToActError(f"seat {view.seat} is not to act")
    return view.seat, view.legal
