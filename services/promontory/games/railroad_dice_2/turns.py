"""How turns end, and what the rules do for those who cannot or will not [Railroad Dice 2 4.6, 5.3]."""

from __future__ import annotations

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.commands import EndTurn, PlaceGray, PlaceHome, PlaceTile
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.ending import check_end, end_game, return_hand
from promontory.games.railroad_dice_2.events import TurnEnded, TurnStarted
from promontory.games.railroad_dice_2.layout import tile_squares, unlaid_tiles
from promontory.games.railroad_dice_2.locomotives import can_buy
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.stations import gray_squares, home_squares
from promontory.games.railroad_dice_2.transport import transport_options
from promontory.games.railroad_dice_2.vocabulary import EndReason, Phase

Automatic = PlaceTile | PlaceHome | PlaceGray | EndTurn


def end_turn(course: Course, *, auto: bool = False) -> None:
    """End the turn, and begin the next one unless the game is over; `auto` tells that the rules end it."""
    return_hand(course)
    stalled = 0 if course.turn.had_effect or course.state.phase is Phase.FINAL else course.state.stalled + 1
    check_end(course, stalled=stalled)
    state = course.state
    idle = _idle_after(state)
    course.happen(TurnEnded(state.turn.number, state.active, auto=auto, stalled=stalled, idle=idle))
    if idle == len(state.players):
        end_game(course, EndReason.IDLE_ROUND)
    else:
        course.happen(TurnStarted(state.turn.number + 1, state.next_seat))


def is_passed(box: Box, state: State) -> bool:
    """Tell whether the turn that has just begun leaves nothing to do, so that the rules end it [R-53]."""
    if state.phase is not Phase.FINAL or state.turn.had_effect or state.turn.number == state.triggered_turn:
        return False
    return not can_buy(box, state) and not transport_options(state)


def automatic_command(box: Box, state: State, seat: Seat) -> Automatic:
    """Return what is played for `seat`, whose turn it is but who is absent [R-59].

    The sheet has no default for the set-up: the first tile that does not lie goes to the first place unturned, stations
    to the first square.
    """
    components = box.components
    match state.phase:
        case Phase.LAYOUT:
            square = tile_squares(components, state.layout)[0]
            return PlaceTile(seat, unlaid_tiles(components, state.layout)[0], square, components.layouts.rotations[0])
        case Phase.HOMES:
            return PlaceHome(seat, home_squares(components, state.map)[0])
        case Phase.GRAYS:
            return PlaceGray(seat, gray_squares(components, state.map)[0])
        case _:
            return EndTurn(seat)


def _idle_after(state: State) -> int:
    """Return how many final turns in a row were idle; that of the trigger does not count [Railroad Dice 2 5.3]."""
    if state.phase is not Phase.FINAL or state.turn.had_effect or state.turn.number == state.triggered_turn:
        return 0
    return state.idle + 1
