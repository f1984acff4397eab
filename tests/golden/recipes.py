"""How the recorded matches were played: who sits where, and what each seat does at its turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import msgspec

from promontory.bots.registry import policy
from promontory.games import registry
from promontory.games.transcontinental.commands import DiscardCards, DrawCard, EndWork, Resign
from promontory.games.transcontinental.vocabulary import Phase, Source
from promontory.rules.domain import SeatKind, SeatSetup, Setup

Choose = Callable[[Any, Random], tuple[Any, ...]]
"""What a seat submits at once, given its view."""


class Recipe(msgspec.Struct, frozen=True):
    """A match: `seats` say what each seat submits; the first `automatic` commands of a house bot the service plays."""

    setup: Setup
    seats: tuple[Choose, Choose]
    automatic: int = 0


def one_by_one(name: str) -> Choose:
    """Return who plays the policy called `name`, each command as a submission of its own."""
    choose = policy(registry.game("transcontinental"), name)
    return lambda view, rng: (choose(view, rng),)


def giving_up(name: str, *, after_turn: int) -> Choose:
    """Return who plays as `one_by_one`, and resigns once turn `after_turn` is over."""
    choose = one_by_one(name)
    return lambda view, rng: (Resign(view.seat),) if view.turn > after_turn else choose(view, rng)


def idling(view: Any, rng: Random) -> tuple[Any, ...]:
    """Play a turn that melds nothing: at once, but for what comes after a card from the deck [fairness 3]."""
    rest = (EndWork(view.seat), DiscardCards(view.seat, view.hand_card_ids[:1]))
    if view.phase is not Phase.PLANNING:
        return rest
    if Source.DISCARD not in view.legal.draw_sources:
        return (DrawCard(view.seat, Source.DECK),)
    return (DrawCard(view.seat, Source.DISCARD), *rest)


ADA, BEN = SeatSetup("ada", client_entropy=b"golden ada"), SeatSetup("ben", client_entropy=b"golden ben")
HOUSE = SeatSetup("house-greedy-1", SeatKind.HOUSE_BOT, "greedy")
POOL = "transcontinental.ranked"

RECIPES: Mapping[str, Recipe] = {
    "points": Recipe(
        Setup((HOUSE, BEN), pool=POOL, rated=True), (one_by_one("greedy"), one_by_one("greedy")), automatic=3
    ),
    "resigned": Recipe(Setup((ADA, BEN), draw_start=True), (one_by_one("random"), giving_up("random", after_turn=16))),
    "no_progress": Recipe(Setup((ADA, BEN), pool=POOL, draw_start=True), (idling, idling)),
}
