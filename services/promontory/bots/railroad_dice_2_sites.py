"""Where a player of Railroad Dice 2 does well to lay tiles and to place stations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.view import GameView
from promontory.games.railroad_dice_2.vocabulary import Square

_SLACK = 1.0
"""Of places that are at most so many squares worse than the best one any is taken, so that games differ."""


def tile_site(view: GameView, squares: Sequence[Square], rng: Random) -> Square:
    """Return a place for a tile that keeps the map together: trains count tiles [R-42]."""
    return _near_best(squares, rng, lambda square: sum(_apart(square, tile.square) for tile in view.tiles))


def home_site(view: GameView, squares: Sequence[Square], rng: Random) -> Square:
    """Return a place for the own home in the middle of the map, where no station is far."""
    tiles = len(view.tiles)
    middle = (sum(tile.square.x for tile in view.tiles) / tiles, sum(tile.square.y for tile in view.tiles) / tiles)
    offset = (len(view.tiles[0].rows) - 1) / 2
    return _near_best(
        squares, rng, lambda square: abs(square.x - middle[0] - offset) + abs(square.y - middle[1] - offset)
    )


def gray_site(view: GameView, squares: Sequence[Square], *, seat: Seat, rng: Random) -> Square:
    """Return a place for a gray station near the own home and far from the others."""
    homes = [player.home for player in view.players if player.home is not None]
    own = view.players[seat].home

    def worse(square: Square) -> float:
        farness = sum(_apart(square, home) for home in homes if home != own) / (len(homes) - 1)
        return (0 if own is None else _apart(square, own)) - farness

    return _near_best(squares, rng, worse)


def _near_best(squares: Sequence[Square], rng: Random, worse: Callable[[Square], float]) -> Square:
    enough = min(map(worse, squares)) + _SLACK
    return rng.choice([square for square in squares if worse(square) <= enough])


def _apart(one: Square, other: Square) -> int:
    return abs(one.x - other.x) + abs(one.y - other.y)
