"""A game as everybody may know it: nothing on the table is hidden [Railroad Dice 2 7.1]."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.events import HandDie
from promontory.games.railroad_dice_2.layout import unlaid_tiles
from promontory.games.railroad_dice_2.legal import LegalCommands, legal_commands
from promontory.games.railroad_dice_2.state import Player, Result, State
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndTrigger, Phase, Square


class TileView(msgspec.Struct, frozen=True):
    """A tile on the map: `square` is its north-west one, `rows` its terrain as it lies, row 0 in the north."""

    tile_id: str
    square: Square
    rotation: int
    rows: tuple[str, ...]
    passengers: int


class StationView(msgspec.Struct, frozen=True):
    """A station; `owner` is None for a gray one."""

    square: Square
    tile_id: str
    owner: Seat | None


class TrackView(msgspec.Struct, frozen=True):
    """A die on the map; `rotation` is the smallest that gives its tracks."""

    square: Square
    kind: DieKind
    face: str
    rotation: int


class PlayerView(msgspec.Struct, frozen=True):
    """What belongs to a seat.

    `locomotives` are ascending values. `home` is None before it is placed. `grays_left` are the gray stations still to
    be placed. `linked` are the stations that trains from the home can reach, by `y`, then `x`.
    """

    money: int
    locomotives: tuple[int, ...]
    home: Square | None
    grays_left: int
    linked: tuple[Square, ...]


class TurnView(msgspec.Struct, frozen=True):
    """The turn being played, empty before turn 1 and after the game.

    `next_die` is the number that the next die to come into the hand gets. `stations_used`, by `y`, then `x`, and
    `locomotives_used`, ascending, have run this turn. `had_effect` tells whether a die was placed, a locomotive
    bought, a passenger carried or a tile restocked in it.
    """

    number: int
    dice_action_used: bool
    hand: tuple[HandDie, ...]
    next_die: int
    stations_used: tuple[Square, ...]
    locomotives_used: tuple[int, ...]
    had_effect: bool


class GameView(msgspec.Struct, frozen=True):
    """A game as `seat`, or a spectator, may know it. A spectator's `seat` and `legal` are None.

    `active` is the seat whose turn it is in any phase. `tiles` are in the order laid, `tile_ids` those not yet laid.
    `stations` are in the order placed, `track` by `y`, then `x`. `stack` are the values of the locomotives to be
    bought, top first; `has_scrapped` tells whether the one that takes smaller ones out of the game has been sold
    [R-40]. `rolls` counts the rolls of the game, `stalled` and `idle` the turns as `TurnEnded` does. `triggers` are the
    reasons for the final phase, which began in turn number `triggered_turn`, 0 before.
    """

    seat: Seat | None
    phase: Phase
    start_seat: Seat
    active: Seat
    players: tuple[PlayerView, ...]
    tiles: tuple[TileView, ...]
    tile_ids: tuple[str, ...]
    stations: tuple[StationView, ...]
    track: tuple[TrackView, ...]
    bank: int
    simple_dice: int
    complex_dice: int
    stack: tuple[int, ...]
    has_scrapped: bool
    turn: TurnView
    rolls: int
    stalled: int
    idle: int
    triggers: tuple[EndTrigger, ...]
    triggered_turn: int
    resigned: tuple[Seat, ...]
    legal: LegalCommands | None = None
    result: Result | None = None


def view_of(box: Box, state: State, seat: Seat | None) -> GameView:
    """Return `state` as `seat`, or a spectator (None), may know it.

    Raises `ValueError` for a seat that does not exist.
    """
    turn, board = state.turn, state.board
    public = GameView(
        seat=None,
        phase=state.phase,
        start_seat=state.start_seat,
        active=state.active,
        players=tuple([_player_view(player) for player in state.players]),
        tiles=_tile_views(box, state),
        tile_ids=() if len(state.layout) == len(box.components.tiles) else unlaid_tiles(box.components, state.layout),
        stations=() if board is None else board.once("stations", lambda: _station_views(board)),
        track=() if board is None else board.once("track", lambda: _track_views(board)),
        bank=state.bank,
        simple_dice=state.simple_dice,
        complex_dice=state.complex_dice,
        stack=state.stack,
        has_scrapped=state.has_scrapped,
        turn=TurnView(
            turn.number,
            turn.dice_action_used,
            turn.hand,
            turn.next_die,
            stations_used=turn.stations_used,
            locomotives_used=turn.locomotives_used,
            had_effect=turn.had_effect,
        ),
        rolls=state.rolls,
        stalled=state.stalled,
        idle=state.idle,
        triggers=state.triggers,
        triggered_turn=state.triggered_turn,
        resigned=state.resigned,
        result=state.result,
    )
    return public if seat is None else replace(public, seat=seat, legal=legal_commands(box, state, seat))


def _player_view(player: Player) -> PlayerView:
    network = player.network
    return PlayerView(
        money=player.money,
        locomotives=player.locomotives,
        home=None if network is None else network.home,
        grays_left=player.grays_left,
        linked=() if network is None else network.links,
    )


def _tile_views(box: Box, state: State) -> tuple[TileView, ...]:
    return tuple(
        [
            TileView(laid.tile_id, laid.square, laid.rotation, box.rows[laid.tile_id, laid.rotation], passengers)
            for laid, passengers in zip(state.layout, state.passengers, strict=True)
        ]
    )


def _station_views(board: Board) -> tuple[StationView, ...]:
    plan = board.plan
    return tuple(
        [StationView(station.square, plan.tile_at(station.square) or "", station.owner) for station in board.stations]
    )


def _track_views(board: Board) -> tuple[TrackView, ...]:
    return tuple([TrackView(square, die.kind, die.face, die.rotation) for square, die in board.laid_dice()])
