"""Setting the game up: tiles, homes, gray stations, the first passengers [Railroad Dice 2 3]."""

from __future__ import annotations

from promontory.games.kernel import Draws
from promontory.games.railroad_dice_2.commands import PlaceGray, PlaceHome, PlaceTile
from promontory.games.railroad_dice_2.components import LaidTile, LayoutKind
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.events import (
    GrayPlaced,
    GrayPlacementEnded,
    HomePlaced,
    LayoutFixed,
    PassengersPlaced,
    StartPlayerDrawn,
    TilePlaced,
    TurnStarted,
)
from promontory.games.railroad_dice_2.layout import check_tile, shift_of, unlaid_tiles
from promontory.games.railroad_dice_2.restocking import first_passengers
from promontory.games.railroad_dice_2.stations import check_gray, check_home, has_gray_squares
from promontory.games.railroad_dice_2.vocabulary import Phase


def begin(course: Course, rng: Draws, layout: LayoutKind) -> None:
    """Draw who starts [R-4], and lay the tiles of the beginners' layout if that is the one to play."""
    course.happen(StartPlayerDrawn(rng.integer(len(course.state.players), "start", 0, 0)))
    if layout is LayoutKind.BEGINNERS:
        tiles = course.components.layouts.beginners
        course.happen(*(TilePlaced(None, laid.tile_id, laid.square, laid.rotation) for laid in tiles))
        course.happen(LayoutFixed(shift_of(course.state.layout)))


def place_tile(course: Course, command: PlaceTile) -> None:
    """Lay a tile; the last one fixes the layout [Railroad Dice 2 3.2]."""
    laid = LaidTile(command.tile_id, command.square, command.rotation)
    check_tile(course.components, course.state.layout, laid)
    course.happen(TilePlaced(command.seat, command.tile_id, command.square, command.rotation))
    if not unlaid_tiles(course.components, course.state.layout):
        course.happen(LayoutFixed(shift_of(course.state.layout)))


def place_home(course: Course, command: PlaceHome) -> None:
    """Place a home [Railroad Dice 2 3.3]."""
    check_home(course.components, course.board, command.square)
    course.happen(HomePlaced(command.seat, command.square))
    if course.state.phase is Phase.GRAYS:
        _go_on_with_grays(course)


def place_gray(course: Course, command: PlaceGray) -> None:
    """Place a gray station [Railroad Dice 2 3.4]."""
    check_gray(course.components, course.board, command.square)
    course.happen(GrayPlaced(command.seat, command.square))
    _go_on_with_grays(course)


def _go_on_with_grays(course: Course) -> None:
    """Begin the first turn if all gray stations stand, or no more find a place [R-9]."""
    unplaced = sum(player.grays_left for player in course.state.players)
    if unplaced and has_gray_squares(course.components, course.board):
        return
    if unplaced:
        course.happen(GrayPlacementEnded(unplaced))
    course.happen(PassengersPlaced(first_passengers(course.components, course.state)))
    course.happen(TurnStarted(1, course.state.start_seat))
