"""The state of a game, and how events change it [Railroad Dice 2 6.5]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    Linked,
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
    """Return `state` after `event`."""
    return _EVOLVED[type(event)](box, state, event)


def _unchanged(_: Box, state: State, __: Linked) -> State:
    """Return `state`: a link tells what a placement did; the networks have it already."""
    return state


def _start_drawn(_: Box, state: State, event: StartPlayerDrawn) -> State:
    return replace(state, start_seat=event.seat, active=event.seat)


def _tile_placed(_: Box, state: State, event: TilePlaced) -> State:
    layout = (*state.layout, LaidTile(event.tile_id, event.square, event.rotation))
    active = state.active if event.seat is None else state.next_seat
    return replace(state, layout=layout, passengers=(0,) * len(layout), active=active)


def _layout_fixed(box: Box, state: State, event: LayoutFixed) -> State:
    layout = shifted(state.layout, event.shift)
    board = empty_board(plan_of(box.components, layout))
    return replace(state, phase=Phase.HOMES, active=state.start_seat, layout=layout, board=board)


def _home_placed(_: Box, state: State, event: HomePlaced) -> State:
    board = state.map.with_station(event.square, event.seat)
    players = _with(state.players, event.seat, network=network_of(board, event.square))
    phase = Phase.GRAYS if state.next_seat == state.start_seat else state.phase
    return replace(state, players=players, board=board, phase=phase, active=state.next_seat)


def _gray_placed(_: Box, state: State, event: GrayPlaced) -> State:
    players = _with(state.players, event.seat, grays_left=state.players[event.seat].grays_left - 1)
    return replace(state, players=players, board=state.map.with_station(event.square, None), active=state.next_seat)


def _grays_ended(_: Box, state: State, __: GrayPlacementEnded) -> State:
    return replace(state, players=tuple(replace(player, grays_left=0) for player in state.players))


def _turn_started(_: Box, state: State, event: TurnStarted) -> State:
    phase = Phase.TURN if state.phase is Phase.GRAYS else state.phase
    return replace(state, phase=phase, active=event.seat, turn=Turn(event.turn))


def _turn_ended(_: Box, state: State, event: TurnEnded) -> State:
    return replace(state, stalled=event.stalled, idle=event.idle)


def _rolled(_: Box, state: State, event: DiceRolled) -> State:
    turn, dice = state.turn, event.dice
    rolled = replace(turn, dice_action_used=True, hand=dice, next_die=turn.next_die + len(dice))
    return replace(_banked(state, dice, -1), rolls=event.number, turn=rolled)


def _taken(_: Box, state: State, event: ComplexTaken) -> State:
    turn, taken = state.turn, HandDie(event.die, DieKind.COMPLEX, event.face)
    rolled = replace(turn, dice_action_used=True, hand=(*turn.hand, taken), next_die=event.die + 1)
    return replace(_banked(state, (taken,), -1), turn=rolled)


def _returned(_: Box, state: State, event: DiceReturned) -> State:
    return _dropped(state, event.dice)


def _locomotive_used(_: Box, state: State, event: LocomotiveFaceUsed) -> State:
    return _dropped(state, (event.die,))


def _dropped(state: State, numbers: tuple[int, ...]) -> State:
    """Return `state` after dice of the hand went to the bank."""
    dice = [die for die in state.turn.hand if die.die in numbers]
    hand = tuple([die for die in state.turn.hand if die.die not in numbers])
    return replace(_banked(state, dice, 1), turn=replace(state.turn, hand=hand))


def _banked(state: State, dice: Iterable[HandDie], sign: int) -> State:
    kinds = [die.kind for die in dice]
    simple = kinds.count(DieKind.SIMPLE)
    complex_ = len(kinds) - simple
    return replace(
        state, simple_dice=state.simple_dice + sign * simple, complex_dice=state.complex_dice + sign * complex_
    )


def _die_placed(box: Box, state: State, event: DiePlaced) -> State:
    """Lay the die, let trains run on it, and take the one it replaced into the hand."""
    board = state.map.with_die(event.square, box.faces.die(event.face, event.rotation))
    players = tuple([_extended(player, board, event.square) for player in state.players])
    turn, next_die = state.turn, state.turn.next_die
    hand = [die for die in turn.hand if die.die != event.die]
    if event.returned is not None:
        hand.append(event.returned)
        next_die += 1
    turn = replace(turn, hand=tuple(hand), next_die=next_die, had_effect=True)
    return _paid(replace(state, players=players, board=board, turn=turn), event.seat, event.cost)


def _extended(player: Player, board: Board, square: Square) -> Player:
    """Return `player` with the network after a die was put on `square`."""
    if player.network is None:
        return player
    network = extended(player.network, board, square)
    return player if network is player.network else replace(player, network=network)


def _moved(_: Box, state: State, event: PassengersMoved) -> State:
    turn = replace(
        state.turn,
        stations_used=in_order({*state.turn.stations_used, event.station}),
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


def _restocked(_: Box, state: State, event: Restocked) -> State:
    used = state.turn.dice_action_used or event.cause is RestockCause.DICE_ACTION
    turn = replace(state.turn, dice_action_used=used, had_effect=True)
    return replace(_boarded(state, event.tiles), turn=turn)


def _placed_or_refilled(_: Box, state: State, event: PassengersPlaced | FinalRefill) -> State:
    return _boarded(state, event.tiles)


def _income_paid(_: Box, state: State, event: IncomePaid) -> State:
    return _paid(state, event.seat, -event.amount)


def _bought(_: Box, state: State, event: LocomotiveBought) -> State:
    seat, player, price = event.seat, state.players[event.seat], event.price
    locomotives = tuple(sorted((*player.locomotives, event.value)))
    return replace(
        state,
        players=_with(state.players, seat, locomotives=locomotives, money=player.money - price),
        bank=state.bank + price,
        stack=state.stack[1:],
        turn=replace(state.turn, had_effect=True),
    )


def _scrapped(_: Box, state: State, event: LocomotivesScrapped) -> State:
    players = tuple(
        replace(player, locomotives=tuple(other for other in player.locomotives if other != event.value))
        for player in state.players
    )
    return replace(state, players=players, has_scrapped=True)


def _triggered(_: Box, state: State, event: EndTriggered) -> State:
    return replace(state, phase=Phase.FINAL, triggers=event.reasons, triggered_turn=state.turn.number, idle=0)


def _resigned(_: Box, state: State, event: SeatResigned) -> State:
    return replace(state, resigned=(*state.resigned, event.seat))


def _over(_: Box, state: State, event: GameOver) -> State:
    return replace(state, phase=Phase.OVER, result=Result(event.reason, event.places))


def _paid(state: State, seat: Seat, amount: int) -> State:
    """Return `state` after a seat paid `amount` to the bank, or got it if that is negative."""
    if not amount:
        return state
    players = _with(state.players, seat, money=state.players[seat].money - amount)
    return replace(state, players=players, bank=state.bank + amount)


def _with(players: tuple[Player, ...], seat: Seat, **changes: Any) -> tuple[Player, ...]:
    """Return `players` with a changed one in `seat`."""
    return (*players[:seat], replace(players[seat], **changes), *players[seat + 1 :])


_EVOLVED: dict[type[Event], Callable[[Box, State, Any], State]] = {
    StartPlayerDrawn: _start_drawn,
    TilePlaced: _tile_placed,
    LayoutFixed: _layout_fixed,
    HomePlaced: _home_placed,
    GrayPlaced: _gray_placed,
    GrayPlacementEnded: _grays_ended,
    PassengersPlaced: _placed_or_refilled,
    TurnStarted: _turn_started,
    DiceRolled: _rolled,
    ComplexTaken: _taken,
    DiePlaced: _die_placed,
    Linked: _unchanged,
    IncomePaid: _income_paid,
    LocomotiveFaceUsed: _locomotive_used,
    Restocked: _restocked,
    DiceReturned: _returned,
    LocomotiveBought: _bought,
    LocomotivesScrapped: _scrapped,
    PassengersMoved: _moved,
    TurnEnded: _turn_ended,
    EndTriggered: _triggered,
    FinalRefill: _placed_or_refilled,
    SeatResigned: _resigned,
    GameOver: _over,
}
