"""Passengers of Railroad Dice 2: what to carry, and what a restock or another locomotive brings a player."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.commands import Transport
from promontory.games.railroad_dice_2.legal import LocomotiveOption
from promontory.games.railroad_dice_2.transport import TransportOption
from promontory.games.railroad_dice_2.view import GameView, StationView
from promontory.games.railroad_dice_2.vocabulary import Phase

_STILL_TO_COME = 0.5
"""The share of the bank's money that becomes passengers."""
_SOONER = 0.1
"""Dollars that it is worth to have the sole use of a passenger now that may come later all the same."""


class Traffic:
    """What `seat` can make of the passengers that its view shows.

    Passengers beside a tile are taken to be carried in the end by those who are linked to it, as their locomotives can.
    """

    def __init__(self, box: Box, view: GameView, seat: Seat) -> None:
        self._box, self._view, self._seat = box, view, seat
        self._powers = [sum(player.locomotives) for player in view.players]

    def best_run(self, options: Iterable[TransportOption]) -> Transport | None:
        """Return the run that carries most, or None if there is none.

        Of equal ones it is that from which most others could carry, then the farthest, then of the slowest locomotive.
        """
        runs = [
            (min(locomotive, option.passengers), self._rivals(option.tile_id), option.tiles, -locomotive, option)
            for option in options
            for locomotive in option.locomotives
        ]
        if not runs:
            return None
        count, _, _, slowness, option = max(runs, key=lambda run: run[:4])
        return Transport(self._seat, option.station, -slowness, count)

    def restock(self, tile_ids: Iterable[str]) -> float:
        """Return the dollars that restocking the tiles is worth: more than none if others get less of it."""
        per_station = self._box.components.restocking.passengers_per_station
        equal = 1 / len(self._powers)
        return _SOONER * sum(
            per_station * len(self._stations(tile_id)) * (self._share(tile_id, self._powers) - equal)
            for tile_id in tile_ids
        )

    def pays(self, option: LocomotiveOption) -> bool:
        """Tell whether a locomotive brings more than it costs."""
        powers = self._powers_with(option.value)
        view = self._view
        if view.phase is Phase.FINAL:
            brings = sum(
                tile.passengers * (self._share(tile.tile_id, powers) - self._share(tile.tile_id, self._powers))
                for tile in view.tiles
            )
        else:
            passengers = sum(tile.passengers for tile in view.tiles) + _STILL_TO_COME * view.bank
            brings = passengers * (_part(powers, self._seat) - _part(self._powers, self._seat))
        return brings > option.price

    def _powers_with(self, value: int) -> Sequence[int]:
        """Return by seat what the locomotives can carry in a turn once the seat has bought another one [R-40]."""
        rules = self._box.components.locomotive_rules
        scraps = value == rules.first_bought and not self._view.has_scrapped
        powers = [
            power - scraps * rules.scrapped * player.locomotives.count(rules.scrapped)
            for power, player in zip(self._powers, self._view.players, strict=True)
        ]
        powers[self._seat] += value
        return powers

    def _share(self, tile_id: str, powers: Sequence[int]) -> float:
        """Return the share of the passengers beside a tile that the seat gets."""
        linked = [power if self._is_linked(seat, tile_id) else 0 for seat, power in enumerate(powers)]
        return _part(linked, self._seat)

    def _rivals(self, tile_id: str) -> int:
        return sum(self._is_linked(seat, tile_id) for seat in range(len(self._powers)) if seat != self._seat)

    def _is_linked(self, seat: Seat, tile_id: str) -> bool:
        linked = self._view.players[seat].linked
        return any(station.square in linked for station in self._stations(tile_id))

    def _stations(self, tile_id: str) -> Sequence[StationView]:
        return [station for station in self._view.stations if station.tile_id == tile_id]


def _part(powers: Sequence[int], seat: Seat) -> float:
    """Return the part of a seat in the whole, an equal one if there is nothing."""
    whole = sum(powers)
    return powers[seat] / whole if whole else 1 / len(powers)
