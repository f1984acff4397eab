"""What a seat may do now, in a compact form [Railroad Dice 2 6.3]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, combinations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.box import Box
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
from promontory.games.railroad_dice_2.events import HandDie
from promontory.games.railroad_dice_2.layout import tile_squares, unlaid_tiles
from promontory.games.railroad_dice_2.locomotives import can_buy
from promontory.games.railroad_dice_2.placement import LegalPlacement, legal_placements
from promontory.games.railroad_dice_2.restocking import restocked_tiles
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.stations import gray_squares, home_squares
from promontory.games.railroad_dice_2.transport import TransportOption, transport_options
from promontory.games.railroad_dice_2.vocabulary import Phase, Square


class TileOptions(msgspec.Struct, frozen=True):
    """Any of the tiles, at any of the squares, in any of the rotations."""

    tile_ids: tuple[str, ...]
    squares: tuple[Square, ...]
    rotations: tuple[int, ...]


class RollOption(msgspec.Struct, frozen=True):
    """Numbers of dice that may be rolled together."""

    simple: int
    complex: int


class DieOptions(msgspec.Struct, frozen=True):
    """What may be done with a die of the hand, beside returning it: place it, or restock one of the tiles with it."""

    die: int
    placements: tuple[LegalPlacement, ...] = ()
    tile_ids: tuple[str, ...] = ()


class LocomotiveOption(msgspec.Struct, frozen=True):
    """The locomotive that may be bought."""

    value: int
    price: int


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
    take_complex: tuple[LegalPlacement, ...] = ()
    restock_all: bool = False
    dice: tuple[DieOptions, ...] = ()
    return_dice: tuple[int, ...] = ()
    buy_locomotive: LocomotiveOption | None = None
    transports: tuple[TransportOption, ...] = ()
    end_turn: bool = False
    resign: bool = False


def legal_commands(box: Box, state: State, seat: Seat) -> LegalCommands:
    """Return what `seat` may do in `state`; nothing at all once it has resigned or the game is over.

    Raises `ValueError` for a seat that does not exist.
    """
    if seat not in range(len(state.players)):
        raise ValueError(f"there is no seat {seat} in a game for {len(state.players)}")
    if state.phase is Phase.OVER or seat in state.resigned:
        return LegalCommands()
    if seat != state.active:
        return LegalCommands(resign=True)
    components = box.components
    match state.phase:
        case Phase.LAYOUT:
            return LegalCommands(place_tile=_tile_options(box, state), resign=True)
        case Phase.HOMES:
            return LegalCommands(home_squares=home_squares(components, state.map), resign=True)
        case Phase.GRAYS:
            return LegalCommands(gray_squares=gray_squares(components, state.map), resign=True)
        case _:
            return _in_turn(box, state)


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


def _tile_options(box: Box, state: State) -> TileOptions:
    components = box.components
    return TileOptions(
        unlaid_tiles(components, state.layout),
        tile_squares(components, state.layout),
        components.layouts.rotations,
    )


def _in_turn(box: Box, state: State) -> LegalCommands:
    """Return what the active seat may do in its turn; dice are for those before the final phase."""
    buy = LocomotiveOption(state.stack[0], box.price(state.stack[0])) if can_buy(box, state) else None
    transports = tuple(transport_options(state))
    if state.phase is Phase.FINAL:
        return LegalCommands(buy_locomotive=buy, transports=transports, end_turn=True, resign=True)
    hand, may_act = state.turn.hand, not state.turn.dice_action_used
    placements = _Placements(box, state)
    restocked = restocked_tiles(box.components, state)
    return LegalCommands(
        rolls=tuple(_rolls(box, state)) if may_act else (),
        take_complex=placements.of(box.faces.complex) if may_act and state.complex_dice else (),
        restock_all=may_act and bool(restocked),
        dice=tuple(_die_options(box, hand, placements, restocked)),
        return_dice=tuple(sorted([die.die for die in hand])),
        buy_locomotive=buy,
        transports=transports,
        end_turn=True,
        resign=True,
    )


class _Placements:
    """The legal placements of each face for the active seat, looked for once."""

    def __init__(self, box: Box, state: State) -> None:
        self._faces, self._board, self._network = box.faces, state.map, state.network(state.active)
        self._money = state.players[state.active].money
        self._found: dict[str, tuple[LegalPlacement, ...]] = {}

    def of(self, faces: Iterable[str]) -> tuple[LegalPlacement, ...]:
        """Return the placements of several faces, one face after the other."""
        return tuple(chain.from_iterable(map(self._of, faces)))

    def _of(self, face: str) -> tuple[LegalPlacement, ...]:
        found = self._found.get(face)
        if found is None:
            found = legal_placements(self._board, self._network, self._faces, face=face, money=self._money)
            self._found[face] = found
        return found


def _rolls(box: Box, state: State) -> Iterator[RollOption]:
    for roll in box.components.dice.combinations:
        if roll.simple <= state.simple_dice and roll.complex <= state.complex_dice:
            yield RollOption(roll.simple, roll.complex)


def _die_options(
    box: Box, hand: Iterable[HandDie], placements: _Placements, restocked: tuple[str, ...]
) -> Iterator[DieOptions]:
    for die in hand:
        options = DieOptions(die.die, placements.of(box.faces_of(die)), restocked if box.may_restock(die) else ())
        if options.placements or options.tile_ids:
            yield options
