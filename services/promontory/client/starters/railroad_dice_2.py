"""A first bot for Railroad Dice 2: builds towards the next station, buys what it can, and carries the largest loads.

Run it with `promontory bot run FILE --pool railroad_dice_2.ranked.2`, or with up to four seats, then make it better.
"""

from random import Random

from promontory.bots.railroad_dice_2 import play_at_random
from promontory.games.railroad_dice_2.commands import BuyLocomotive, Command, EndTurn, PlaceDie, RollDice, Transport
from promontory.games.railroad_dice_2.placement import LegalPlacement
from promontory.games.railroad_dice_2.view import GameView
from promontory.games.railroad_dice_2.vocabulary import Phase


def choose(view: GameView, rng: Random) -> Command:
    """Return one of the commands that `view.legal` describes: everything the rules accept now.

    `view` is all your seat may know, and nothing on the table is hidden; `rng` is yours to use. Where tiles and
    stations go is left to chance. In a turn dice come first, then locomotives, then passengers.
    """
    legal, seat = view.legal, view.seat
    if legal is None or seat is None:
        raise ValueError("a spectator has no turn")
    if view.phase not in (Phase.TURN, Phase.FINAL):
        return play_at_random(view, rng)
    if legal.rolls:
        roll = rng.choice(legal.rolls)
        return RollDice(seat, roll.simple, roll.complex)
    places = [(die.die, place) for die in legal.dice for place in die.placements]
    if places:
        die, best = max(places, key=lambda each: promise(view, each[1]))
        return PlaceDie(seat, die, best.square, best.rotation, best.face)
    if legal.buy_locomotive and view.phase is Phase.TURN:
        return BuyLocomotive(seat, legal.buy_locomotive.value)
    loads = [
        (min(locomotive, option.passengers), locomotive, option.station)
        for option in legal.transports
        for locomotive in option.locomotives
    ]
    if loads:
        count, locomotive, station = max(loads, key=lambda load: load[0])
        return Transport(seat, station, locomotive, count)
    return EndTurn(seat)


def promise(view: GameView, place: LegalPlacement) -> float:
    """Return roughly how good a place for a die is: the stations it links, then how near it comes to another one."""
    me = view.players[view.seat or 0]
    others = [station.square for station in view.stations if station.square not in (me.home, *me.linked)]
    apart = [abs(place.square.x - square.x) + abs(place.square.y - square.y) for square in others]
    return 10 * len(place.links) - min(apart, default=0) - place.cost
