"""How map tiles lie: rotation, contact, and the plan they make together [Railroad Dice 2 1.2 and 3.2]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promontory.games.kernel import Malformed, Rejected
from promontory.games.railroad_dice_2.components import Components, LaidTile, Tile
from promontory.games.railroad_dice_2.plan import Piece, Plan, plan_from
from promontory.games.railroad_dice_2.vocabulary import Square

Layout = tuple[LaidTile, ...]
"""Tiles in the order in which they were laid."""
FIRST_SQUARE = Square(0, 0)


def turned_rows(tile: Tile, rotation: int) -> tuple[str, ...]:
    """Return the rows of a tile after `rotation` quarter turns clockwise."""
    rows = tile.rows
    for _ in range(rotation):
        rows = tuple("".join(column) for column in zip(*reversed(rows), strict=True))
    return rows


def inner_columns(size: int, *, borders_allowed: bool) -> range:
    """Return the columns, likewise the rows, of a tile whose squares may take stations [R-6]."""
    return range(size) if borders_allowed else range(1, size - 1)


def contact(one: Square, other: Square, *, size: int) -> int | None:
    """Return along how many square edges two tiles touch, or None if they overlap; squares are north-west ones."""
    dx, dy = abs(one.x - other.x), abs(one.y - other.y)
    if dx < size and dy < size:
        return None
    if dx == size:
        return max(0, size - dy)
    return max(0, size - dx) if dy == size else 0


def check_tile(components: Components, layout: Layout, laid: LaidTile) -> None:
    """Raise `Rejected` unless `laid` may be added to `layout`.

    In this order: NO_SUCH_TILE, BAD_REQUEST (rotation not in use, first tile not at (0,0)), OVERLAP,
    TOO_LITTLE_CONTACT [R-1].
    """
    if laid.tile_id not in unlaid_tiles(components, layout):
        raise Rejected("NO_SUCH_TILE", rule="Railroad Dice 2 3.2", tileId=laid.tile_id)
    if laid.rotation not in components.layouts.rotations:
        raise Malformed("BAD_REQUEST", rule="R-2", field="rotation")
    if not layout:
        if laid.square != FIRST_SQUARE:
            raise Malformed("BAD_REQUEST", rule="Railroad Dice 2 3.2", field="square")
        return
    contacts = _contacts(components, layout, laid.square)
    if None in contacts:
        overlapped = layout[contacts.index(None)].tile_id
        raise Rejected("OVERLAP", rule="Railroad Dice 2 1.2", overlappedTileId=overlapped)
    if not _is_enough(components, contacts):
        needed = components.layouts.min_total_contact
        raise Rejected("TOO_LITTLE_CONTACT", rule="R-1", contact=sum(filter(None, contacts)), needed=needed)


def _contacts(components: Components, layout: Layout, square: Square) -> list[int | None]:
    return [contact(square, laid.square, size=components.map_tiles.size) for laid in layout]


def _is_enough(components: Components, contacts: Iterable[int | None]) -> bool:
    borders = [edges for edges in contacts if edges]
    rules = components.layouts
    return sum(borders) >= rules.min_total_contact and min(borders, default=0) >= rules.min_pair_contact


def tile_squares(components: Components, layout: Layout) -> tuple[Square, ...]:
    """Return where the north-west square of a next tile may come, whichever tile and rotation, by `y`, then `x`."""
    if not layout:
        return (FIRST_SQUARE,)
    return tuple(square for square in _around(components, layout) if _has_room(components, layout, square))


def _around(components: Components, layout: Layout) -> Iterator[Square]:
    size = components.map_tiles.size
    xs, ys = [laid.square.x for laid in layout], [laid.square.y for laid in layout]
    for y in range(min(ys) - size, max(ys) + size + 1):
        for x in range(min(xs) - size, max(xs) + size + 1):
            yield Square(x, y)


def _has_room(components: Components, layout: Layout, square: Square) -> bool:
    contacts = _contacts(components, layout, square)
    return None not in contacts and _is_enough(components, contacts)


def unlaid_tiles(components: Components, layout: Layout) -> tuple[str, ...]:
    """Return the ids of the tiles that do not lie yet, in the order of the component file."""
    laid = {one.tile_id for one in layout}
    return tuple(tile.id for tile in components.tiles if tile.id not in laid)


def shift_of(layout: Layout) -> Square:
    """Return what to add to all squares to make the smallest `x` and the smallest `y` 0."""
    return Square(-min(laid.square.x for laid in layout), -min(laid.square.y for laid in layout))


def shifted(layout: Layout, shift: Square) -> Layout:
    """Return the layout with `shift` added to all squares."""
    return tuple(
        LaidTile(laid.tile_id, Square(laid.square.x + shift.x, laid.square.y + shift.y), laid.rotation)
        for laid in layout
    )


def plan_of(components: Components, layout: Layout) -> Plan:
    """Return the map that the tiles of a layout make whose smallest `x` and `y` are 0."""
    return plan_from(_pieces(components, layout), components.terrain, reversing=components.trains.reversing)


def _pieces(components: Components, layout: Iterable[LaidTile]) -> Iterator[Piece]:
    tiles = {tile.id: tile for tile in components.tiles}
    for laid in layout:
        yield Piece(laid.tile_id, laid.square, turned_rows(tiles[laid.tile_id], laid.rotation))
