"""The state of a game, and how events change it [Railroad Dice 2 6.5]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.board import Board, empty_board
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.components import LaidTile
from promontory.games.railroad_dice_2.events import (
    ComplexTaken,
    DiceReturned,
    DiceRolled,
    DiePlaced,
    EndTriggered,
    Event,
    FinalRefill,
    GameOver,
    GrayPlaced,
    GrayPlacementEnded,
    HandDie,
    HomePlaced,
    IncomePaid,
    LayoutFixed,
    LocomotiveBought,
    LocomotiveFaceUsed,
    LocomotivesScrapped,
    PassengersMoved,
    PassengersPlaced,
    Restocked,
    SeatResigned,
    StartPlayerDrawn,
    TilePassengers,
    TilePlaced,
    TurnEnded,
    TurnStarted,
)
from promontory.games.railroad_dice_2.layout import plan_of, shifted
from promontory.games.railroad_dice_2.network import Network, extended, in_order, network_of
from promontory.games.railroad_dice_2.vocabulary import (
    DieKind,
    EndReason,
    EndTrigger,
    Phase,
    RestockCause,
    Square,
)


class Player(msgspec.Struct, frozen=True):
    """What belongs to a seat: `locomotives` are ascending values, `network` is None before its home is placed."""

    money: int
    grays_left: int
    locomotives: tuple[int, ...] = ()
    network: Network | None = None

    @property
    def linked(self) -> frozenset[Square]:
        """The stations that trains from the own home can reach."""
        return frozenset() if self.network is None else self.network.linked


class Turn(msgspec.Struct, frozen=True):
    """The turn being played; `number` is 0 before the first one.

    `next_die` is the number that the next die to come into the hand gets. `had_effect` tells whether a die was placed,
    a locomotive bought, a passenger carried or a tile restocked [R-56].
    """

    number: int = 0
    dice_action_used: bool = False
    hand: tuple[HandDie, ...] = ()
    next_die: int = 1
    stations_used: tuple[Square, ...] = ()
    locomotives_used: tuple[int, ...] = ()
    had_effect: bool = False

    def die(self, number: int) -> HandDie | None:
        """Return the die of that number, if the hand holds it."""
        return next((die for die in self.hand if die.die == number), None)


class Result(msgspec.Struct, frozen=True):
    """How the game ended: every seat's place, from 1, shared if tied."""

    reason: EndReason
    places: tuple[int, ...]


class State(msgspec.Struct, frozen=True):
    """A game between two events.

    `layout` are the tiles in the order laid, `passengers` how many are beside each of them. `board` is None until the
    layout is fixed. `simple_dice` and `complex_dice` are those in the bank, `stack` the values of the locomotives to be
    bought, top first. `rolls` counts the rolls of the game; `stalled` and `idle` count turns as `TurnEnded` does.
    `triggered_turn` is the number of the turn in which the final phase began, 0 before. `resigned` are the seats that
    gave up, in that order.
    """

    players: tuple[Player, ...]
    bank: int
    simple_dice: int
    complex_dice: int
    stack: tuple[int, ...]
    phase: Phase = Phase.LAYOUT
    start_seat: Seat = 0
    active: Seat = 0
    layout: tuple[LaidTile, ...] = ()
    passengers: tuple[int, ...] = ()
    board: Board | None = None
    turn: Turn = Turn()
    has_scrapped: bool = False
    rolls: int = 0
    stalled: int = 0
    idle: int = 0
    triggers: tuple[EndTrigger, ...] = ()
    triggered_turn: int = 0
    resigned: tuple[Seat, ...] = ()
    result: Result | None = None

    @property
    def map(self) -> Board:
        """The board, which is there once the layout is fixed."""
        assert self.board is not None  # noqa: S101 - for the checker
        return self.board

    def network(self, seat: Seat) -> Network:
        """Return the network of a seat, which is there once its home is placed."""
        network = self.players[seat].network
        assert network is not None  # noqa: S101 - for the checker
        return network

    @property
    def next_seat(self) -> Seat:
        """The seat after the active one, clockwise."""
        return (self.active + 1) % len(self.players)

    @property
    def passengers_by_tile(self) -> dict[str, int]:
        """How many passengers are beside each tile, in the order laid."""
        return dict(zip((laid.tile_id for laid in self.layout), self.passengers, strict=True))


