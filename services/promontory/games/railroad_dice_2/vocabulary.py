"""The words of Railroad Dice 2: phases, kinds of dice, reserved faces, squares, and why something happened.

Faces with track, tiles and terrain have the names that the data file gives them.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

LOCOMOTIVE = "locomotive"
"""The face that restocks a tile [Railroad Dice 2 4.3]."""
QUESTION = "question"
"""The face that stands for any other one [R-16]."""
ROTATIONS = (0, 1, 2, 3)
"""Quarter turns clockwise, of a die or a tile."""


class Square(msgspec.Struct, frozen=True, order=True):
    """A square of the map: `x` grows to the east, `y` to the south [Railroad Dice 2 1.1].

    Once the layout is fixed the smallest `x` and the smallest `y` are 0; before, both may be negative.
    """

    x: int
    y: int


class Phase(StrEnum):
    """What the game waits for [Railroad Dice 2 3.1]."""

    LAYOUT = "layout"
    HOMES = "homes"
    GRAYS = "grays"
    TURN = "turn"
    FINAL = "final"
    OVER = "over"


class DieKind(StrEnum):
    """The two kinds of dice [Railroad Dice 2 1.3]: simple ones are white, complex ones orange."""

    SIMPLE = "simple"
    COMPLEX = "complex"


class RestockCause(StrEnum):
    """Why passengers were added before the end was triggered [Railroad Dice 2 4.7]."""

    LOCOMOTIVE_FACE = "locomotive_face"
    DICE_ACTION = "dice_action"
    EMPTY_TILES = "empty_tiles"


class EndTrigger(StrEnum):
    """What brings on the final phase [Railroad Dice 2 5.1], in the order in which events list it."""

    ALL_STATIONS = "all_stations"
    BANK_EMPTY = "bank_empty"
    COMPLEX_DICE = "complex_dice"
    DICE = "dice"
    STALL = "stall"


class EndReason(StrEnum):
    """Why a game ended [Railroad Dice 2 5.3]."""

    NO_PASSENGERS = "no_passengers"
    IDLE_ROUND = "idle_round"
    RESIGNATION = "resignation"
