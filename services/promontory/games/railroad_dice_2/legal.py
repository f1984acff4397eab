"""What a seat may do now, in a compact form [Railroad Dice 2 6.3]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.box import Box, RollOption
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
from promontory.games.railroad_dice_2.layout import tile_squares, unlaid_tiles
from promontory.games.railroad_dice_2.locomotives import can_buy
from promontory.games.railroad_dice_2.placement import LegalPlacement, all_placements, legal_placements
from promontory.games.railroad_dice_2.restocking import restocked_tiles
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.stations import gray_squares, home_squares
from promontory.games.railroad_dice_2.transport import TransportOption, transport_options
from promontory.games.railroad_dice_2.vocabulary import LOCOMOTIVE, QUESTION, DieKind, Phase, Square


class TileOptions(msgspec.Struct, frozen=True):
    """Any of the tiles, at any of the squares, in any of the rotations."""

    tile_ids: tuple[str, ...]
    squares: tuple[Square, ...]
    rotations: tuple[int, ...]


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
    if not 0 <= seat < len(state.players):
        raise ValueError(f"there is no seat {seat} in a game for {len(state.players)}")
    if state.phase is Phase.OVER or seat in state.resigned:
        return LegalCommands()
    if seat != state.active:
        return LegalCommands(resign=True)
    return _in_turn(box, state) if state.turn.number else _in_set_up(box, state)


def expand(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    """Return, one by one, the commands that `legal` describes for `seat`, building in one go and resigning excepted.

    Of placements with the same tracks only one comes, and of dice to be returned each choice once, ascending.
    """
    return chain(_set_up(legal, seat), _dice_action(legal, seat), _hand(legal, seat), _turn(legal, seat))


def _set_up(legal: LegalCommands, seat: Seat) -> Iterator[Command]:
    if legal.place_tile is not None:
        options = legal.place_tile
        for tile_id, square, rotation in product(options.tile_ids, options.squares, options.rotations):
            yield PlaceTile(seat, tile_id, square, rotation)
    for square in legal.home_squares:
        yield PlaceHome(seat, square)
    for square in legal.gray_squares:
        yield PlaceGray(seat, square)


def _dice_action(legal: LegalCommands, seat: Seat) -> list[Command]:
    commands: list[Command] = [RollDice(seat, roll.simple, roll.complex) for roll in legal.rolls]
    commands += [TakeComplex(seat, option.square, option.rotation, option.face) for option in legal.take_complex]
    if legal.restock_all:
        commands.append(RestockAll(seat))
    return commands


def _hand(legal: LegalCommands, seat: Seat) -> list[Command]:
    commands: list[Command] = []
    for die in legal.dice:
        number = die.die
        commands += [PlaceDie(seat, number, to.square, to.rotation, to.face) for to in die.placements]
        commands += [UseLocomotive(seat, number, tile_id) for tile_id in die.tile_ids]
    for size in range(1, len(legal.return_dice) + 1):
        commands += [ReturnDice(seat, dice) for dice in combinations(legal.return_dice, size)]
    return commands


def _turn(legal: LegalCommands, seat: Seat) -> list[Command]:
    commands: list[Command] = []
    if legal.buy_locomotive is not None:
        commands.append(BuyLocomotive(seat, legal.buy_locomotive.value))
    for option in legal.transports:
        for locomotive in option.locomotives:
            most = min(locomotive, option.passengers)
            commands += [Transport(seat, option.station, locomotive, count) for count in range(1, most + 1)]
    if legal.end_turn:
        commands.append(EndTurn(seat))
    return commands


def _tile_options(box: Box, state: State) -> TileOptions:
    components = box.components
    return TileOptions(
        unlaid_tiles(components, state.layout),
        tile_squares(components, state.layout),
        components.layouts.rotations,
    )


def _in_set_up(box: Box, state: State) -> LegalCommands:
    components = box.components
    match state.phase:
        case Phase.LAYOUT:
            return LegalCommands(place_tile=_tile_options(box, state), resign=True)
        case Phase.HOMES:
            return LegalCommands(home_squares=home_squares(components, state.map), resign=True)
        case _:
            return LegalCommands(gray_squares=gray_squares(components, state.map), resign=True)


def _in_turn(box: Box, state: State) -> LegalCommands:
    """Return what the active seat may do in its turn; dice are for those before the final phase."""
    buy = LocomotiveOption(state.stack[0], box.price(state.stack[0])) if can_buy(box, state) else None
    transports = transport_options(state)
    if state.phase is Phase.FINAL:
        return LegalCommands(buy_locomotive=buy, transports=transports, end_turn=True, resign=True)
    hand, may_act = state.turn.hand, not state.turn.dice_action_used
    return LegalCommands(
        rolls=_rolls(box, state) if may_act else (),
        take_complex=_placements(box, state, DieKind.COMPLEX, QUESTION) if may_act and state.complex_dice else (),
        restock_all=may_act and bool(restocked_tiles(box.components, state)),
        dice=_die_options(box, state) if hand else (),
        return_dice=tuple(sorted([die.die for die in hand])) if hand else (),
        buy_locomotive=buy,
        transports=transports,
        end_turn=True,
        resign=True,
    )


def _placements(box: Box, state: State, kind: DieKind, face: str) -> tuple[LegalPlacement, ...]:
    """Return the placements of a die that shows `face`, one track face after the other [Railroad Dice 2 4.3]."""
    if face == LOCOMOTIVE:
        return ()
    board, network, money = state.map, state.network(state.active), state.players[state.active].money
    if face == QUESTION:
        return all_placements(board, network, box.faces, kind=kind, money=money)
    return legal_placements(board, network, box.faces, face=face, money=money)


def _rolls(box: Box, state: State) -> tuple[RollOption, ...]:
    simple, complex_ = state.simple_dice, state.complex_dice
    return tuple([roll for roll in box.rolls if roll.simple <= simple and roll.complex <= complex_])


def _die_options(box: Box, state: State) -> tuple[DieOptions, ...]:
    options = [
        DieOptions(
            die.die,
            _placements(box, state, die.kind, die.face),
            restocked_tiles(box.components, state) if box.may_restock(die) else (),
        )
        for die in state.turn.hand
    ]
    return tuple([option for option in options if option.placements or option.tile_ids])
