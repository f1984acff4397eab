"""What a seat may want to do [Railroad Dice 2 6.1].

Rotations are quarter turns clockwise, 0 to 3. Dice of the hand are named by their numbers in the turn, from 1.
"""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.vocabulary import Square


class PlaceTile(msgspec.Struct, frozen=True):
    """Lay a tile, in the variable layout; `square` becomes its north-west one. The first tile goes to (0,0)."""

    seat: Seat
    tile_id: str
    square: Square
    rotation: int


class PlaceHome(msgspec.Struct, frozen=True):
    """Place the own home [Railroad Dice 2 3.3]."""

    seat: Seat
    square: Square


class PlaceGray(msgspec.Struct, frozen=True):
    """Place one of the own gray stations [Railroad Dice 2 3.4]."""

    seat: Seat
    square: Square


class RollDice(msgspec.Struct, frozen=True):
    """Roll so many dice of each kind, the turn's one dice action [R-13]."""

    seat: Seat
    simple: int
    complex: int


class TakeComplex(msgspec.Struct, frozen=True):
    """Place a complex die from the bank with any of its track faces, the turn's one dice action [R-15]."""

    seat: Seat
    square: Square
    rotation: int
    face: str


class RestockAll(msgspec.Struct, frozen=True):
    """Restock all tiles, the turn's one dice action [R-14]."""

    seat: Seat


class PlaceDie(msgspec.Struct, frozen=True):
    """Place a die of the hand; `face` may be left empty if the die shows a track face."""

    seat: Seat
    die: int
    square: Square
    rotation: int
    face: str = ""


class Placement(msgspec.Struct, frozen=True):
    """One step of `Build`; as in `PlaceDie`."""

    die: int
    square: Square
    rotation: int
    face: str = ""


class Build(msgspec.Struct, frozen=True):
    """Place 1 to 4 dice one after the other, all or none [Railroad Dice 2 6.2]."""

    seat: Seat
    steps: tuple[Placement, ...]


class UseLocomotive(msgspec.Struct, frozen=True):
    """Restock a tile with a die of the hand that shows a locomotive or `?`."""

    seat: Seat
    die: int
    tile_id: str


class ReturnDice(msgspec.Struct, frozen=True):
    """Put dice of the hand, at least one, back into the bank."""

    seat: Seat
    dice: tuple[int, ...]


class BuyLocomotive(msgspec.Struct, frozen=True):
    """Buy the top of the stack of locomotives, which must have this value."""

    seat: Seat
    value: int


class Transport(msgspec.Struct, frozen=True):
    """Carry `count` passengers from `station` to the own home with a locomotive of value `locomotive`."""

    seat: Seat
    station: Square
    locomotive: int
    count: int


class EndTurn(msgspec.Struct, frozen=True):
    """End the turn; dice left in the hand return to the bank."""

    seat: Seat


class Resign(msgspec.Struct, frozen=True):
    """Give the game up, at any time and on anybody's turn. The rules act for the seat from then on [R-59]."""

    seat: Seat


Command = (
    PlaceTile
    | PlaceHome
    | PlaceGray
    | RollDice
    | TakeComplex
    | RestockAll
    | PlaceDie
    | Build
    | UseLocomotive
    | ReturnDice
    | BuyLocomotive
    | Transport
    | EndTurn
    | Resign
)
