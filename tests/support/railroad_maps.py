"""Lab maps of Railroad Dice 2, drawn as the game draws them, and single dice placed on them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import pytest

from promontory.games.kernel import Rejected, Seat
from promontory.games.railroad_dice_2.board import Board, Die, TrackFaces, empty_board, track_faces
from promontory.games.railroad_dice_2.component_file import load_components, shipped_data
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.drawing import GRAY, HOMES, drawing_of, glyph_of
from promontory.games.railroad_dice_2.network import Network, extended, network_of, new_links
from promontory.games.railroad_dice_2.placement import (
    LegalPlacement,
    check_placement,
    legal_placements,
    placement_cost,
)
from promontory.games.railroad_dice_2.plan import NO_SIGN, Piece, plan_from
from promontory.games.railroad_dice_2.vocabulary import Square

COMPONENTS: Components = load_components(shipped_data())
FACES: TrackFaces = track_faces(COMPONENTS)
A, B, C, D = range(4)
PLAIN = "."
TILE = 4
DICE: dict[str, Die] = {glyph_of(die): die for kind in FACES.assortments.values() for die in kind.dice}
"""By glyph."""
At = tuple[int, int]


class Laid(NamedTuple):
    """What placing a die led to: what it cost, and by seat the stations that it linked."""

    board: Board
    cost: int
    links: dict[Seat, list[At]]

    @property
    def drawing(self) -> str:
        """The map after it."""
        return drawing_of(self.board)


def drawn(text: str) -> str:
    """Return a map that is written indented, as the game draws it."""
    return textwrap.dedent(text).strip("\n")


def lab_map(text: str, *, terrain: Mapping[At, str] | None = None, reversing: bool = False) -> Board:
    """Return the map that `text` draws, on tiles of 4 x 4 squares in reading order.

    Under dice and stations there is plain; `terrain` gives squares another sign.
    """
    rows = drawn(text).splitlines()
    width = max(map(len, rows))
    grid = [list(row.ljust(width, NO_SIGN)) for row in rows]
    stations, dice = _lifted(grid)
    for (x, y), sign in (terrain or {}).items():
        grid[y][x] = sign
    board = empty_board(plan_from(_pieces(grid), COMPONENTS.terrain, reversing=reversing))
    for (x, y), sign in sorted(stations.items(), key=lambda item: (item[1] == GRAY, item[1])):
        board = board.with_station(Square(x, y), None if sign == GRAY else HOMES.index(sign))
    for (x, y), die in dice.items():
        board = board.with_die(Square(x, y), die)
    return board


def _lifted(grid: list[list[str]]) -> tuple[dict[At, str], dict[At, Die]]:
    """Take stations and dice off a drawn map and leave plain there."""
    stations: dict[At, str] = {}
    dice: dict[At, Die] = {}
    for y, row in enumerate(grid):
        for x, sign in enumerate(row):
            if sign in DICE:
                dice[x, y], row[x] = DICE[sign], PLAIN
            elif sign in {*HOMES, GRAY}:
                stations[x, y], row[x] = sign, PLAIN
    return stations, dice


def _pieces(grid: Sequence[Sequence[str]]) -> list[Piece]:
    """Cut a map into tiles: the first square in reading order that no tile covers is the north-west one of the next."""
    uncovered = [(x, y) for y, row in enumerate(grid) for x, sign in enumerate(row) if sign != NO_SIGN]
    pieces: list[Piece] = []
    while uncovered:
        x, y = uncovered[0]
        rows = tuple("".join(row[x : x + TILE]) for row in grid[y : y + TILE])
        pieces.append(Piece(f"T{len(pieces) + 1}", Square(x, y), rows))
        uncovered = [one for one in uncovered if not (0 <= one[0] - x < TILE and 0 <= one[1] - y < TILE)]
    return pieces


def networks(board: Board) -> dict[Seat, Network]:
    """Return the networks of all seats that have a home."""
    return {station.owner: network_of(board, station.square) for station in board.stations if station.owner is not None}


def linked(board: Board) -> dict[Seat, list[At]]:
    """Return by seat the stations that it is linked to, by `y`, then `x`."""
    return {seat: _points(network.linked) for seat, network in networks(board).items()}


def _points(squares: frozenset[Square] | tuple[Square, ...]) -> list[At]:
    return [(square.x, square.y) for square in sorted(squares, key=lambda square: (square.y, square.x))]


def place(board: Board, seat: Seat, face: str, rotation: int, *, at: At, money: int = 10) -> Laid:
    """Let a seat place a die; raises `Rejected` if it may not."""
    die, square = FACES.die(face, rotation), Square(*at)
    before = networks(board)
    check_placement(board, before[seat], die, square, money=money)
    after = board.with_die(square, die)
    new = {one: new_links(network, extended(network, after, square)) for one, network in before.items()}
    links = {one: _points(squares) for one, squares in new.items() if squares}
    return Laid(after, placement_cost(board, die, square), links)


def refusal(board: Board, seat: Seat, face: str, rotation: int, *, at: At, money: int = 10) -> str:
    """Return why a seat may not place a die."""
    with pytest.raises(Rejected) as refused:
        place(board, seat, face, rotation, at=at, money=money)
    return refused.value.reason


def placements(board: Board, seat: Seat, face: str, *, money: int = 10) -> tuple[LegalPlacement, ...]:
    """Return where a seat may place a die that shows `face`."""
    return legal_placements(board, networks(board)[seat], FACES, face=face, money=money)


def with_parts(components: Components, **parts: object) -> Components:
    """Return components with other parts."""
    return msgspec.structs.replace(components, **parts)
