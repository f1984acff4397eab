"""The decider of Railroad Dice 2: what each command causes, and what forbids it [Railroad Dice 2 6]."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from promontory.games.kernel import Draws, Malformed, Outcome, Pile, Rejected, Seat
from promontory.games.railroad_dice_2.box import box_of
from promontory.games.railroad_dice_2.building import build, place, take_complex
from promontory.games.railroad_dice_2.commands import (
    Build,
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceDie,
    PlaceGray,
    PlaceHome,
    PlaceTile,
    Resign,
    RestockAll,
    ReturnDice,
    RollDice,
    TakeComplex,
    Transport,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.components import RULES_VERSION, Components, LayoutKind
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.dice import restock_all, return_dice, roll, use_locomotive
from promontory.games.railroad_dice_2.ending import end_game
from promontory.games.railroad_dice_2.events import DiceRolled, Event, SeatResigned, StartPlayerDrawn
from promontory.games.railroad_dice_2.legal import LegalCommands, legal_commands
from promontory.games.railroad_dice_2.locomotives import buy
from promontory.games.railroad_dice_2.set_up import begin, place_gray, place_home, place_tile
from promontory.games.railroad_dice_2.state import State, evolve, initial_state
from promontory.games.railroad_dice_2.transport import transport
from promontory.games.railroad_dice_2.turns import automatic_command, end_turn, is_passed
from promontory.games.railroad_dice_2.view import GameView, view_of
from promontory.games.railroad_dice_2.vocabulary import ROTATIONS, EndReason, Phase

MOST_STEPS = 4
"""How many dice one `Build` may place; a hand never holds more [Railroad Dice 2 4.3]."""

_PHASES: dict[type[Command], tuple[Phase, ...]] = {
    PlaceTile: (Phase.LAYOUT,),
    PlaceHome: (Phase.HOMES,),
    PlaceGray: (Phase.GRAYS,),
    BuyLocomotive: (Phase.TURN, Phase.FINAL),
    Transport: (Phase.TURN, Phase.FINAL),
    EndTurn: (Phase.TURN, Phase.FINAL),
}


class RailroadDice2:
    """The rules `railroad_dice_2/1`, played with one box; implements `promontory.games.kernel.Game`."""

    name = "railroad_dice_2"
    rules_version = RULES_VERSION

    def __init__(self, components: Components) -> None:
        self.box = box_of(components)
        self.data_hash = components.data_hash
        usual = components.layouts.default
        self.variants = (usual.value, *(layout.value for layout in LayoutKind if layout is not usual))
        self.seats = range(components.players.min, components.players.max + 1)

    def initial(self, seats: int) -> State:
        """Return the state before anything happened.

        Raises `ValueError` for a number of seats that the game is not for.
        """
        if seats not in self.seats:
            raise ValueError(f"a game for {self.seats.start} to {self.seats.stop - 1} seats, not {seats}")
        return initial_state(self.box, seats)

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return who starts, and the tiles of the layout `beginners`; in `variable` the players lay them.

        The start is drawn in every match [R-4], so `draw_start` changes nothing.
        """
        course = Course(self.box, state)
        begin(course, rng, LayoutKind(variant or self.variants[0]))
        return tuple(course.events)

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        """Return the events `command` causes up to the next decision.

        Raises `Rejected` with the first failing check in the order of [Railroad Dice 2 6.1].
        """
        _check(state, command)
        course = Course(self.box, state)
        _take(course, command, rng)
        self._settle(course)
        return tuple(course.events)

    def evolve(self, state: State, event: Event) -> State:
        """Return `state` after `event`."""
        return evolve(self.box, state, event)

    def to_act(self, state: State) -> tuple[Seat, ...]:
        """Return the active seat; empty once the game is over. Resigning is open to all."""
        return () if state.phase is Phase.OVER else (state.active,)

    def legal(self, state: State, seat: Seat) -> LegalCommands:
        """Return what `seat` may do now."""
        return legal_commands(self.box, state, seat)

    def view(self, state: State, seat: Seat | None) -> GameView:
        """Return `state` as `seat`, or a spectator (None), may know it, which is all of it."""
        return view_of(self.box, state, seat)

    def hidden(self, state: State) -> tuple[Pile, ...]:
        """Return nothing: all is public."""
        return ()

    def redact(self, state: State, event: Event, seat: Seat | None) -> Event:
        """Return `event`: all of it is public [R-57]."""
        return event

    def foreseeable(self, state: State, event: Event) -> bool:
        """Tell whether a seat could know `event` before it happens: it is not drawn."""
        return not isinstance(event, StartPlayerDrawn | DiceRolled)

    def repeatable(self, event: Event) -> bool:
        """Tell that no event can be caused without end: every command brings the game on."""
        return False

    def seat_of(self, command: Command) -> Seat:
        """Return the seat that gives `command`."""
        return command.seat

    def resign(self, seat: Seat) -> Command:
        """Return the command by which `seat` gives up."""
        return Resign(seat)

    def automatic(self, state: State, seat: Seat) -> Command:
        """Return the command played for `seat`, which is to act but absent [R-59]."""
        return automatic_command(self.box, state, seat)

    def period(self, state: State) -> Hashable:
        """Return the phase, the number of the turn, and before the first one what has been placed so far."""
        if state.turn.number:
            return state.phase, state.turn.number
        stations = tuple((player.grays_left, player.network is None) for player in state.players)
        return state.phase, len(state.layout), stations

    def scores(self, state: State) -> tuple[int, ...]:
        """Return each seat's money."""
        return tuple(player.money for player in state.players)

    def outcome(self, state: State) -> Outcome | None:
        """Return places and money by seat once the game is over."""
        if state.result is None:
            return None
        return Outcome(
            reason=state.result.reason.value,
            resigned=state.result.reason is EndReason.RESIGNATION,
            places=state.result.places,
            scores=self.scores(state),
        )

    def _settle(self, course: Course) -> None:
        """Go on until somebody who has not resigned can decide something, or the game is over."""
        while course.state.phase is not Phase.OVER:
            if is_passed(self.box, course.state):
                end_turn(course, auto=True)
            elif course.seat in course.state.resigned:
                _stand_in(course)
            else:
                return


