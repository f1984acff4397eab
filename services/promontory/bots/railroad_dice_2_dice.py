"""What a player of Railroad Dice 2 does well to do with dice: the dice action, then the dice of the hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from promontory.bots.railroad_dice_2_prospects import Placing, Prospects
from promontory.bots.railroad_dice_2_traffic import Traffic
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.commands import (
    Command,
    PlaceDie,
    RestockAll,
    RollDice,
    TakeComplex,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.components import DieType
from promontory.games.railroad_dice_2.legal import LegalCommands
from promontory.games.railroad_dice_2.placement import LegalPlacement, legal_placements
from promontory.games.railroad_dice_2.restocking import station_tiles
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import LOCOMOTIVE, QUESTION, DieKind

_RETURNED = 0.5
"""What the simple die that a complex one brings back is worth, against one of average faces."""


class Choice(NamedTuple):
    """A command with the dollars it promises."""

    gain: float
    command: Command


class DiceChoices:
    """What the active seat of `state` may do with dice, each of which is tried out alone."""

    def __init__(self, box: Box, state: State, legal: LegalCommands, traffic: Traffic) -> None:
        self._box, self._state, self._seat = box, state, state.active
        self._legal, self._traffic = legal, traffic
        self._prospects = Prospects(box, state, state.active)

    def hand(self) -> Command | None:
        """Return the best use of a die of the hand, or None if nothing is gained by any."""
        return _best(self._uses())

    def _uses(self) -> Iterator[Choice]:
        for die in self._legal.dice:
            placing = self._prospects.best(die.placements)
            if placing is not None:
                gain, to = placing
                yield Choice(gain, PlaceDie(self._seat, die.die, to.square, to.rotation, to.face))
            for tile_id in die.tile_ids:
                yield Choice(self._traffic.restock([tile_id]), UseLocomotive(self._seat, die.die, tile_id))

    def action(self) -> Command | None:
        """Return the best dice action, or None if none promises anything."""
        return _best(self._actions())

    def _actions(self) -> Iterator[Choice]:
        """Yield the dice actions; a roll promises what its dice do on average, each alone."""
        placings = self._placings_by_face()
        dice = self._box.components.dice
        returned = _RETURNED * fmean(_gain(placings[face]) for face in self._box.faces.simple)
        simple = self._average(dice.simple, placings)
        complex_ = self._average(dice.complex, placings) + returned
        for roll in self._legal.rolls:
            gain = roll.simple * simple + roll.complex * complex_
            yield Choice(gain, RollDice(self._seat, roll.simple, roll.complex))
        for face in self._box.faces.complex:
            placing = placings[face]
            if placing is not None:
                gain, to = placing
                yield Choice(gain + returned, TakeComplex(self._seat, to.square, to.rotation, face))
        if self._legal.restock_all:
            yield Choice(self._traffic.restock(station_tiles(self._state)), RestockAll(self._seat))

    def _placings_by_face(self) -> Mapping[str, Placing | None]:
        """Return the best placement of a die with each track face."""
        simple = {face: self._simple_placements(face) for face in self._box.faces.simple}
        complex_ = {
            face: [option for option in self._legal.take_complex if option.face == face]
            for face in self._box.faces.complex
        }
        return {face: self._prospects.best(options) for face, options in {**simple, **complex_}.items()}

    def _simple_placements(self, face: str) -> Iterable[LegalPlacement]:
        state = self._state
        money = state.players[self._seat].money
        return legal_placements(state.map, state.network(self._seat), self._box.faces, face=face, money=money)

    def _average(self, die: DieType, placings: Mapping[str, Placing | None]) -> float:
        """Return what a die that is rolled promises."""
        restock = max(0.0, *(self._traffic.restock([tile_id]) for tile_id in station_tiles(self._state)))
        gains = {face: _gain(placing) for face, placing in placings.items()}
        gains[LOCOMOTIVE] = restock
        kind = DieKind.SIMPLE if die is self._box.components.dice.simple else DieKind.COMPLEX
        gains[QUESTION] = max(restock, *(gains[face] for face in self._box.faces.of(kind)))
        return fmean(gains[face] for face in die.faces)


def _gain(placing: Placing | None) -> float:
    return 0.0 if placing is None else placing.gain


def _best(choices: Iterable[Choice]) -> Command | None:
    """Return the command that promises most, the first of equals, or None if none promises anything."""
    best = max(choices, key=lambda choice: choice.gain, default=None)
    return best.command if best is not None and best.gain > 0 else None
