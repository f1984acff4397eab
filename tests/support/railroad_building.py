"""Random maps of Railroad Dice 2 on which random players place random dice, legally and with fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.board import Board, empty_board
from promontory.games.railroad_dice_2.components import Components, LaidTile
from promontory.games.railroad_dice_2.layout import (
    Layout,
    plan_of,
    shift_of,
    shifted,
    tile_squares,
    unlaid_tiles,
)
from promontory.games.railroad_dice_2.network import Network, extended, network_of
from promontory.games.railroad_dice_2.placement import LegalPlacement, legal_placements
from promontory.games.railroad_dice_2.stations import gray_squares, home_squares
from tests.support.railroad_maps import COMPONENTS, FACES, with_parts

PLACEMENTS = 45
REVERSING = with_parts(COMPONENTS, trains=replace(COMPONENTS.trains, reversing=True))


class Built(NamedTuple):
    """A placement: who made it, the map and all networks before it, and after it, kept up die by die."""

    seat: Seat
    placement: LegalPlacement
    before: Board
    networks_before: tuple[Network, ...]
    board: Board
    networks: tuple[Network, ...]


def random_layout(components: Components, random: Random) -> Layout:
    """Return a variable layout."""
    layout: Layout = ()
    while unlaid := unlaid_tiles(components, layout):
        square = random.choice(tile_squares(components, layout))
        layout = (*layout, LaidTile(random.choice(unlaid), square, random.choice(components.layouts.rotations)))
    return shifted(layout, shift_of(layout))


def random_map(components: Components, seats: int, random: Random) -> Board:
    """Return a map after set-up, in the beginners' layout or a variable one."""
    layout = random.choice([components.layouts.beginners, random_layout(components, random)])
    board = empty_board(plan_of(components, layout))
    for seat in range(seats):
        board = board.with_station(random.choice(home_squares(components, board)), seat)
    for _ in range(seats * components.stations.gray_per_player[seats]):
        if squares := gray_squares(components, board):
            board = board.with_station(random.choice(squares), None)
    return board


@cache
def built(seed: int, *, reversing: bool = False) -> tuple[Built, ...]:
    """Return a random building game of 2 to 4 players."""
    random = Random(seed)
    components = REVERSING if reversing else COMPONENTS
    seats = random.choice([2, 3, 4])
    return tuple(_building(random_map(components, seats, random), seats, random))


def _building(board: Board, seats: int, random: Random) -> Iterator[Built]:
    homes = [board.home_of(seat) for seat in range(seats)]
    networks = tuple(network_of(board, home) for home in homes if home)
    for turn in range(PLACEMENTS):
        seat = turn % seats
        legal = _legal(board, networks[seat], random)
        if not legal:
            continue
        placement = random.choice(legal)
        after = board.with_die(placement.square, FACES.die(placement.face, placement.rotation))
        grown = tuple(extended(network, after, placement.square) for network in networks)
        yield Built(seat, placement, board, networks, after, grown)
        board, networks = after, grown


def _legal(board: Board, network: Network, random: Random) -> list[LegalPlacement]:
    """Return the legal placements of a random kind of die: complex ones half of the time, if there are any."""
    kinds = random.sample([FACES.simple, FACES.complex], 2)
    for faces in kinds:
        legal = [one for face in faces for one in legal_placements(board, network, FACES, face=face, money=2)]
        if legal:
            return legal
    return []
