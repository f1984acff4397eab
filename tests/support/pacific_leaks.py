"""Games of Pacific that tell what they must not, each in one way: what a test of secrecy has to catch."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from promontory.games.kernel import Draws, Rejected
from promontory.games.pacific.commands import Command, PutOut
from promontory.games.pacific.events import CardPutOut, Event, ExplicitRunsSet
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.view import GameView
from promontory.games.pacific.vocabulary import Colour
from tests.support.pacific import DECK
from tests.support.pacific_worlds import Arranged


class Unredacted(Arranged):
    """Events are told as they are stored."""

    def redact(self, state: State, event: Event, seat: int | None) -> Event:
        return event


class Padded(Arranged):
    """A card that is put out is not named, but the event is longer for a card with a longer name."""

    def redact(self, state: State, event: Event, seat: int | None) -> Event:
        told = super().redact(state, event, seat)
        return replace(told, card_id="?" * len(event.card_id)) if isinstance(event, CardPutOut) else told


class InOrder(Arranged):
    """The view lists unseen cards in the order of the draw deck."""

    def view(self, state: State, seat: int | None) -> GameView:
        view = super().view(state, seat)
        return replace(view, unseen_card_ids=tuple(sorted(view.unseen_card_ids, key=partial(place, state))))


class Foretelling(Arranged):
    """Everything is foreseeable."""

    def foreseeable(self, state: State, event: Event) -> bool:
        return True


class Precise(Arranged):
    """A refusal tells whether a card that is not in the hand lies in the draw deck."""

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        if isinstance(command, PutOut) and command.card_id in state.deck:
            raise Rejected("NOT_IN_HAND", rule="Pacific 2.2", cardId=command.card_id, place="deck")
        return super().decide(state, command, rng)


class Impatient(Arranged):
    """Whoever puts out a card that is orange, or chooses the first slot, is still waited for."""

    def to_act(self, state: State) -> tuple[int, ...]:
        ready = {seat for seat, player in enumerate(state.players) if player.slots[:1] == (0,) or is_orange(player)}
        return tuple(sorted({*super().to_act(state), *ready}))


class Verbose(Arranged):
    """An answer that is given again leads to one event more if it is another one."""

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        events = super().decide(state, command, rng)
        before = state.players[command.seat].put_out_card_id
        if not isinstance(command, PutOut) or before in {"", command.card_id}:
            return events
        return (ExplicitRunsSet(command.seat, state.players[command.seat].explicit_runs), *events)


def place(state: State, card_id: str) -> int:
    """Return where a card lies in the draw deck, from 1, or 0 if it lies elsewhere."""
    return state.deck.index(card_id) + 1 if card_id in state.deck else 0


def is_orange(player: Player) -> bool:
    """Tell whether the player has put out a card that belongs to no area."""
    return bool(player.put_out_card_id) and Colour.ORANGE in DECK.by_id[player.put_out_card_id].colours
