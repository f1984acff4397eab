"""Given, when, then for Railroad Dice 2: positions on lab maps, hands from words, and games in any phase.

Unless a test says otherwise it is seat A's turn in a game for two, and the map's tiles are T1, T2 ... in reading order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Draws, Rejected, fold
from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.commands import (
    Command,
    PlaceDie,
    PlaceGray,
    PlaceHome,
    Placement,
    TakeComplex,
    Transport,
)
from promontory.games.railroad_dice_2.component_file import load_components, shipped_data
from promontory.games.railroad_dice_2.components import LaidTile
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.drawing import drawing_of
from promontory.games.railroad_dice_2.events import Event, HandDie, TilePassengers
from promontory.games.railroad_dice_2.state import Player, State, Turn
from promontory.games.railroad_dice_2.vocabulary import QUESTION, DieKind, Phase, Square
from tests.support.railroad_maps import A, At, drawn, lab_map, networks

FILE: dict[str, Any] = json.loads(shipped_data())
BLIND = BlindDraws()
T = TypeVar("T")
E = TypeVar("E", bound=Event)


def game_with(**changes: Any) -> RailroadDice2:
    """Return the game with a changed component file; `end__all_stations=False` changes `all_stations` of `end`."""
    file = json.loads(shipped_data())
    for path, value in changes.items():
        *parts, last = path.split("__")
        part = file
        for name in parts:
            part = part[name]
        assert last in part, path
        part[last] = value
    return RailroadDice2(load_components(json.dumps(file).encode()))


GAME = RailroadDice2(load_components(shipped_data()))
VARIABLE = game_with(layouts__default="variable")
LAB = game_with(end__all_stations=False)
"""The game for maps with so few stations that linking them would end it."""
FILLING = game_with(restocking__restock_mode="fill", end__all_stations=False)


def seeded(seed: int) -> Random:
    """Return random numbers that are the same in every run; put `seed` into the test's parameters, so it is printed."""
    return Random(seed)


# Words for squares, dice and passengers


def at(x: int, y: int) -> Square:
    """Return a square."""
    return Square(x, y)


def hand(words: str) -> tuple[HandDie, ...]:
    """Return the dice that `words` lists, numbered from 1.

    `?` is a simple die, `orange?` a complex one; `=curve` is a curve that came back from the map.
    """
    return tuple(_die(number, word) for number, word in enumerate(words.split(), start=1))


def _die(number: int, word: str) -> HandDie:
    kind = DieKind.COMPLEX if word.lstrip("=") in {*GAME.box.faces.complex, "orange?"} else DieKind.SIMPLE
    face = QUESTION if word.endswith("?") else word.lstrip("=")
    return HandDie(number, kind, face, fixed=word.startswith("="))


def beside(words: str) -> tuple[TilePassengers, ...]:
    """Return the passengers that `words` lists: `T1 5, T2 10`."""
    listed = [part.split() for part in words.split(",") if part.strip()]
    return tuple(TilePassengers(tile_id, int(count)) for tile_id, count in listed)


# Positions


def position(
    text: str,
    *,
    seats: int = 2,
    money: int | Sequence[int] = 10,
    dice: str = "",
    locomotives: Sequence[str] = (),
    passengers: str | None = None,
    terrain: Mapping[At, str] | None = None,
    reversing: bool = False,
    turn: Turn | None = None,
    **fields: Any,
) -> State:
    """Return a state on a lab map, in turn number 5.

    `dice` is the hand as `hand` reads it, `locomotives` those of each seat (`2 3`), `passengers` what `beside` reads;
    without it there are 5 for each station beside every tile.
    """
    board = lab_map(text, terrain=terrain, reversing=reversing)
    dollars = [money] * seats if isinstance(money, int) else money
    owned = [tuple(map(int, words.split())) for words in (*locomotives, *[""] * seats)]
    homes = networks(board)
    players = [Player(dollars[seat], 0, owned[seat], homes.get(seat)) for seat in range(seats)]
    held = hand(dice)
    state = State(
        players=tuple(players),
        bank=300,
        simple_dice=20,
        complex_dice=15,
        stack=GAME.box.stack(seats),
        phase=Phase.TURN,
        layout=_layout(board),
        board=board,
        turn=turn or Turn(5, dice_action_used=bool(held), hand=held, next_die=len(held) + 1),
    )
    return replace(with_passengers(state, passengers), **fields)


def with_passengers(state: State, words: str | None) -> State:
    """Return `state` with these passengers, or 5 for each station if `words` is None."""
    if words is None:
        counts = Counter(state.map.plan.tile_at(station.square) for station in state.map.stations)
        by_tile = {tile_id or "": 5 * count for tile_id, count in counts.items()}
    else:
        by_tile = {tile.tile_id: tile.count for tile in beside(words)}
    return replace(state, passengers=tuple(by_tile.get(laid.tile_id, 0) for laid in state.layout))


def final(state: State, *, idle: int = 0) -> State:
    """Return `state` in the final phase, which began some turns before."""
    return replace(state, phase=Phase.FINAL, triggered_turn=state.turn.number - 2, idle=idle)


