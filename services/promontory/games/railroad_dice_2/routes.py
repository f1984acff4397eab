"""How far stations are: the tiles that the shortest route crosses [Railroad Dice 2 4.5]."""

from __future__ import annotations

from typing import NamedTuple

from promontory.games.railroad_dice_2.board import STATION, Board
from promontory.games.railroad_dice_2.edges import Edge
from promontory.games.railroad_dice_2.network import EXITS, Arrival, Network, first_arrivals
from promontory.games.railroad_dice_2.plan import Cell, Tiles
from promontory.games.railroad_dice_2.vocabulary import Square


class Route(NamedTuple):
    """The way from a home to `station` that crosses the fewest different tiles: `tiles`, 1 or more [R-42] [R-43].

    `tile_number` is that of the tile that the station is on.
    """

    station: Square
    tile_number: int
    tiles: int


def shortest_routes(board: Board, network: Network) -> tuple[Route, ...]:
    """Return the route to the home for every linked station, by `y`, then `x`; searched once a map and home."""
    return board.once(("routes", network.home), lambda: _searched(board, network)) if network.linked else ()


def _searched(board: Board, network: Network) -> tuple[Route, ...]:
    plan, counts = board.plan, _counts(board, network)
    return tuple([Route(plan.squares[cell], plan.tile_numbers[cell], counts[cell]) for cell in sorted(counts)])


def _counts(board: Board, network: Network) -> dict[Cell, int]:
    """Follow routes from the home, those on fewer tiles first, and return on how many tiles each linked station is.

    `waiting` holds by that number where routes come to a die. Of a place `came` holds the smallest sets of tiles on
    which they came there: a route on more tiles than another one that came to the same place has nothing to offer.
    """
    plan, contents, exits = board.plan, board.contents, EXITS[board.plan.reversing]
    home, steps, tiles_of = plan.cell(network.home), plan.steps, plan.tile_sets
    counts: dict[Cell, int] = {}
    came: dict[Arrival, list[Tiles]] = {}
    waiting: list[list[tuple[Cell, Edge, Tiles]]] = [[] for _ in range(len(plan.tile_ids) + 1)]
    for cell, edge in first_arrivals(board, network.home):
        tiles = tiles_of[home] | tiles_of[cell]
        waiting[tiles.bit_count()].append((cell, edge, tiles))
        came[cell, edge] = [tiles]
    for todo in waiting:
        if len(counts) == len(network.linked):
            break
        while todo:
            cell, edge, tiles = todo.pop()
            for out, entry, _ in exits[contents[cell]][edge]:
                onward = cell + steps[out]
                if onward == home:
                    continue
                crossed = tiles | tiles_of[onward]
                count = crossed.bit_count()
                if contents[onward] == STATION:
                    counts[onward] = min(count, counts.get(onward, count))
                elif _is_news(crossed, came.setdefault((onward, entry), [])):
                    waiting[count].append((onward, entry, crossed))
    return counts


def _is_news(tiles: Tiles, smallest: list[Tiles]) -> bool:
    """Tell whether none of the `smallest` sets is part of `tiles`, which is then one of them."""
    for other in smallest:
        if not other & ~tiles:
            return False
    smallest.append(tiles)
    return True
