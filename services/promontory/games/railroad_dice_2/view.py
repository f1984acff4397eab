"""A game as everybody may know it: nothing on the table is hidden [Railroad Dice 2 7.1]."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.events import HandDie
from promontory.games.railroad_dice_2.legal import LegalCommands
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, EndTrigger, Phase, Square


class Result(msgspec.Struct, frozen=True):
    """How the game ended: every seat's place, from 1, shared if tied."""

    reason: EndReason
    places: tuple[int, ...]


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

    `active` is the seat whose turn it is in any phase. `tiles` are in the order laid, `tile_ids` those not yet laid;
    `stations` in the order placed, `track` by `y`, then `x`. `stack` are the values of the locomotives to be bought,
    top first. `rolls` counts the rolls of the game, `stalled` and `idle` the turns as `TurnEnded` does. `triggers` are
    the reasons for the final phase, which began in turn number `triggered_turn`, 0 before.
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
    first_obsoleting_sold: bool
    turn: TurnView
    rolls: int
    stalled: int
    idle: int
    triggers: tuple[EndTrigger, ...]
    triggered_turn: int
    resigned: tuple[Seat, ...]
    legal: LegalCommands | None = None
    result: Result | None = None