def _layout(board: Board) -> tuple[LaidTile, ...]:
    corners: dict[str, Square] = {}
    for square in board.plan.map_squares():
        corners.setdefault(board.plan.tile_at(square) or "", square)
    return tuple(LaidTile(tile_id, corners[tile_id], 0) for tile_id in board.plan.tile_ids)


def begun(seats: int, rng: Draws = BLIND, *, game: RailroadDice2 = GAME) -> State:
    """Return a game at its first decision; seat A starts unless `rng` says otherwise."""
    start = game.initial(seats)
    return fold(game, start, game.begin(start, rng, draw_start=False))


def state_after(state: State, *commands: Command, game: RailroadDice2 = LAB, rng: Draws = BLIND) -> State:
    """Return the state after `commands`, all of which must be accepted."""
    return decide(state, *commands, game=game, rng=rng)[1]


def decide(
    state: State, *commands: Command, game: RailroadDice2 = LAB, rng: Draws = BLIND
) -> tuple[list[Event], State]:
    """Return all that `commands` cause, and the state after it."""
    events: list[Event] = []
    for command in commands:
        caused = game.decide(state, command, rng)
        state = fold(game, state, caused)
        events += caused
    return events, state


def only(events: Sequence[Event], kind: type[E]) -> list[E]:
    """Return the events of a kind."""
    return [event for event in events if isinstance(event, kind)]


# What tests look at


def money(state: State) -> list[int]:
    """Return the money of every seat."""
    return [player.money for player in state.players]


def dice_in_bank(state: State) -> tuple[int, int]:
    """Return how many simple and complex dice the bank has."""
    return state.simple_dice, state.complex_dice


def passengers(state: State) -> dict[str, int]:
    """Return the passengers beside each tile."""
    return state.passengers_by_tile


def drawing(state: State) -> str:
    """Return the map."""
    return drawing_of(state.map)


# Commands


def place(die: int, face: str, rotation: int, *, to: At, seat: int = A) -> PlaceDie:
    """Return the command by which a seat places a die of the hand."""
    return PlaceDie(seat, die, Square(*to), rotation, face)


def step(die: int, face: str, rotation: int, *, to: At) -> Placement:
    """Return a step of a batch."""
    return Placement(die, Square(*to), rotation, face)


def take(face: str, rotation: int, *, to: At, seat: int = A) -> TakeComplex:
    """Return the command by which a seat takes a complex die."""
    return TakeComplex(seat, Square(*to), rotation, face)


def carry(count: int, *, by: int, start: At, seat: int = A) -> Transport:
    """Return the command by which a seat carries passengers."""
    return Transport(seat, Square(*start), by, count)


def home(seat: int, x: int, y: int) -> PlaceHome:
    """Return the command by which a seat places its home."""
    return PlaceHome(seat, Square(x, y))


def gray(seat: int, x: int, y: int) -> PlaceGray:
    """Return the command by which a seat places a gray station."""
    return PlaceGray(seat, Square(x, y))


class given:  # noqa: N801 - the first word of a sentence
    """The state a test starts from."""

    def __init__(self, state: State, *, game: RailroadDice2 = LAB) -> None:
        self._state, self._game = state, game

    def when(self, *commands: Command, rng: Draws = BLIND) -> when:
        """Take the commands, in order."""
        return when(self._state, commands, game=self._game, rng=rng)


class when:  # noqa: N801 - the second word of a sentence
    """Commands given in a state; all but the last must be accepted."""

    def __init__(self, state: State, commands: tuple[Command, ...], *, game: RailroadDice2, rng: Draws) -> None:
        self._state, self._commands, self._game, self._rng = state, commands, game, rng

    def then(self, *events: Event) -> State:
        """Expect exactly `events` of all the commands, and return the state after them."""
        caused, state = self._decide(self._state, *self._commands)
        assert caused == list(events)
        return state

    def then_last(self, *events: Event) -> State:
        """Expect exactly `events` of the last command, and return the state after it."""
        _, state = self._decide(self._state, *self._commands[:-1])
        caused, state = self._decide(state, self._commands[-1])
        assert caused == list(events)
        return state

    def then_state(self, look: Callable[[State], T]) -> T:
        """Return what `look` sees in the state after the commands."""
        return look(self._decide(self._state, *self._commands)[1])

    def then_map(self, text: str) -> State:
        """Expect the map after the commands to be as `text` draws it, and return the state."""
        _, state = self._decide(self._state, *self._commands)
        assert drawing(state) == drawn(text)
        return state

    def refused(self, reason: str, *, rule: str, **details: str | int) -> None:
        """Expect the last command to be refused for `reason`, citing `rule`, with exactly `details`."""
        _, state = self._decide(self._state, *self._commands[:-1])
        with pytest.raises(Rejected) as refusal:
            self._decide(state, self._commands[-1])
        seen = refusal.value
        assert (seen.reason, seen.rule, seen.details) == (reason, rule, details)

    def _decide(self, state: State, *commands: Command) -> tuple[list[Event], State]:
        return decide(state, *commands, game=self._game, rng=self._rng)
