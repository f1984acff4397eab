"""What every game is made of: the decider, its draws, its refusals and its outcome."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec

Seat = int
"""A place at the table, counted from 0."""

T = TypeVar("T")
State = TypeVar("State")
Command = TypeVar("Command")
Event = TypeVar("Event")
View = TypeVar("View", covariant=True)
Legal = TypeVar("Legal", covariant=True)


class Rejected(Exception):
    """A rule forbids a command; nothing has changed.

    `reason` is the stable code a client sees, `rule` the rule that forbids it, and `details` the values that matter.
    """

    def __init__(self, reason: str, *, rule: str, **details: str | int) -> None:
        super().__init__(f"{reason} [{rule}]")
        self.reason = reason
        self.rule = rule
        self.details = details


class Malformed(Rejected):
    """A command makes no sense in any state: a card that the game does not have, an answer of the wrong form."""


class Draws(Protocol):
    """A match's checkable randomness. Each (purpose, number, index) serves one draw a match."""

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return a draw in 0..n-1, for 1 <= n < 2**64."""

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return `items`, given in their start order, shuffled; position 0 is the top."""


class Outcome(msgspec.Struct, frozen=True):
    """How a game ended.

    `reason` is the game's own word for it; `resigned` tells whether a resignation ended it. `places` holds the
    finishing place of each seat, from 1, ties sharing the better one; `scores` its final score in the game's unit.
    """

    reason: str
    resigned: bool
    places: tuple[int, ...]
    scores: tuple[int, ...]


class Pile(msgspec.Struct, frozen=True):
    """Cards or the like that no seat sees: what they are, and their ids, top first."""

    name: str
    item_ids: tuple[str, ...]


class Game(Protocol[State, Command, Event, View, Legal]):
    """The rules of one game, with the data (cards, tiles) they are played with: a decider.

    Values in, values out: no clock, no network, no randomness but `Draws`.
    """

    @property
    def name(self) -> str:
        """The game's name, as the APIs show it: `transcontinental`."""

    @property
    def rules_version(self) -> str:
        """The rules a match is pinned to: `transcontinental/1`."""

    @property
    def data_hash(self) -> bytes:
        """SHA-256 of the data file these rules were loaded with, 32 bytes."""

    @property
    def seats(self) -> range:
        """The numbers of seats the game can be played with."""

    @property
    def variants(self) -> tuple[str, ...]:
        """The ways to play that a match may choose from, the usual one first."""

    def initial(self, seats: int) -> State:
        """Return the state before anything happened."""

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return the events that set the game up and bring it to the first decision.

        `draw_start` draws who starts (in games that otherwise give the start to seat 0); `variant` is one of
        `variants`, or empty for the usual one.
        """

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        """Return the events `command` causes, at least one, or raise `Rejected`."""

    def evolve(self, state: State, event: Event) -> State:
        """Return `state` after `event`. Total: never raises, never chooses, never draws."""

    def to_act(self, state: State) -> tuple[Seat, ...]:
        """Return the seats that may act, ascending; empty once the game is over."""

    def legal(self, state: State, seat: Seat) -> Legal:
        """Return what `decide` would accept from `seat` now, complete, in the game's compact form."""

    def view(self, state: State, seat: Seat | None) -> View:
        """Return what `seat`, or a spectator (None), may know of `state`; built from an allow-list."""

    def hidden(self, state: State) -> tuple[Pile, ...]:
        """Return what no seat may know of `state`, to be shown once the match is over."""

    def redact(self, state: State, event: Event, seat: Seat | None) -> Event:
        """Return `event` as `seat`, or a spectator (None), may see it; `state` is the one after it."""

    def foreseeable(self, state: State, event: Event) -> bool:
        """Tell whether a seat could know `event`'s content before it happens: neither chance nor hidden cards."""

    def repeatable(self, event: Event) -> bool:
        """Tell whether a seat could cause events like `event` without end, since they bring the game no further."""

    def seat_of(self, command: Command) -> Seat:
        """Return the seat that gives `command`."""

    def resign(self, seat: Seat) -> Command:
        """Return the command by which `seat` gives up."""

    def automatic(self, state: State, seat: Seat) -> Command:
        """Return the rules' automatic command for an absent `seat` that is to act."""

    def period(self, state: State) -> Hashable:
        """Return what tells the turn, or the phase of simultaneous choices, that `state` is in from every other one.

        Players' time for a turn is reckoned anew with each.
        """

    def scores(self, state: State) -> tuple[int, ...]:
        """Return each seat's score so far, in the game's unit."""

    def outcome(self, state: State) -> Outcome | None:
        """Return how the game ended, or None while it goes on."""


def fold(game: Game[State, Command, Event, View, Legal], state: State, events: Iterable[Event]) -> State:
    """Return `state` after all of `events`, in order."""
    for event in events:
        state = game.evolve(state, event)
    return state