def _stand_in(course: Course) -> None:
    """Act for the active seat, which has resigned [R-59]."""
    match automatic_command(course.box, course.state, course.seat):
        case PlaceTile() as command:
            place_tile(course, command)
        case PlaceHome() as command:
            place_home(course, command)
        case PlaceGray() as command:
            place_gray(course, command)
        case EndTurn():
            end_turn(course, auto=True)


def _take(course: Course, command: Command, rng: Draws) -> None:
    if isinstance(command, RollDice):
        roll(course, command, rng)
    else:
        _DEEDS[type(command)](course, command)


def _resign(course: Course, command: Resign) -> None:
    course.happen(SeatResigned(command.seat))
    if len(course.state.players) - len(course.state.resigned) == 1:
        end_game(course, EndReason.RESIGNATION)


def _check(state: State, command: Command) -> None:
    if state.phase is Phase.OVER:
        raise Rejected("MATCH_OVER", rule="Railroad Dice 2 5.3")
    if not 0 <= command.seat < len(state.players):
        raise Malformed("SEAT_OUT_OF_RANGE", rule="Railroad Dice 2 3.1", seat=command.seat)
    if command.seat in state.resigned:
        raise Rejected("SEAT_RESIGNED", rule="R-59")
    if isinstance(command, Resign):
        return
    if command.seat != state.active:
        raise Rejected("NOT_YOUR_TURN", rule="Railroad Dice 2 6.1", toAct=state.active)
    if state.phase not in _PHASES.get(type(command), (Phase.TURN,)):
        raise Rejected("WRONG_PHASE", rule="Railroad Dice 2 6.1", phase=state.phase.value)
    judge = _FORMS.get(type(command))
    field = "" if judge is None else judge(command)
    if field:
        raise Malformed("BAD_REQUEST", rule="Railroad Dice 2 6.2", field=field)


def _malformed_rotation(command: PlaceTile | TakeComplex | PlaceDie) -> str:
    return "" if command.rotation in ROTATIONS else "rotation"


def _malformed_steps(command: Build) -> str:
    if not 1 <= len(command.steps) <= MOST_STEPS:
        return "steps"
    turned = [step.rotation in ROTATIONS for step in command.steps]
    return "" if all(turned) else f"steps[{turned.index(False)}].rotation"


def _malformed_dice(command: ReturnDice) -> str:
    return "" if command.dice else "dice"


_FORMS: dict[type[Command], Callable[[Any], str]] = {
    PlaceTile: _malformed_rotation,
    TakeComplex: _malformed_rotation,
    PlaceDie: _malformed_rotation,
    Build: _malformed_steps,
    ReturnDice: _malformed_dice,
}
"""What returns the first field that makes no sense in any state, empty if all do."""

_DEEDS: dict[type[Command], Callable[[Course, Any], None]] = {
    PlaceTile: place_tile,
    PlaceHome: place_home,
    PlaceGray: place_gray,
    TakeComplex: take_complex,
    RestockAll: lambda course, _: restock_all(course),
    PlaceDie: place,
    Build: build,
    UseLocomotive: use_locomotive,
    ReturnDice: return_dice,
    BuyLocomotive: buy,
    Transport: transport,
    EndTurn: lambda course, _: end_turn(course),
    Resign: _resign,
}
"""What the commands do that draw nothing."""
