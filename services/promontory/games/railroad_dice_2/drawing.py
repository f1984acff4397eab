"""The map as text, a sign for each square [Railroad Dice 2 2.1], and all else that lies on the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from promontory.games.railroad_dice_2.board import Board, Die, TrackFaces
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.edges import EDGE_NAMES, Tracks, pairs_of, tracks_of
from promontory.games.railroad_dice_2.events import HandDie
from promontory.games.railroad_dice_2.plan import NO_SIGN
from promontory.games.railroad_dice_2.view import GameView, TileView, TrackView
from promontory.games.railroad_dice_2.vocabulary import DieKind, Phase, Square
from promontory.games.text import counted, joined, listed, seats_in_words, table, words

HOMES = "ABCD"
"""By seat."""
GRAY = "g"
OTHER_DIE = "*"
"""A die whose tracks have no glyph; there is none in the shipped component file."""

_PAIRS_OF_GLYPHS = {
    "│": "NS",
    "─": "EW",
    "└": "NE",
    "┌": "ES",
    "┐": "SW",
    "┘": "WN",
    "┼": "NS EW",
    "X": "NE SW",
    "Z": "ES NW",
    "1": "SN SE",
    "2": "SN SW",
    "3": "WE WS",
    "4": "WE WN",
    "5": "NS NW",
    "6": "NS NE",
    "7": "EW EN",
    "8": "EW ES",
    "m": "SE SW",
    "n": "WS WN",
    "o": "NW NE",
    "p": "EN ES",
}


def _tracks(pairs: str) -> Tracks:
    return tracks_of((EDGE_NAMES.index(pair[0]), EDGE_NAMES.index(pair[1])) for pair in pairs.split())


GLYPHS: dict[Tracks, str] = {_tracks(pairs): glyph for glyph, pairs in _PAIRS_OF_GLYPHS.items()}


def drawing_of(board: Board) -> str:
    """Return the map, a line for each row: glyphs for dice, A to D for homes, `g` for gray stations, terrain signs."""
    return "\n".join("".join(_row(board, y)).rstrip(NO_SIGN) for y in range(board.plan.height))


def _row(board: Board, y: int) -> Iterator[str]:
    for x in range(board.plan.width):
        yield _sign(board, Square(x, y))


def _sign(board: Board, square: Square) -> str:
    die, station = board.die_at(square), board.station_at(square)
    if die is not None:
        return glyph_of(die)
    if station is not None:
        return GRAY if station.owner is None else HOMES[station.owner]
    return board.plan.sign_at(square)


def glyph_of(die: Die) -> str:
    """Return the sign for a die, which shows its tracks."""
    return GLYPHS.get(die.tracks, OTHER_DIE)


def draw(game: RailroadDice2, view: GameView) -> str:
    """Return `view`, a seat's or a spectator's, as lines for people to read."""
    lines = [_title(view), "", *_map(game.box.faces, view), *_legend(game.box, view), ""]
    lines += [*table("<<>>><<", _players(view)), "", *_tiles(game.box, view), *_bank(game.box, view)]
    lines += _turn(view)
    return "\n".join(lines)


def _title(view: GameView) -> str:
    if view.result is not None:
        winners = [seat for seat, place in enumerate(view.result.places) if place == 1]
        return f"over ({words(view.result.reason)}): won by {seats_in_words(winners)}"
    doing = _DOING.get(view.phase, f"turn {view.turn.number}")
    since = f", final phase since turn {view.triggered_turn}" if view.phase is Phase.FINAL else ""
    return f"{doing}{since}: seat {view.active} to act{_why(view)}"


_DOING = {
    Phase.LAYOUT: "laying the map",
    Phase.HOMES: "placing homes",
    Phase.GRAYS: "placing gray stations",
}


def _why(view: GameView) -> str:
    """Return what brought on the final phase, and how near the end is."""
    if view.phase is not Phase.FINAL:
        return f"; {counted(view.stalled, 'turn')} in a row without effect" if view.stalled else ""
    idle = f"; {counted(view.idle, 'turn')} in a row without purchase and transport" if view.idle else ""
    return f" (brought on by {joined(map(words, view.triggers))}){idle}"


def _map(faces: TrackFaces, view: GameView) -> Iterator[str]:
    """Yield the rows of the map with their `y`, below the last digits of `x`."""
    signs = {square: sign for tile in view.tiles for square, sign in _terrain(tile)}
    if not signs:
        yield "no tile lies yet"
        return
    signs |= {track.square: glyph_of(_die(faces, track)) for track in view.track}
    signs |= {station.square: GRAY if station.owner is None else HOMES[station.owner] for station in view.stations}
    columns = range(min(square.x for square in signs), max(square.x for square in signs) + 1)
    yield f"{f'x from {columns[0]}':>12}  {''.join(str(abs(x) % 10) for x in columns)}"
    for y in range(min(square.y for square in signs), max(square.y for square in signs) + 1):
        row = "".join(signs.get(Square(x, y), NO_SIGN) for x in columns)
        yield f"{f'y {y}':>12}  {row}".rstrip()


def _terrain(tile: TileView) -> Iterator[tuple[Square, str]]:
    for row, line in enumerate(tile.rows):
        for column, sign in enumerate(line):
            yield Square(tile.square.x + column, tile.square.y + row), sign


def _die(faces: TrackFaces, track: TrackView) -> Die:
    return faces.die(track.face, track.rotation)


def _legend(box: Box, view: GameView) -> Iterator[str]:
    """Yield what the signs on the map mean that do not look like it."""
    kinds = [f"{kind.sign} {words(kind.name)}" for kind in box.components.terrain]
    homes = f"{HOMES[0]} to {HOMES[len(view.players) - 1]} homes"
    yield listed("signs", [*kinds, homes, f"{GRAY} gray stations"])
    dice = [_die(box.faces, track) for track in view.track if track.kind is DieKind.COMPLEX]
    if dice:
        meanings = {glyph_of(die): " and ".join(_pair_names(die.tracks)) for die in dice}
        yield listed("complex dice", (f"{glyph} {meaning}" for glyph, meaning in sorted(meanings.items())))


def _pair_names(tracks: Tracks) -> Iterator[str]:
    for one, other in pairs_of(tracks):
        yield f"{EDGE_NAMES[one]}-{EDGE_NAMES[other]}"


def _players(view: GameView) -> Iterator[tuple[str, ...]]:
    yield ("seat", "home", "money", "linked", "gray left", "locomotives", "")
    for seat, player in enumerate(view.players):
        linked = f"{len(player.linked)} of {max(0, len(view.stations) - 1)}"
        locomotives = ", ".join(map(str, player.locomotives)) or "none"
        notes = ", ".join(_notes(view, seat))
        yield (str(seat), HOMES[seat], f"${player.money}", linked, str(player.grays_left), locomotives, notes)


def _notes(view: GameView, seat: int) -> Iterator[str]:
    if seat == view.seat:
        yield "you"
    if seat in view.resigned:
        yield "has resigned"
    if view.result is not None:
        yield f"place {view.result.places[seat]}"


def _tiles(box: Box, view: GameView) -> Iterator[str]:
    if view.tile_ids:
        yield "tiles to be laid, unturned"
        yield from _unlaid(box, view.tile_ids)
    if view.tiles and view.phase in {Phase.TURN, Phase.FINAL, Phase.OVER}:
        yield "passengers"
        rows = (
            (f"  {_tile_name(box, tile.tile_id)}", f"at {_place(tile.square)}", str(tile.passengers))
            for tile in view.tiles
        )
        yield from table("<<>", rows)


def _unlaid(box: Box, tile_ids: Sequence[str]) -> Iterator[str]:
    names = [_tile_name(box, tile_id) for tile_id in tile_ids]
    tiles = [box.components.tile(tile_id) for tile_id in tile_ids]
    terrain = zip(*(tile.rows for tile in tiles if tile is not None), strict=True)
    for line in table("<" * len(names), [names, *terrain]):
        yield f"  {line}"


def _tile_name(box: Box, tile_id: str) -> str:
    tile = box.components.tile(tile_id)
    return tile_id if tile is None else f"{tile_id} {tile.name}"


def _bank(box: Box, view: GameView) -> Iterator[str]:
    simple, complex_ = view.simple_dice, view.complex_dice
    yield f"bank: ${view.bank}, {counted(simple, 'simple die', 'simple dice')}, {complex_} complex"
    stack = ((value, len(list(same))) for value, same in groupby(view.stack))
    yield listed(
        "locomotives to buy, in this order",
        (f"{count} of value {value} for ${box.price(value)}" for value, count in stack),
    )


def _turn(view: GameView) -> Iterator[str]:
    """Yield what the turn has brought so far."""
    turn = view.turn
    if view.phase is Phase.TURN:
        yield f"dice action: {'used' if turn.dice_action_used else 'not used yet'}"
        yield listed("dice in hand", map(_held, turn.hand))
    if turn.stations_used:
        yield listed("stations departed from", map(_place, turn.stations_used))
        yield listed("locomotives that have run", map(str, turn.locomotives_used))


def _held(die: HandDie) -> str:
    fixed = " (came back)" if die.fixed else ""
    return f"{die.die} {die.kind} {words(die.face)}{fixed}"


def _place(square: Square) -> str:
    return f"({square.x},{square.y})"