def initial_state(box: Box, seats: int) -> State:
    """Return the state of a game for so many players before anything happened."""
    components = box.components
    start_money = components.money.start_money
    player = Player(start_money, components.stations.gray_per_player[seats])
    return State(
        players=(player,) * seats,
        bank=components.money.bank_total - seats * start_money,
        simple_dice=components.dice.simple.count,
        complex_dice=components.dice.complex.count,
        stack=box.stack(seats),
    )


def evolve(box: Box, state: State, event: Event) -> State:
    """Return `state` after `event`; what happens most often is asked for first."""
    match event:
        case TurnStarted():
            phase = Phase.TURN if state.phase is Phase.GRAYS else state.phase
            return replace(state, phase=phase, active=event.seat, turn=Turn(event.turn))
        case TurnEnded():
            return replace(state, stalled=event.stalled, idle=event.idle)
        case PassengersMoved():
            return _moved(state, event)
        case DiePlaced():
            return _die_placed(box, state, event)
        case DiceRolled() | ComplexTaken() | DiceReturned() | LocomotiveFaceUsed():
            return _after_dice(state, event)
        case LocomotiveBought(seat, value, price):
            return _bought(state, seat, value, price=price)
        case Restocked(_, cause, tiles):
            return _in_turn(_boarded(state, tiles), cause)
        case IncomePaid(seat, _, amount):
            return _paid(state, seat, -amount)
        case TilePlaced() | LayoutFixed() | HomePlaced() | GrayPlaced() | GrayPlacementEnded() | StartPlayerDrawn():
            return _after_set_up(box, state, event)
        case _:
            return _after_rarer(state, event)


def _after_rarer(state: State, event: Event) -> State:
    match event:
        case LocomotivesScrapped(value):
            return _scrapped(state, value)
        case FinalRefill(tiles) | PassengersPlaced(tiles):
            return _boarded(state, tiles)
        case EndTriggered(reasons):
            return replace(state, phase=Phase.FINAL, triggers=reasons, triggered_turn=state.turn.number, idle=0)
        case SeatResigned(seat):
            return replace(state, resigned=(*state.resigned, seat))
        case GameOver(reason, _, places):
            return replace(state, phase=Phase.OVER, result=Result(reason, places))
        case _:  # `Linked` tells what a placement did; the networks have it already
            return state


def _after_set_up(box: Box, state: State, event: Event) -> State:
    match event:
        case StartPlayerDrawn(seat):
            return replace(state, start_seat=seat, active=seat)
        case TilePlaced(seat, tile_id, square, rotation):
            layout = (*state.layout, LaidTile(tile_id, square, rotation))
            active = state.active if seat is None else state.next_seat
            return replace(state, layout=layout, passengers=(0,) * len(layout), active=active)
        case LayoutFixed(shift):
            layout = shifted(state.layout, shift)
            board = empty_board(plan_of(box.components, layout))
            return replace(state, phase=Phase.HOMES, active=state.start_seat, layout=layout, board=board)
        case HomePlaced(seat, square):
            return _home_placed(state, seat, square)
        case GrayPlaced(seat, square):
            grays_left = state.players[seat].grays_left - 1
            players = _with(state.players, seat, grays_left=grays_left)
            return replace(state, players=players, board=state.map.with_station(square, None), active=state.next_seat)
        case _:
            return replace(state, players=tuple(replace(player, grays_left=0) for player in state.players))


def _home_placed(state: State, seat: Seat, square: Square) -> State:
    board = state.map.with_station(square, seat)
    players = _with(state.players, seat, network=network_of(board, square))
    phase = Phase.GRAYS if state.next_seat == state.start_seat else state.phase
    return replace(state, players=players, board=board, phase=phase, active=state.next_seat)


def _after_dice(state: State, event: Event) -> State:
    turn = state.turn
    match event:
        case DiceRolled(_, number, dice):
            rolled = replace(turn, dice_action_used=True, hand=dice, next_die=turn.next_die + len(dice))
            return replace(_banked(state, dice, -1), rolls=number, turn=rolled)
        case ComplexTaken(_, die, face):
            taken = (HandDie(die, DieKind.COMPLEX, face),)
            rolled = replace(turn, dice_action_used=True, hand=(*turn.hand, *taken), next_die=die + 1)
            return replace(_banked(state, taken, -1), turn=rolled)
        case DiceReturned(_, dice):
            return _dropped(state, dice)
        case LocomotiveFaceUsed(_, die):
            return _dropped(state, (die,))
        case _:
            return state


