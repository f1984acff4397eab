"""How far stations are: the tiles that the shortest route crosses [Railroad Dice 2 4.5]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from promontory.games.railroad_dice_2.board import OFF_MAP, STATION, Board
from promontory.games.railroad_dice_2.edges import EDGES, Edge, opposite
from promontory.games.railroad_dice_2.network import EXITS, Network
from promontory.games.railroad_dice_2.plan import Cell
from promontory.games.railroad_dice_2.vocabulary import Square

Tiles = int
"""A set of tiles: bit `n` for the tile with number `n` of the plan."""


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
    """Follow routes from the home, those on fewer tiles first."""
    plan, search = board.plan, _RouteSearch(board, network)
    for count in range(1, len(plan.tile_ids) + 1):
        if len(search.counts) == len(network.linked):
            break
        search.run(count)
    return tuple(
        Route(plan.squares[cell], plan.tile_numbers[cell], count) for cell, count in sorted(search.counts.items())
    )


class _RouteSearch:
    """Routes from one home, found in the order of the number of tiles they are on.

    `waiting` holds by that number where routes come to a die; `tiles` the smallest sets of tiles on which they came
    there. A route on more tiles than another one that came to the same place has nothing to offer.
    """

    def __init__(self, board: Board, network: Network) -> None:
        self.plan, self.contents = board.plan, board.contents
        self.home = board.plan.cell(network.home)
        self.counts: dict[Cell, int] = {}
        self.waiting: list[list[tuple[Cell, Edge, Tiles]]] = [[] for _ in range(len(board.plan.tile_ids) + 1)]
        self.tiles: dict[tuple[Cell, Edge], list[Tiles]] = {}
        ways = [edge for edge in EDGES if board.contents[self.home + board.plan.steps[edge]] not in (STATION, OFF_MAP)]
        self._leave(self.home, ways, 1 << board.plan.tile_numbers[self.home])

    def run(self, count: int) -> None:
        """Follow all routes on `count` tiles to their ends or to a further tile."""
        exits, contents = EXITS[self.plan.reversing], self.contents
        todo = self.waiting[count]
        while todo:
            cell, edge, tiles = todo.pop()
            self._leave(cell, exits[contents[cell]][edge], tiles)

    def _leave(self, cell: Cell, ways: Iterable[Edge], tiles: Tiles) -> None:
        """Go on from `cell`, to which a route on `tiles` came, through the edges `ways`."""
        for edge in ways:
            onward, entry = cell + self.plan.steps[edge], opposite(edge)
            crossed = tiles | 1 << self.plan.tile_numbers[onward]
            if self.contents[onward] == STATION:
                self._arrive(onward, crossed.bit_count())
                continue
            smallest = self.tiles.setdefault((onward, entry), [])
            if all(other & ~crossed for other in smallest):
                smallest.append(crossed)
                self.waiting[crossed.bit_count()].append((onward, entry, crossed))

    def _arrive(self, station: Cell, count: int) -> None:
        if station != self.home:
            self.counts[station] = min(count, self.counts.get(station, count))
