"""Carrying passengers home [Railroad Dice 2 4.5]."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import STATION
from promontory.games.railroad_dice_2.commands import Transport
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.ending import check_end, end_game, restock
from promontory.games.railroad_dice_2.events import PassengersMoved
from promontory.games.railroad_dice_2.restocking import is_restock_due, restock_of_all
from promontory.games.railroad_dice_2.routes import shortest_routes
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import EndReason, Phase, RestockCause, Square

_RULE = "Railroad Dice 2 4.5"


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


def transport_options(state: State) -> tuple[TransportOption, ...]:
    """Return all that the active seat may carry, by the `y`, then `x` of the station."""
    unused, passengers = _unused_locomotives(state), state.passengers
    if not unused or not any(passengers):
        return ()
    board, used, most = state.map, state.turn.stations_used, unused[-1]
    tile_ids = board.plan.tile_ids
    return tuple(
        [
            TransportOption(station, tile_ids[number], tiles, passengers[number], unused[bisect_left(unused, tiles) :])
            for station, number, tiles in shortest_routes(board, state.network(state.active))
            if tiles <= most and passengers[number] and station not in used
        ]
    )


def transport(course: Course, command: Transport) -> None:
    """Carry passengers; empty tiles may then be restocked, or the game be over [R-47, R-53]."""
    _check_station(course, command.station)
    _check_locomotive(course.state, command.locomotive)
    routes = shortest_routes(course.board, course.network)
    _, number, tiles = next(route for route in routes if route.station == command.station)
    _check_count(command, course.state.passengers[number])
    if tiles > command.locomotive:
        raise Rejected("TOO_FAR", rule="R-42", tiles=tiles, locomotive=command.locomotive)
    course.happen(
        PassengersMoved(
            command.seat,
            command.station,
            course.board.plan.tile_ids[number],
            command.locomotive,
            count=command.count,
            tiles=tiles,
        )
    )
    if course.state.phase is Phase.FINAL:
        if not any(course.state.passengers):
            end_game(course, EndReason.NO_PASSENGERS)
    elif is_restock_due(course.components, course.state):
        restock(course, RestockCause.EMPTY_TILES, restock_of_all(course.components, course.state))
    else:
        check_end(course)


def _unused_locomotives(state: State) -> tuple[int, ...]:
    """Return the values of which the active seat has a locomotive that has not run, ascending."""
    owned, used = state.players[state.active].locomotives, state.turn.locomotives_used
    if len(owned) < 2:
        return () if owned == used else owned
    if not used:
        return tuple(dict.fromkeys(owned))
    return tuple([value for value in dict.fromkeys(owned) if owned.count(value) > used.count(value)])


def _check_station(course: Course, square: Square) -> None:
    board, network = course.board, course.network
    if board.contents[board.plan.cell(square)] != STATION:
        raise Rejected("NO_SUCH_STATION", rule=_RULE, x=square.x, y=square.y)
    if square == network.home:
        raise Rejected("OWN_HOME", rule="R-45")
    if square not in network.linked:
        raise Rejected("NOT_LINKED", rule="R-45", x=square.x, y=square.y)
    if square in course.turn.stations_used:
        raise Rejected("STATION_USED", rule=_RULE, x=square.x, y=square.y)


def _check_locomotive(state: State, value: int) -> None:
    owned = state.players[state.active].locomotives.count(value)
    if not owned:
        raise Rejected("NO_SUCH_LOCOMOTIVE", rule=_RULE, locomotive=value)
    if owned <= state.turn.locomotives_used.count(value):
        raise Rejected("LOCOMOTIVE_USED", rule="R-44", locomotive=value)


def _check_count(command: Transport, passengers: int) -> None:
    count = command.count
    if count < 1:
        raise Rejected("BAD_COUNT", rule=_RULE, count=count)
    if count > command.locomotive:
        raise Rejected("OVER_CAPACITY", rule=_RULE, count=count, locomotive=command.locomotive)
    if count > passengers:
        raise Rejected("NOT_ENOUGH_PASSENGERS", rule=_RULE, count=count, passengers=passengers)