def _dropped(state: State, numbers: tuple[int, ...]) -> State:
    """Return `state` after dice of the hand went to the bank."""
    dice = [die for die in state.turn.hand if die.die in numbers]
    hand = tuple(die for die in state.turn.hand if die.die not in numbers)
    return replace(_banked(state, dice, 1), turn=replace(state.turn, hand=hand))


def _banked(state: State, dice: Iterable[HandDie], sign: int) -> State:
    kinds = [die.kind for die in dice]
    simple, complex_ = (sign * kinds.count(kind) for kind in DieKind)
    return replace(state, simple_dice=state.simple_dice + simple, complex_dice=state.complex_dice + complex_)


def _die_placed(box: Box, state: State, event: DiePlaced) -> State:
    """Lay the die, let trains run on it, and take the one it replaced into the hand."""
    board = state.map.with_die(event.square, box.faces.die(event.face, event.rotation))
    players = tuple(_extended(player, board, event.square) for player in state.players)
    hand = tuple(die for die in state.turn.hand if die.die != event.die)
    returned = () if event.returned is None else (event.returned,)
    turn = replace(state.turn, hand=(*hand, *returned), next_die=state.turn.next_die + len(returned), had_effect=True)
    return _paid(replace(state, players=players, board=board, turn=turn), event.seat, event.cost)


def _extended(player: Player, board: Board, square: Square) -> Player:
    """Return `player` with the network after a die was put on `square`."""
    if player.network is None:
        return player
    network = extended(player.network, board, square)
    return player if network is player.network else replace(player, network=network)


def _moved(state: State, event: PassengersMoved) -> State:
    turn = replace(
        state.turn,
        stations_used=in_order(frozenset((*state.turn.stations_used, event.station))),
        locomotives_used=tuple(sorted((*state.turn.locomotives_used, event.locomotive))),
        had_effect=True,
    )
    return replace(
        state,
        players=_with(state.players, event.seat, money=state.players[event.seat].money + event.count),
        passengers=_added(state, {event.tile_id: -event.count}),
        turn=turn,
    )


def _boarded(state: State, tiles: tuple[TilePassengers, ...]) -> State:
    """Return `state` after passengers came from the bank."""
    added = {tile.tile_id: tile.count for tile in tiles}
    return replace(state, passengers=_added(state, added), bank=state.bank - sum(added.values()))


def _added(state: State, added: dict[str, int]) -> tuple[int, ...]:
    """Return how many passengers are beside each tile after some came or went."""
    return tuple(
        [there + added.get(laid.tile_id, 0) for laid, there in zip(state.layout, state.passengers, strict=True)]
    )


def _in_turn(state: State, cause: RestockCause) -> State:
    used = state.turn.dice_action_used or cause is RestockCause.DICE_ACTION
    return replace(state, turn=replace(state.turn, dice_action_used=used, had_effect=True))


def _bought(state: State, seat: Seat, value: int, *, price: int) -> State:
    player = state.players[seat]
    locomotives = tuple(sorted((*player.locomotives, value)))
    return replace(
        state,
        players=_with(state.players, seat, locomotives=locomotives, money=player.money - price),
        bank=state.bank + price,
        stack=state.stack[1:],
        turn=replace(state.turn, had_effect=True),
    )


def _scrapped(state: State, value: int) -> State:
    players = tuple(
        replace(player, locomotives=tuple(other for other in player.locomotives if other != value))
        for player in state.players
    )
    return replace(state, players=players, has_scrapped=True)


def _paid(state: State, seat: Seat, amount: int) -> State:
    """Return `state` after a seat paid `amount` to the bank, or got it if that is negative."""
    if not amount:
        return state
    players = _with(state.players, seat, money=state.players[seat].money - amount)
    return replace(state, players=players, bank=state.bank + amount)


def _with(players: tuple[Player, ...], seat: Seat, **changes: Any) -> tuple[Player, ...]:
    """Return `players` with a changed one in `seat`."""
    return (*players[:seat], replace(players[seat], **changes), *players[seat + 1 :])
