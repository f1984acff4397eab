"""A game going on: what happens, event by event, and the state it leads to."""

from __future__ import annotations

from promontory.games.kernel import Seat
from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.box import Box
from promontory.games.railroad_dice_2.components import Components
from promontory.games.railroad_dice_2.events import Event
from promontory.games.railroad_dice_2.network import Network
from promontory.games.railroad_dice_2.state import Player, State, Turn, evolve


class Course:
    """A game going on from `state`, with all that happens on the way in `events`."""

    def __init__(self, box: Box, state: State) -> None:
        self.box = box
        self.state = state
        self.events: list[Event] = []

    def happen(self, *events: Event) -> None:
        """Let events happen."""
        self.events.extend(events)
        for event in events:
            self.state = evolve(self.box, self.state, event)

    @property
    def components(self) -> Components:
        """What is in the box."""
        return self.box.components

    @property
    def seat(self) -> Seat:
        """The active seat."""
        return self.state.active

    @property
    def player(self) -> Player:
        """What belongs to the active seat."""
        return self.state.players[self.state.active]

    @property
    def network(self) -> Network:
        """Where the trains of the active seat run."""
        return self.state.network(self.state.active)

    @property
    def board(self) -> Board:
        """The map."""
        return self.state.map

    @property
    def turn(self) -> Turn:
        """The turn being played."""
        return self.state.turn
