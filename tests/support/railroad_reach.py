"""The track rules of Railroad Dice 2 taken literally, slow and plain: what the game's own module must agree with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.vocabulary import DieKind, Square
from tests.support.railroad_maps import COMPONENTS, FACES, At

Track = frozenset[str]
"""A pair of edges."""
EDGES = "NESW"
STEPS = {"N": (0, -1), "E": (1, 0), "S": (0, 1), "W": (-1, 0)}
OPPOSITE = {"N": "S", "E": "W", "S": "N", "W": "E"}
SHAPES = {shape.face: shape for shape in COMPONENTS.shapes}


def pairs(face: str, rotation: int) -> frozenset[Track]:
    """Return the pairs that a face shows after `rotation` quarter turns clockwise."""
    return frozenset(
        frozenset(EDGES[(EDGES.index(edge) + rotation) % 4] for edge in pair) for pair in SHAPES[face].pairs
    )


def ends(tracks: frozenset[Track]) -> set[str]:
    """Return the edges that occur in pairs."""
    return {edge for pair in tracks for edge in pair}


class Lab:
    """A board as dictionaries: `dice` has the kind and the pairs of each die."""

    def __init__(self, board: Board) -> None:
        self.squares = {(square.x, square.y) for square in board.plan.map_squares()}
        self.tiles = {at: board.plan.tile_at(Square(*at)) for at in self.squares}
        self.costs = {at: COMPONENTS.terrain_of(board.plan.sign_at(Square(*at))).cost for at in self.squares}
        self.stations = {(station.square.x, station.square.y) for station in board.stations}
        self.dice = {
            (square.x, square.y): (die.kind, pairs(die.face, die.rotation)) for square, die in board.laid_dice()
        }
        self.reversing = board.plan.reversing

    def tracks(self, at: At) -> frozenset[Track]:
        """Return the pairs of the die on a square."""
        return self.dice[at][1] if at in self.dice else frozenset()

    def group(self, at: At, edge: str) -> set[Track]:
        """Return the pairs that a train which comes in through `edge` runs on."""
        group = {pair for pair in self.tracks(at) if edge in pair}
        while self.reversing:
            more = {pair for pair in self.tracks(at) if pair & ends(frozenset(group))}
            if more == group:
                break
            group = more
        return group

    def reach(self, home: At, *, only: set[At] | None = None) -> tuple[set[tuple[At, Track]], set[At]]:
        """Return the traversed pairs and the linked stations of a home, on the squares `only` if they are given."""
        seen: set[tuple[At, str]] = set()
        traversed: set[tuple[At, Track]] = set()
        linked: set[At] = set()
        todo: list[tuple[At, str, bool]] = [(home, edge, True) for edge in EDGES]
        while todo:
            at, edge, start = todo.pop()
            onward, entry = beyond(at, edge), OPPOSITE[edge]
            if only is not None and onward not in only:
                continue
            if onward in self.stations:
                linked |= {onward} - {home} if not start else set()
            elif entry in ends(self.tracks(onward)) and (onward, entry) not in seen:
                seen.add((onward, entry))
                group = self.group(onward, entry)
                traversed |= {(onward, pair) for pair in group}
                todo += [(onward, out, False) for out in ends(frozenset(group)) - {entry}]
        return traversed, linked

    def tile_count(self, home: At, station: At) -> int:
        """Return the fewest tiles of a route, trying all sets of tiles, small ones first."""
        base = {self.tiles[home], self.tiles[station]}
        others = sorted(str(tile) for tile in {*self.tiles.values()} - base)
        for more in range(len(others) + 1):
            for extra in combinations(others, more):
                only = {at for at, tile in self.tiles.items() if tile in base.union(extra)}
                if station in self.reach(home, only=only)[1]:
                    return len(base) + more
        raise AssertionError(f"{station} is not linked to {home}")

    def refusal(self, home: At, die: tuple[str, int], at: At, *, money: int) -> str | None:
        """Return the first test that placing a face and rotation on a square fails, or None."""
        return next(self._failures(home, die, at, money), None)

    def _failures(self, home: At, die: tuple[str, int], at: At, money: int) -> Iterator[str]:
        kind, new = SHAPES[die[0]].kind, pairs(*die)
        old = self.tracks(at)
        if at not in self.squares:
            yield "OFF_MAP"
        if at in self.stations:
            yield "STATION_SQUARE"
        if kind is DieKind.SIMPLE and old:
            yield "SQUARE_OCCUPIED"
        if kind is DieKind.COMPLEX and not old:
            yield "NO_SIMPLE_HERE"
        if kind is DieKind.COMPLEX and self.dice[at][0] is DieKind.COMPLEX:
            yield "COMPLEX_HERE"
        if not old <= new:
            yield "BREAKS_TRACK"
        if any(beyond(at, edge) not in self.squares for edge in ends(new)):
            yield "LEAVES_MAP"
        if any(self.is_closed(beyond(at, edge), OPPOSITE[edge]) for edge in ends(new)):
            yield "ENDS_AGAINST_COMPLEX"
        unmet = {edge for edge in EDGES if OPPOSITE[edge] in ends(self.tracks(beyond(at, edge)))} - ends(new)
        if kind is DieKind.COMPLEX and unmet:
            yield "NEIGHBOUR_CUT"
        lying = self.dice.get(at)
        self.dice[at] = (kind, new)
        traversed, _ = self.reach(home)
        del self.dice[at]
        if lying:
            self.dice[at] = lying
        if not {(at, pair) for pair in new - old} <= traversed:
            yield "NOT_CONNECTED"
        if kind is DieKind.SIMPLE and money < self.costs[at]:
            yield "CANNOT_AFFORD"

    def is_closed(self, at: At, edge: str) -> bool:
        """Tell whether a complex die without that end lies on a square."""
        return self.dice.get(at, (None,))[0] is DieKind.COMPLEX and edge not in ends(self.tracks(at))


def beyond(at: At, edge: str) -> At:
    """Return the neighbour across `edge`."""
    return at[0] + STEPS[edge][0], at[1] + STEPS[edge][1]


def all_faces() -> list[tuple[str, int]]:
    """Return every face with every rotation."""
    return [(face, rotation) for face in FACES.dice for rotation in range(4)]
