"""How many passengers come from the bank [Railroad Dice 2 3.5 and 4.7]."""

from __future__ import annotations

from itertools import compress

from promontory.games.railroad_dice_2.components import Components, RestockMode
from promontory.games.railroad_dice_2.events import TilePassengers
from promontory.games.railroad_dice_2.state import State

Amounts = tuple[TilePassengers, ...]


def first_passengers(components: Components, state: State) -> Amounts:
    """Return the passengers of the set-up, for tiles with stations in the order laid [R-11]."""
    worth = components.restocking.passengers_per_station
    return tuple(
        TilePassengers(laid.tile_id, worth * count)
        for laid, count in zip(state.layout, state.map.station_counts, strict=True)
        if count
    )


def restock_of(components: Components, state: State, tile_id: str) -> Amounts:
    """Return what restocking a tile adds, which may be nothing [R-17]."""
    return tuple(amount for amount in restock_of_all(components, state) if amount.tile_id == tile_id)


def restock_of_all(components: Components, state: State) -> Amounts:
    """Return what restocking all tiles adds, in the order laid; tiles that get nothing are not named [R-17]."""
    added = zip(state.layout, _added(components, state), strict=True)
    return tuple([TilePassengers(laid.tile_id, amount) for laid, amount in added if amount])


def restocked_tiles(components: Components, state: State) -> tuple[str, ...]:
    """Return the tiles that restocking adds to, in the order laid."""
    return tuple(compress(state.map.plan.tile_ids, _added(components, state)))


def _added(components: Components, state: State) -> list[int]:
    """Return for each tile, in the order laid, what restocking adds."""
    restocking = components.restocking
    worth, stations = restocking.passengers_per_station, state.map.station_counts
    if restocking.restock_mode is RestockMode.ADD:
        return [worth * count for count in stations]
    return [max(0, worth * count - there) for count, there in zip(stations, state.passengers, strict=True)]


def is_restock_due(components: Components, state: State) -> bool:
    """Tell whether so many tiles are empty that all are restocked, or all that can be if they are fewer [R-47]."""
    restocking = components.restocking
    counted = [
        there
        for there, stations in zip(state.passengers, state.map.station_counts, strict=True)
        if stations or restocking.auto_restock_counts_bare_tiles
    ]
    return counted.count(0) >= min(restocking.auto_restock_empty_tiles, len(counted))


def station_tiles(state: State) -> tuple[str, ...]:
    """Return the tiles that have a station, in the order laid."""
    return tuple(compress(state.map.plan.tile_ids, state.map.station_counts))
