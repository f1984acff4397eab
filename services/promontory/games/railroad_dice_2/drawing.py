"""The map as text, a sign for each square [Railroad Dice 2 2.1]."""

from __future__ import annotations

from collections.abc import Iterator

from promontory.games.railroad_dice_2.board import Board, Die
from promontory.games.railroad_dice_2.edges import EDGE_NAMES, Tracks, tracks_of
from promontory.games.railroad_dice_2.plan import NO_SIGN
from promontory.games.railroad_dice_2.vocabulary import Square

HOMES = "ABCD"
"""By seat."""
GRAY = "g"
OTHER_DIE = "*"
"""A die whose tracks have no glyph; there is none in the shipped component file."""

_PAIRS_OF_GLYPHS = {
    "│": "NS",
    "─": "EW",
    "└": "NE",
    "┌": "ES",
    "┐": "SW",
    "┘": "WN",
    "┼": "NS EW",
    "X": "NE SW",
    "Z": "ES NW",
    "1": "SN SE",
    "2": "SN SW",
    "3": "WE WS",
    "4": "WE WN",
    "5": "NS NW",
    "6": "NS NE",
    "7": "EW EN",
    "8": "EW ES",
    "m": "SE SW",
    "n": "WS WN",
    "o": "NW NE",
    "p": "EN ES",
}


def _tracks(pairs: str) -> Tracks:
    return tracks_of((EDGE_NAMES.index(pair[0]), EDGE_NAMES.index(pair[1])) for pair in pairs.split())


GLYPHS: dict[Tracks, str] = {_tracks(pairs): glyph for glyph, pairs in _PAIRS_OF_GLYPHS.items()}


def drawing_of(board: Board) -> str:
    """Return the map, a line for each row: glyphs for dice, A to D for homes, `g` for gray stations, terrain signs."""
    return "\n".join("".join(_row(board, y)).rstrip(NO_SIGN) for y in range(board.plan.height))


def _row(board: Board, y: int) -> Iterator[str]:
    for x in range(board.plan.width):
        yield _sign(board, Square(x, y))


def _sign(board: Board, square: Square) -> str:
    die, station = board.die_at(square), board.station_at(square)
    if die is not None:
        return glyph_of(die)
    if station is not None:
        return GRAY if station.owner is None else HOMES[station.owner]
    return board.plan.sign_at(square)


def glyph_of(die: Die) -> str:
    """Return the sign for a die, which shows its tracks."""
    return GLYPHS.get(die.tracks, OTHER_DIE)
