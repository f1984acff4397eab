"""What a seat may do now, in a compact form [Railroad Dice 2 6.3]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.commands import (
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceDie,
    PlaceGray,
    PlaceHome,
    PlaceTile,
    RestockAll,
    ReturnDice,
    RollDice,
    TakeComplex,
    Transport,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.vocabulary import Square


class TileOptions(msgspec.Struct, frozen=True):
    """Any of the tiles, at any of the squares, in any of the rotations."""

    tile_ids: tuple[str, ...]
    squares: tuple[Square, ...]
    rotations: tuple[int, ...]


class RollOption(msgspec.Struct, frozen=True):
    """Numbers of dice that may be rolled together."""

    simple: int
    complex: int


class PlacementOption(msgspec.Struct, frozen=True):
    """A face that may be placed on a square, for `cost` dollars.

    `rotation` is the smallest that gives these tracks. `links` are the stations that the placement would link to the
    seat anew, in the order of their income.
    """

    square: Square
    rotation: int
    face: str
    cost: int
    links: tuple[Square, ...] = ()


class DieOptions(msgspec.Struct, frozen=True):
    """What may be done with a die of the hand, beside returning it: place it, or restock one of the tiles with it."""

    die: int
    placements: tuple[PlacementOption, ...] = ()
    tile_ids: tuple[str, ...] = ()


class LocomotiveOption(msgspec.Struct, frozen=True):
    """The locomotive that may be bought."""

    value: int
    price: int


class TransportOption(msgspec.Struct, frozen=True):
    """A station that passengers may be carried from, across `tiles` tiles.

    Any of the locomotives, whose values are ascending, may carry 1 up to as many passengers as its value, but not more
    than the `passengers` beside the tile.
    """

    station: Square
    tile_id: str
    tiles: int
    passengers: int
    locomotives: tuple[int, ...]


class LegalCommands(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat now, complete.

    Options are empty or None where their commands are refused. Of rotations with the same tracks only the smallest is
    listed; the others are accepted too. `take_complex` is a dice action as `rolls` and `restock_all` are, `dice` are
    those of the hand that can be placed or used, `return_dice` those of which any number, at least one, may be
    returned. `Build` accepts what `PlaceDie` would accept step by step. `resign` is true until the seat has resigned
    or the game is over.
    """

    place_tile: TileOptions | None = None
    home_squares: tuple[Square, ...] = ()
    gray_squares: tuple[Square, ...] = ()
    rolls: tuple[RollOption, ...] = ()
    take_complex: tuple[PlacementOption, ...] = ()
    restock_all: bool = False
    dice: tuple[DieOptions, ...] = ()
    return_dice: tuple[int, ...] = ()
    buy_locomotive: LocomotiveOption | None = None
    transports: tuple[TransportOption, ...] = ()
    end_turn: bool = False
    resign: bool = False


def expand(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    """Yield, one by one, the commands that `legal` describes for `seat`, building in one go and resigning excepted.

    Of placements with the same tracks only one comes, and of dice to be returned each choice once, ascending.
    """
    yield from _set_up(legal, seat)
    yield from _dice_action(legal, seat)
    yield from _hand(legal, seat)
    if legal.buy_locomotive is not None:
        yield BuyLocomotive(seat, legal.buy_locomotive.value)
    for option in legal.transports:
        for locomotive in option.locomotives:
            for count in range(1, min(locomotive, option.passengers) + 1):
                yield Transport(seat, option.station, locomotive, count)
    if legal.end_turn:
        yield EndTurn(seat)


def _set_up(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    if legal.place_tile is not None:
        for tile_id in legal.place_tile.tile_ids:
            for square in legal.place_tile.squares:
                for rotation in legal.place_tile.rotations:
                    yield PlaceTile(seat, tile_id, square, rotation)
    for square in legal.home_squares:
        yield PlaceHome(seat, square)
    for square in legal.gray_squares:
        yield PlaceGray(seat, square)


def _dice_action(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    for roll in legal.rolls:
        yield RollDice(seat, roll.simple, roll.complex)
    for option in legal.take_complex:
        yield TakeComplex(seat, option.square, option.rotation, option.face)
    if legal.restock_all:
        yield RestockAll(seat)


def _hand(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    for die in legal.dice:
        for option in die.placements:
            yield PlaceDie(seat, die.die, option.square, option.rotation, option.face)
        for tile_id in die.tile_ids:
            yield UseLocomotive(seat, die.die, tile_id)
    for size in range(1, len(legal.return_dice) + 1):
        for dice in combinations(legal.return_dice, size):
            yield ReturnDice(seat, dice)
