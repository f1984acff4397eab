"""The audit of what is shown: rules that let slip what an audience must not know are found."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest
from google.protobuf.message_factory import GetMessageClass
from msgspec.structs import replace

from promontory.codec.registry import codec
from promontory.eventlog.audit_file import CommitLine
from promontory.eventlog.port import Commit
from promontory.games import registry
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Seat
from promontory.games.pacific import events as pacific
from promontory.games.pacific.decider import Pacific
from promontory.games.registry import AnyGame
from promontory.games.transcontinental import events as transcontinental
from promontory.games.transcontinental.decider import Transcontinental
from promontory.rules import records
from promontory.rules.domain import happenings
from promontory.rules.secrecy import Secrecy
from tests.golden.record import DIRECTORY

PC, TC = "pacific/two_second_thoughts", "transcontinental/points"


@cache
def recorded(match: str) -> list[Commit]:
    """Return the commits of a recorded match."""
    lines = (DIRECTORY / f"{match}.jsonl").read_bytes().splitlines()[1:-1]
    return [msgspec.json.decode(line, type=CommitLine).commit() for line in lines]


def first_leak(game: AnyGame, match: str) -> tuple[int, str] | None:
    """Return the first commit that shows what it must not when a recorded match is shown by `game`, and what."""
    seats = len(records.restore_created(recorded(match)[0].events[0]).setup.seats)
    secrecy, state = Secrecy(game, seats, BlindDraws()), game.initial(seats)
    for commit in recorded(match)[:-1]:
        happened = happenings(game, state, events_of(game, commit))
        leak = secrecy.leak(state, happened, commands_of(game, commit))
        if leak is not None:
            return commit.version, leak
        state = happened[-1].state
    return None


def events_of(game: AnyGame, commit: Commit) -> list[Any]:
    stored = [event for event in commit.events if ".match.v1." not in event.type]
    return [codec(game.name).restore(event.type, event.payload) for event in stored]


def commands_of(game: AnyGame, commit: Commit) -> list[Any]:
    package, meta = codec(game.name).messages.DESCRIPTOR, records.decode_meta(commit.meta)
    command: Any = GetMessageClass(package.pool.FindMessageTypeByName(f"{package.package}.Command"))
    return [codec(game.name).decode_command(command.FromString(raw), meta.actor or 0) for raw in meta.commands]


def leaky(kind: type) -> AnyGame:
    """Return the game of the recorded matches, which shows things as `kind` does."""
    game: AnyGame = registry.game(kind.name)  # type: ignore[attr-defined]
    game.__class__ = type(kind.__name__, (kind,), {"__module__": type(game).__module__})
    return game


class ShowsDraws(Pacific):
    """Everybody is told which card is drawn."""

    def redact(self, state: Any, event: Any, seat: Seat | None) -> Any:
        return event if isinstance(event, pacific.CardDrawn) else super().redact(state, event, seat)


class ShowsAnswers(Pacific):
    """Everybody is told which cards a seat wants to execute, before all have chosen."""

    def redact(self, state: Any, event: Any, seat: Seat | None) -> Any:
        return event if isinstance(event, pacific.SlotsChosen) else super().redact(state, event, seat)


class HidesHalf(Pacific):
    """Everybody is told the first card of each hand."""

    def redact(self, state: Any, event: Any, seat: Seat | None) -> Any:
        shown = super().redact(state, event, seat)
        is_half = isinstance(event, pacific.HandDealt) and shown != event
        return replace(shown, card_ids=event.card_ids[:1]) if is_half else shown


class CountsCards(Pacific):
    """Everybody sees how many cards of hands come early in the list of the deck."""

    def view(self, state: Any, seat: Seat | None) -> Any:
        early = sum(card in self.deck.ids[:20] for player in state.players for card in player.holdings.hand)
        return replace(super().view(state, seat), turn=state.turn + early)


class TellsAnswers(Pacific):
    """A seat sees in which areas the others set up, before all have."""

    def view(self, state: Any, seat: Seat | None) -> Any:
        chosen = "".join(str(player.setup) for player in state.players)
        return replace(super().view(state, seat), turn=state.turn + len(chosen))


class OrdersDeck(Transcontinental):
    """A seat sees whether the next card is of the first half of the deck's list."""

    def view(self, state: Any, seat: Seat | None) -> Any:
        is_early = bool(state.deck) and state.deck[0] in self.deck.ids[:26]
        return replace(super().view(state, seat), idle=state.idle + is_early)


class ShowsRefill(Transcontinental):
    """Everybody is told what a hand is filled up with."""

    def redact(self, state: Any, event: Any, seat: Seat | None) -> Any:
        is_shown = isinstance(event, transcontinental.HandRefilled)
        return event if is_shown else super().redact(state, event, seat)


@pytest.mark.parametrize(
    ("kind", "match", "leak"),
    [
        (
            ShowsDraws,
            "pacific/five_self_reliant",
            "a spectator is shown a CardDrawn that depends on cards it cannot know",
        ),
        (ShowsAnswers, PC, "a spectator is shown a secret answer by a SlotsChosen"),
        (HidesHalf, PC, "a spectator is shown a part of what HandDealt hides"),
        (CountsCards, PC, "a spectator is shown a view that depends on cards it cannot know"),
        (TellsAnswers, PC, "is shown a view that depends on what it cannot know"),
        (OrdersDeck, TC, "a spectator is shown a view that depends on cards it cannot know"),
        (ShowsRefill, TC, "a spectator is shown a HandRefilled that depends on cards it cannot know"),
    ],
)
def test_what_is_let_slip_is_found(kind: type, match: str, leak: str) -> None:
    """[event_log 5.3] In another world that an audience cannot tell from this one it must be shown the same."""
    found = first_leak(leaky(kind), match)
    assert found is not None
    assert found[1].endswith(leak)


@pytest.mark.parametrize("match", [PC, TC])
def test_what_the_rules_show_lets_nothing_slip(match: str) -> None:
    """The recorded matches pass the whole audit elsewhere; this is the same check without the rest of it."""
    assert first_leak(registry.game(match.partition("/")[0]), match) is None


def test_a_game_without_secrets_shows_all() -> None:
    """[R-57] Nothing is looked at twice."""
    assert first_leak(registry.game("railroad_dice_2"), "railroad_dice_2/three_resigned") is None
