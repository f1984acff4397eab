"""Buying locomotives [Railroad Dice 2 4.4]."""

from __future__ import annotations

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.commands import BuyLocomotive
from promontory.games.railroad_dice_2.course import Course
from promontory.games.railroad_dice_2.ending import check_end
from promontory.games.railroad_dice_2.events import LocomotiveBought, LocomotivesScrapped
from promontory.games.railroad_dice_2.state import State


def can_buy(box: Box, state: State) -> bool:
    """Tell whether the active seat can pay for the top of the stack."""
    return bool(state.stack) and state.players[state.active].money >= box.price(state.stack[0])


def buy(course: Course, command: BuyLocomotive) -> None:
    """Buy the top of the stack; the first of a certain value takes smaller ones out of the game [R-40]."""
    state, value = course.state, command.value
    if not state.stack:
        raise Rejected("STACK_EMPTY", rule="Railroad Dice 2 4.4")
    if value != state.stack[0]:
        raise Rejected("NOT_TOP_OF_STACK", rule="Railroad Dice 2 4.4", top=state.stack[0])
    price = course.box.price(value)
    if not can_buy(course.box, state):
        raise Rejected("CANNOT_AFFORD", rule="Railroad Dice 2 4.4", cost=price, money=course.player.money)
    course.happen(LocomotiveBought(command.seat, value, price))
    rules = course.components.locomotive_rules
    if value == rules.first_bought and not state.has_scrapped:
        counts = tuple(player.locomotives.count(rules.scrapped) for player in course.state.players)
        course.happen(LocomotivesScrapped(rules.scrapped, counts))
    check_end(course)
