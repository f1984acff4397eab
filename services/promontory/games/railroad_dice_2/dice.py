"""Dice that are rolled, used as locomotives, or returned [Railroad Dice 2 4.2, 4.3, 4.7]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promontory.games.kernel import Draws, Rejected
from promontory.games.railroad_dice_2.commands import ReturnDice, RollDice, UseLocomotive
from promontory.games.railroad_dice_2.components import Combination
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.ending import check_end, restock
from promontory.games.railroad_dice_2.events import DiceReturned, DiceRolled, HandDie, LocomotiveFaceUsed
from promontory.games.railroad_dice_2.restocking import restock_of, restock_of_all, station_tiles
from promontory.games.railroad_dice_2.vocabulary import DieKind, RestockCause


def check_dice_action(course: Course) -> None:
    """Raise `Rejected` if the turn's dice action is used up."""
    if course.turn.dice_action_used:
        raise Rejected("DICE_ACTION_USED", rule="R-14")


def roll(course: Course, command: RollDice, rng: Draws) -> None:
    """Roll dice, simple ones first."""
    check_dice_action(course)
    simple, complex_ = command.simple, command.complex
    if Combination(simple, complex_) not in course.components.dice.combinations:
        raise Rejected("BAD_COMBINATION", rule="R-13", simple=simple, complex=complex_)
    check_stock(course, simple=simple, complex_=complex_)
    number = course.state.rolls + 1
    kinds = [DieKind.SIMPLE] * simple + [DieKind.COMPLEX] * complex_
    course.happen(DiceRolled(command.seat, number, tuple(_rolled(course, kinds, number, rng=rng))))


def check_stock(course: Course, *, simple: int, complex_: int) -> None:
    """Raise `Rejected` if the bank has fewer dice of a kind."""
    state = course.state
    for kind, asked, there in (
        (DieKind.SIMPLE, simple, state.simple_dice),
        (DieKind.COMPLEX, complex_, state.complex_dice),
    ):
        if asked > there:
            raise Rejected("NOT_ENOUGH_DICE", rule="Railroad Dice 2 4.2", kind=kind.value, left=there)


def restock_all(course: Course) -> None:
    """Restock all tiles instead of rolling."""
    check_dice_action(course)
    amounts = restock_of_all(course.components, course.state)
    if not amounts:
        raise Rejected("NO_EFFECT", rule="R-17")
    restock(course, RestockCause.DICE_ACTION, amounts)


def hand_die(course: Course, number: int) -> HandDie:
    """Return the die of the hand with that number, or raise `Rejected`."""
    die = course.turn.die(number)
    if die is None:
        raise Rejected("NO_SUCH_DIE", rule="Railroad Dice 2 4.3", die=number)
    return die


def use_locomotive(course: Course, command: UseLocomotive) -> None:
    """Restock a tile with a die [R-18]."""
    die = hand_die(course, command.die)
    if not course.box.may_restock(die):
        raise Rejected("FACE_NOT_AVAILABLE", rule="Railroad Dice 2 4.3", die=die.die, face="locomotive")
    if command.tile_id not in course.state.passengers_by_tile:
        raise Rejected("NO_SUCH_TILE", rule="Railroad Dice 2 4.3", tileId=command.tile_id[:64])
    if command.tile_id not in station_tiles(course.state):
        raise Rejected("NO_STATION_ON_TILE", rule="R-18", tileId=command.tile_id)
    amounts = restock_of(course.components, course.state, command.tile_id)
    if not amounts:
        raise Rejected("NO_EFFECT", rule="R-17", tileId=command.tile_id)
    course.happen(LocomotiveFaceUsed(command.seat, die.die, command.tile_id))
    restock(course, RestockCause.LOCOMOTIVE_FACE, amounts)


def return_dice(course: Course, command: ReturnDice) -> None:
    """Put dice of the hand back into the bank."""
    for place, number in enumerate(command.dice):
        hand_die(course, number)
        if number in command.dice[:place]:
            raise Rejected("NO_SUCH_DIE", rule="Railroad Dice 2 6.2", die=number)
    course.happen(DiceReturned(command.seat, command.dice))
    check_end(course)


def _rolled(course: Course, kinds: Iterable[DieKind], number: int, *, rng: Draws) -> Iterator[HandDie]:
    for index, kind in enumerate(kinds):
        faces = course.components.dice.of(kind).faces
        face = faces[rng.integer(len(faces), "roll", number, index)]
        yield HandDie(course.turn.next_die + index, kind, face)
