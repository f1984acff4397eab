"""What track of Railroad Dice 2 is worth to a player: the stations it links, and how near it comes to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.board import COMPLEX, EMPTY, Board
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.network import Network, extended
from promontory.games.railroad_dice_2.placement import LegalPlacement
from promontory.games.railroad_dice_2.plan import OUTSIDE, Cell
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, Square

_LINK = 20.0
"""Dollars that a station once linked brings in the game, beside the income."""
_NEARER = 0.5
"""A link that still takes n dice is worth so much to the power of n."""
_UPGRADE = 2
"""A complex die on a simple one counts as so many dice."""
_NEVER = 40
"""More dice than any way takes."""


class Placing(NamedTuple):
    """A placement with the dollars it promises, its cost deducted."""

    gain: float
    placement: LegalPlacement


class Prospects:
    """What the network of `seat` promises, in dollars, and what placements would add to it; its home is placed."""

    def __init__(self, box: Box, state: State, seat: Seat) -> None:
        self._box, self._board, self._network = box, state.map, state.network(seat)
        income, others = box.components.money.connection_income, len(state.players) - 1
        self._worths = {
            station.square: _LINK + income - (0 if station.owner is None else income / others)
            for station in state.map.stations
            if station.owner != seat
        }
        unlinked = [square for square in self._worths if square not in self._network.linked]
        self._ways = {square: _dice_needed(state.map, square) for square in unlinked}
        self.worth = self._worth(self._network)

    def best(self, placements: Iterable[LegalPlacement]) -> Placing | None:
        """Return the first of the best placements, or None if none of them gains anything."""
        placings = [Placing(self._gain(placement), placement) for placement in placements]
        best = max(placings, key=lambda placing: placing.gain, default=None)
        return best if best is not None and best.gain > 0 else None

    def _gain(self, placement: LegalPlacement) -> float:
        die, square = self._box.faces.die(placement.face, placement.rotation), placement.square
        after = extended(self._network, self._board.with_die(square, die), square)
        lost = _UPGRADE - 1 if die.kind is DieKind.SIMPLE else _NEVER
        return self._worth(after, self._board.plan.cell(square), lost) - self.worth - placement.cost

    def _worth(self, network: Network, covered: Cell = OUTSIDE, lost: int = 0) -> float:
        """Return the worth of `network`; ways that begin on `covered` take `lost` dice more than before."""
        arrived = [cell for cell, edges in enumerate(network.arrivals) if edges and cell != covered]
        worth = sum(self._worths[station] for station in network.linked)
        for station, ways in self._ways.items():
            if station not in network.linked:
                by_cover = ways[covered] + lost
                nearest = min(by_cover, min(map(ways.__getitem__, arrived), default=by_cover))
                worth += self._worths[station] * _NEARER**nearest
        return worth


def _dice_needed(board: Board, station: Square) -> Sequence[int]:
    """Return by cell how many dice a way to `station` that begins there takes; `_NEVER` if there is none.

    Ways lead over empty squares and simple dice, whatever their faces.
    """
    steps, prices, needed = board.plan.steps, board.contents.translate(_PRICES), [_NEVER] * len(board.contents)
    waves: list[list[Cell]] = [[board.plan.cell(station)], *([] for _ in range(_NEVER))]
    for dice, wave in enumerate(waves):
        for cell in wave:
            for step in steps:
                onward = cell + step
                more = dice + prices[onward]
                if more < needed[onward]:
                    needed[onward] = more
                    waves[more].append(onward)
    return needed


_PRICES = bytes(1 if code == EMPTY else _UPGRADE if code < COMPLEX else _NEVER for code in range(256))
"""By what lies on a cell: how many dice it takes to lead a way over it."""
