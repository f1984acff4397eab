"""What a seat may do now, in a compact form [Pacific 3.7]."""

from __future__ import annotations

import msgspec

from promontory.games.pacific.decisions import Decision
from promontory.games.pacific.vocabulary import Area


class SlotChoice(msgspec.Struct, frozen=True):
    """Any choice of `count` different slots out of `slots`, `required` among them unless that is None."""

    slots: tuple[int, ...]
    count: int
    required: int | None = None


class LegalCommands(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat now.

    `setup_areas`: any two different ones, the first for the hotel; empty outside the set-up of a game for two.
    `put_out_card_ids` is empty and `choose` None outside the seat's phases; both are there, too, for a seat that has
    answered and may change its mind [P-4]. `decision` is the open one, whose question describes every legal answer
    completely; only `SteppedRun`, which leads to nothing better than `FactoryRun` [P-33], is to be tried out.
    """

    setup_areas: tuple[Area, ...] = ()
    put_out_card_ids: tuple[str, ...] = ()
    choose: SlotChoice | None = None
    decision: Decision | None = None
    set_explicit_runs: bool = False
    resign: bool = False
