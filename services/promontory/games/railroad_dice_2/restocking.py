"""How many passengers come from the bank [Railroad Dice 2 3.5 and 4.7]."""

from __future__ import annotations

from collections.abc import Iterable

from promontory.games.railroad_dice_2.components import Components, RestockMode
from promontory.games.railroad_dice_2.events import TilePassengers
from promontory.games.railroad_dice_2.state import State

Amounts = tuple[TilePassengers, ...]


def first_passengers(components: Components, state: State) -> Amounts:
    """Return the passengers of the set-up, for tiles with stations in the order laid [R-11]."""
    worth = components.restocking.passengers_per_station
    return tuple(TilePassengers(tile_id, worth * count) for tile_id, count in _stations_by_tile(state).items() if count)


def restock_of(components: Components, state: State, tile_ids: Iterable[str]) -> Amounts:
    """Return what restocking these tiles adds; tiles that get nothing are not named [R-17]."""
    restocking = components.restocking
    stations, there = _stations_by_tile(state), state.passengers_by_tile
    amounts = {tile_id: restocking.passengers_per_station * stations[tile_id] for tile_id in tile_ids}
    if restocking.restock_mode is RestockMode.FILL:
        amounts = {tile_id: amount - there[tile_id] for tile_id, amount in amounts.items()}
    return tuple(TilePassengers(tile_id, amount) for tile_id, amount in amounts.items() if amount > 0)


def restock_of_all(components: Components, state: State) -> Amounts:
    """Return what restocking all tiles adds, in the order laid."""
    return restock_of(components, state, (laid.tile_id for laid in state.layout))


def is_restock_due(components: Components, state: State) -> bool:
    """Tell whether so many tiles are empty that all are restocked, or all that can be if they are fewer [R-47]."""
    restocking = components.restocking
    stations = _stations_by_tile(state)
    counted = [
        count
        for tile_id, count in state.passengers_by_tile.items()
        if stations[tile_id] or restocking.auto_restock_counts_bare_tiles
    ]
    return counted.count(0) >= min(restocking.auto_restock_empty_tiles, len(counted))


def station_tiles(state: State) -> tuple[str, ...]:
    """Return the tiles that have a station, in the order laid."""
    return tuple(tile_id for tile_id, count in _stations_by_tile(state).items() if count)


def _stations_by_tile(state: State) -> dict[str, int]:
    counts = {laid.tile_id: 0 for laid in state.layout}
    for station in state.map.stations:
        tile_id = state.map.plan.tile_at(station.square)
        if tile_id is not None:
            counts[tile_id] += 1
    return counts
