"""How far stations are: the tiles that the shortest route crosses [Railroad Dice 2 4.5]."""

from __future__ import annotations

from typing import NamedTuple

from promontory.games.railroad_dice_2.board import OFF_MAP, STATION, Board
from promontory.games.railroad_dice_2.edges import EDGES, Edge, opposite
from promontory.games.railroad_dice_2.network import EXITS, Network
from promontory.games.railroad_dice_2.plan import Cell
from promontory.games.railroad_dice_2.vocabulary import Square

Tiles = int
"""A set of tiles: bit `n` for the tile with number `n` of the plan."""


class Route(NamedTuple):
    """A shortest way from a home to `station`, across `tiles` different tiles; `tile_number` is its own one's."""

    station: Square
    tile_number: int
    tiles: int


def tile_counts(board: Board, network: Network) -> dict[Square, int]:
    """Return for every linked station the fewest different tiles of a route to the home, 1 or more [R-42] [R-43]."""
    return {route.station: route.tiles for route in shortest_routes(board, network)}


def shortest_routes(board: Board, network: Network) -> tuple[Route, ...]:
    """Return a shortest route for every linked station, by `y`, then `x`; searched once a board and home."""
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
        self.board = board
        self.home = board.plan.cell(network.home)
        self.counts: dict[Cell, int] = {}
        self.waiting: list[list[tuple[Cell, Edge, Tiles]]] = [[] for _ in range(len(board.plan.tile_ids) + 1)]
        self.tiles: dict[tuple[Cell, Edge], list[Tiles]] = {}
        for edge in EDGES:
            if board.contents[self.home + board.plan.steps[edge]] not in (STATION, OFF_MAP):
                self._leave(self.home, edge, 1 << board.plan.tile_numbers[self.home])

    def run(self, count: int) -> None:
        """Follow all routes on `count` tiles to their ends or to a further tile."""
        exits, contents = EXITS[self.board.plan.reversing], self.board.contents
        todo = self.waiting[count]
        while todo:
            cell, edge, tiles = todo.pop()
            for out in exits[contents[cell]][edge]:
                self._leave(cell, out, tiles)

    def _leave(self, cell: Cell, edge: Edge, tiles: Tiles) -> None:
        plan = self.board.plan
        onward, entry = cell + plan.steps[edge], opposite(edge)
        tiles |= 1 << plan.tile_numbers[onward]
        if self.board.contents[onward] == STATION:
            if onward != self.home:
                self._arrive(onward, tiles.bit_count())
            return
        smallest = self.tiles.setdefault((onward, entry), [])
        if all(other & ~tiles for other in smallest):
            smallest.append(tiles)
            self.waiting[tiles.bit_count()].append((onward, entry, tiles))

    def _arrive(self, station: Cell, count: int) -> None:
        self.counts[station] = min(count, self.counts.get(station, count))
