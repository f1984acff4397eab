"""How the game comes to its end: triggers, final refill, ranking [Railroad Dice 2 5]."""

from __future__ import annotations

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.components import EndConditions
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.events import (
    DiceReturned,
    EndTriggered,
    FinalRefill,
    GameOver,
    Restocked,
)
from promontory.games.railroad_dice_2.restocking import Amounts, restock_of_all
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import EndReason, EndTrigger, Phase, RestockCause


def check_end(course: Course, *, stalled: int = 0, unpaid: bool = False) -> None:
    """Begin the final phase if anything triggers it now [Railroad Dice 2 5.1].

    `stalled` counts the turns without effect at the end of a turn; `unpaid` tells that a restock could not be paid.
    """
    state = course.state
    if state.phase is not Phase.TURN:
        return
    triggers = _triggers(course.components.end, state, stalled=stalled, unpaid=unpaid)
    if triggers:
        return_hand(course)
        course.happen(EndTriggered(tuple(triggers)))
        course.happen(FinalRefill(restock_of_all(course.components, course.state)))


def return_hand(course: Course) -> None:
    """Let all dice of the hand return to the bank, if it holds any."""
    hand = course.turn.hand
    if hand:
        course.happen(DiceReturned(course.seat, tuple(die.die for die in hand)))


def restock(course: Course, cause: RestockCause, amounts: Amounts) -> None:
    """Restock tiles; if the bank cannot pay for it, the final refill takes its place [R-50]."""
    total = sum(amount.count for amount in amounts)
    unpaid = total > 0 and course.state.bank - total <= course.components.end.bank_left
    if total and not unpaid:
        course.happen(Restocked(course.seat, cause, amounts))
    check_end(course, unpaid=unpaid)


def end_game(course: Course, reason: EndReason) -> None:
    """Let the game be over as it stands."""
    money = tuple(player.money for player in course.state.players)
    course.happen(GameOver(reason, money, places(course.state)))


def places(state: State) -> tuple[int, ...]:
    """Return every seat's place [Railroad Dice 2 5.4]; those that resigned come last, the first to resign at the end.

    Most money, then most linked stations, then the best locomotive, then a shared place [R-55].
    """
    standings = [_standing(state, seat) for seat in range(len(state.players))]
    return tuple(1 + sum(other > own for other in standings) for own in standings)


def _standing(state: State, seat: Seat) -> tuple[int, ...]:
    if seat in state.resigned:
        return (state.resigned.index(seat) - len(state.players), 0, 0, 0)
    player = state.players[seat]
    return (0, player.money, len(player.linked), max(player.locomotives, default=0))


def _triggers(end: EndConditions, state: State, *, stalled: int, unpaid: bool) -> list[EndTrigger]:
    """Return what triggers the final phase, in the order of `EndTrigger`."""
    triggers: list[EndTrigger] = []
    if end.all_stations and _is_all_linked(state):
        triggers.append(EndTrigger.ALL_STATIONS)
    if unpaid or state.bank <= end.bank_left:
        triggers.append(EndTrigger.BANK_EMPTY)
    if not state.turn.hand:
        if state.complex_dice <= end.complex_dice_left:
            triggers.append(EndTrigger.COMPLEX_DICE)
        if state.simple_dice + state.complex_dice <= end.dice_left:
            triggers.append(EndTrigger.DICE)
    if end.stall_rounds and stalled >= end.stall_rounds * len(state.players):
        triggers.append(EndTrigger.STALL)
    return triggers


def _is_all_linked(state: State) -> bool:
    """Tell whether somebody is linked to every station but the own home [R-48]."""
    others = len(state.map.stations) - 1
    return others in [len(player.linked) for player in state.players]
