"""What is in the box, with what the rules look up in it."""

from __future__ import annotations

import msgspec

from promontory.games.railroad_dice_2.board import TrackFaces, track_faces
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.events import HandDie
from promontory.games.railroad_dice_2.layout import turned_rows
from promontory.games.railroad_dice_2.vocabulary import LOCOMOTIVE, QUESTION, ROTATIONS


class RollOption(msgspec.Struct, frozen=True):
    """Numbers of dice that may be rolled together."""

    simple: int
    complex: int


class Box(msgspec.Struct, frozen=True):
    """The components of a match, with what the rules look up.

    That are the track faces of its dice, the dollars for a locomotive of each value, what can be rolled, and the rows
    of terrain of each tile in each rotation.
    """

    components: Components
    faces: TrackFaces
    prices: dict[int, int]
    rolls: tuple[RollOption, ...]
    rows: dict[tuple[str, int], tuple[str, ...]]

    def faces_of(self, die: HandDie) -> tuple[str, ...]:
        """Return the track faces that a die of the hand may be placed with [Railroad Dice 2 4.3]."""
        if die.face == QUESTION:
            return self.faces.of(die.kind)
        return () if die.face == LOCOMOTIVE else (die.face,)

    def may_restock(self, die: HandDie) -> bool:
        """Tell whether a die of the hand may be used as a locomotive [R-16]."""
        if die.face == QUESTION:
            return self.components.dice.question_may_be_locomotive
        return die.face == LOCOMOTIVE

    def stack(self, seats: int) -> tuple[int, ...]:
        """Return the values of the locomotives for so many players, smallest first [Railroad Dice 2 1.5]."""
        removed = self.components.locomotive_rules.two_player_removed if seats == 2 else ()
        return tuple(
            kind.value
            for kind in sorted(self.components.locomotives, key=lambda kind: kind.value)
            for _ in range(kind.count - removed.count(kind.value))
        )

    def price(self, value: int) -> int:
        """Return the dollars that a locomotive of `value`, which the box has, costs."""
        return self.prices[value]


def box_of(components: Components) -> Box:
    """Return the box with these components."""
    prices = {kind.value: kind.price for kind in components.locomotives}
    rolls = tuple(RollOption(roll.simple, roll.complex) for roll in components.dice.combinations)
    rows = {(tile.id, turns): turned_rows(tile, turns) for tile in components.tiles for turns in ROTATIONS}
    return Box(components, track_faces(components), prices, rolls, rows)
