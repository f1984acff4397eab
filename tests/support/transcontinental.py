"""Given, when, then for Transcontinental: tables from card codes, commands by side, and what must come of them.

Unless a test says otherwise seat 0 plays CP, so `CP` commands come from seat 0 and `UP` commands from seat 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Draws, Rejected
from promontory.games.transcontinental.cards import Card, load_deck, shipped_cards
from promontory.games.transcontinental.commands import (
    Command,
    DiscardCards,
    DrawCard,
    EndWork,
    PlayMeld,
    Resign,
    TrimHand,
)
from promontory.games.transcontinental.decider import Transcontinental
from promontory.games.transcontinental.events import Event
from promontory.games.transcontinental.state import SideState, State
from promontory.games.transcontinental.vocabulary import MeldKind, Phase, Side, Source

CP, UP = Side.CP, Side.UP
SEAT = {CP: 0, UP: 1}
DECK = load_deck(shipped_cards())
GAME = Transcontinental(DECK)
BLIND = BlindDraws()
_BY_CODE = {card.code: card for card in DECK.cards}

T = TypeVar("T")


def seeded(seed: int) -> Random:
    """Return random numbers that are the same in every run; put `seed` into the test's parameters, so it is printed."""
    return Random(seed)


def card(code: str) -> Card:
    """Return the card with the short form `code`."""
    return _BY_CODE[code]


def cards(codes: str) -> tuple[str, ...]:
    """Return the ids of the cards whose short forms `codes` lists, in that order."""
    return tuple(_BY_CODE[code].id for code in codes.split())


def codes(card_ids: Iterable[str]) -> str:
    """Return the short forms of the cards, in that order."""
    return " ".join(DECK.by_id[card_id].code for card_id in card_ids)


def held(codes: str) -> frozenset[str]:
    """Return the cards whose short forms `codes` lists, as a hand."""
    return frozenset(cards(codes))


def kinds(names: str) -> tuple[MeldKind, ...]:
    """Return the kinds that `names` lists."""
    return tuple(MeldKind(name) for name in names.split())


def draw(side: Side, source: Source = Source.DECK) -> DrawCard:
    """Return the command by which `side` draws, from the deck unless `source` says otherwise."""
    return DrawCard(SEAT[side], source)


def meld(side: Side, codes: str) -> PlayMeld:
    """Return the command by which `side` melds the cards `codes`."""
    return PlayMeld(SEAT[side], cards(codes))


def end_work(side: Side) -> EndWork:
    """Return the command by which `side` ends its work."""
    return EndWork(SEAT[side])


def discard(side: Side, codes: str = "") -> DiscardCards:
    """Return the command by which `side` discards the cards `codes`."""
    return DiscardCards(SEAT[side], cards(codes))


def trim(side: Side, codes: str) -> TrimHand:
    """Return the command by which `side` trims its hand of the cards `codes`."""
    return TrimHand(SEAT[side], cards(codes))


def resign(side: Side) -> Resign:
    """Return the command by which `side` resigns."""
    return Resign(SEAT[side])


def table(
    cp: str = "",
    up: str = "",
    *,
    deck: str = "",
    discard: str = "",
    rest: str = "deck",
    totals: tuple[int, int] = (0, 0),
    drew_discard: tuple[bool, bool] = (False, False),
    **fields: Any,
) -> State:
    """Return a state in CP's first planning phase, changed by `fields`, with these cards.

    `deck` is top first, `discard` bottom first. The cards named nowhere lie below the named ones of the draw pile, or
    of the discard pile if `rest` says so, in ascending `n` from the top of the deck or the bottom of the discard pile.
    """
    named = {*cards(cp), *cards(up), *cards(deck), *cards(discard)}
    others = tuple(card_id for card_id in DECK.ids if card_id not in named)
    piles = {
        "deck": cards(deck) + (others if rest == "deck" else ()),
        "discard": (others if rest == "discard" else ()) + cards(discard),
    }
    sides = {
        "cp": SideState(frozenset(cards(cp)), totals[0], drew_discard[0]),
        "up": SideState(frozenset(cards(up)), totals[1], drew_discard[1]),
    }
    return replace(State(turn=1, shuffles=1), **piles, **sides, **fields)


class FileOrder:
    """Draws for a game in the order of the deck's list, in which seat 0 starts."""

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return 0."""
        return 0

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return `items` as they are."""
        return tuple(items)


class OldestFirst(FileOrder):
    """Draws that turn the discard pile of `state` over: its oldest card becomes the top of the draw pile."""

    def __init__(self, state: State) -> None:
        self._pile = state.discard

    def shuffle(self, items: Sequence[T], purpose: str, number: int) -> tuple[T, ...]:
        """Return the pile in its own order; `items` must be its cards in the order of the deck's list [10.2]."""
        assert tuple(items) == DECK.in_order(self._pile)
        order: tuple[Any, ...] = self._pile
        return order


def begun(rng: Draws | None = None, *, draw_start: bool = False) -> State:
    """Return a game at its first decision, dealt in the order of the deck's list unless `rng` shuffles."""
    state = GAME.initial(2)
    return after(state, *GAME.begin(state, rng or FileOrder(), draw_start=draw_start))


def after(state: State, *events: Event) -> State:
    """Return `state` after `events`."""
    for event in events:
        state = GAME.evolve(state, event)
    return state


def decide(state: State, *commands: Command) -> tuple[list[Event], State]:
    """Return all that `commands` cause, and the state after it; a reshuffle turns the oldest card to the top."""
    events: list[Event] = []
    for command in commands:
        caused = GAME.decide(state, command, OldestFirst(state))
        state = after(state, *caused)
        events += caused
    return events, state


class given:  # noqa: N801 - the first word of a sentence
    """The state a test starts from."""

    def __init__(self, state: State) -> None:
        self._state = state

    def when(self, *commands: Command) -> when:
        """Take the commands, in order."""
        return when(self._state, commands)


class when:  # noqa: N801 - the second word of a sentence
    """Commands given in a state; all but the last must be accepted."""

    def __init__(self, state: State, commands: tuple[Command, ...]) -> None:
        self._state = state
        self._commands = commands

    def then(self, *events: Event) -> State:
        """Expect exactly `events` of all the commands, and return the state after them."""
        caused, state = decide(self._state, *self._commands)
        assert caused == list(events)
        return state

    def then_last(self, *events: Event) -> State:
        """Expect exactly `events` of the last command, and return the state after it."""
        _, state = decide(self._state, *self._commands[:-1])
        caused, state = decide(state, self._commands[-1])
        assert caused == list(events)
        return state

    def then_state(self, look: Callable[[State], T]) -> T:
        """Return what `look` sees in the state after the commands."""
        return look(decide(self._state, *self._commands)[1])

    def refused(self, reason: str, *, rule: str, **details: str | int) -> None:
        """Expect the last command to be refused for `reason`, citing `rule`, with exactly `details`."""
        _, state = decide(self._state, *self._commands[:-1])
        with pytest.raises(Rejected) as refusal:
            decide(state, self._commands[-1])
        seen = refusal.value
        assert (seen.reason, seen.rule, seen.details) == (reason, rule, details)


def in_phase(phase: Phase, cp: str, **fields: Any) -> State:
    """Return a state in `phase` of CP's first turn, with CP's hand."""
    return table(cp, phase=phase, **fields)


def at_work(side: Side, codes: str) -> State:
    """Return a state in the work phase of `side`, whose hand is `codes`."""
    cp, up = (codes, "") if side is CP else ("", codes)
    return table(cp, up, phase=Phase.WORK, active=side)
