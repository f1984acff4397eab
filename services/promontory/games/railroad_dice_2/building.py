"""Dice that are placed on the map, and what they earn [Railroad Dice 2 2.4, 2.5, 4.2, 4.3]."""

from __future__ import annotations

from collections.abc import Iterator

from promontory.games.kernel import Rejected, Seat
from promontory.games.railroad_dice_2.board import Board, Die
from promontory.games.railroad_dice_2.commands import Build, PlaceDie, Placement, TakeComplex
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.dice import check_dice_action, check_stock, hand_die
from promontory.games.railroad_dice_2.ending import check_end
from promontory.games.railroad_dice_2.events import ComplexTaken, DiePlaced, HandDie, IncomePaid, Linked
from promontory.games.railroad_dice_2.network import new_links
from promontory.games.railroad_dice_2.placement import check_placement, placement_cost
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, Phase, Square

_QUOTED_CHARACTERS = 64


def check_turn(state: State) -> None:
    """Raise `Rejected` unless dice may be used: not after the final phase has begun."""
    if state.phase is not Phase.TURN:
        raise Rejected("WRONG_PHASE", rule="Railroad Dice 2 6.1", phase=state.phase.value)


def place(course: Course, command: PlaceDie | Placement) -> None:
    """Place a die of the hand."""
    held = hand_die(course, command.die)
    face = command.face or held.face
    if face not in course.box.faces_of(held):
        quoted = face[:_QUOTED_CHARACTERS]
        raise Rejected("FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=held.die, face=quoted)
    die = course.box.faces.die(face, command.rotation)
    _check_placement(course, die, command.square)
    _lay(course, held.die, die, command.square)


def build(course: Course, command: Build) -> None:
    """Place dice one after the other; a refusal names the step, counted from 0 [Railroad Dice 2 6.2]."""
    for number, step in enumerate(command.steps):
        try:
            check_turn(course.state)
            place(course, step)
        except Rejected as refusal:
            raise Rejected(refusal.reason, rule=refusal.rule, **refusal.details, step=number) from refusal


def take_complex(course: Course, command: TakeComplex) -> None:
    """Place a complex die from the bank instead of rolling [R-15]."""
    check_dice_action(course)
    check_stock(course, simple=0, complex_=1)
    if command.face not in course.box.faces.of(DieKind.COMPLEX):
        quoted = command.face[:_QUOTED_CHARACTERS]
        raise Rejected("FACE_NOT_AVAILABLE", rule="R-15", face=quoted)
    die = course.box.faces.die(command.face, command.rotation)
    _check_placement(course, die, command.square)
    number = course.turn.next_die
    course.happen(ComplexTaken(command.seat, number, command.face))
    _lay(course, number, die, command.square)


def _check_placement(course: Course, die: Die, square: Square) -> None:
    check_placement(course.board, course.network, die, square, money=course.player.money)


def _lay(course: Course, number: int, die: Die, square: Square) -> None:
    """Let a die be placed, with all that follows in the order of [Railroad Dice 2 2.5]."""
    before, seat = course.state, course.seat
    returned = _returned(course, square)
    cost = placement_cost(course.board, die, square)
    course.happen(
        DiePlaced(
            seat,
            number,
            die.kind,
            die.face,
            rotation=die.rotation,
            square=square,
            cost=cost,
            returned=returned,
        )
    )
    links = list(_links(before, course.state))
    course.happen(*links)
    income = course.components.money.connection_income
    for link in links:
        if link.seat == seat:
            payees = _payees(course.board, seat, link.station)
            course.happen(*(IncomePaid(payee, link.station, income) for payee in payees))
    check_end(course)


def _returned(course: Course, square: Square) -> HandDie | None:
    """Return the simple die on `square` as it comes into the hand [R-20]."""
    old = course.board.die_at(square)
    return None if old is None else HandDie(course.turn.next_die, old.kind, old.face, fixed=True)


def _links(before: State, after: State) -> Iterator[Linked]:
    """Yield all new links: the builder's, then those of the other seats, which pay nobody [R-36]."""
    builder, seats = after.active, range(len(after.players))
    for seat in sorted(seats, key=lambda seat: seat != builder):
        for station in new_links(before.network(seat), after.network(seat)):
            yield Linked(seat, station, builder)


def _payees(board: Board, builder: Seat, square: Square) -> tuple[Seat, ...]:
    """Return who earns for the builder's link: it, and the player whose home it is [R-35]."""
    station = board.station_at(square)
    return (builder,) if station is None or station.owner is None else (builder, station.owner)
