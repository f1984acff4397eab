"""What nobody may learn of a game of Transcontinental, seen in whole games of random players with fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from promontory.games.kernel import Rejected
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.events import CardDrawn, CardsDiscarded, DeckShuffled, Event, MeldPlayed
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Side, Source
from tests.support.random_play import PLAYERS, Commit, another_world, near_legal, played
from tests.support.transcontinental import BLIND, DECK, GAME, after, seeded

GAMES = [(players, seed) for players in PLAYERS for seed in range(4)]
a_game = pytest.mark.parametrize(("players", "seed"), GAMES)
each_reader = pytest.mark.parametrize("seat", [0, 1, None])
each_seat = pytest.mark.parametrize("seat", [0, 1])


def told(commit: Commit, seat: int | None) -> list[Event]:
    """Return the events of a commit as the seat, or a spectator, is told them."""
    state, redacted = commit.before, []
    for event in commit.events:
        state = GAME.evolve(state, event)
        redacted.append(GAME.redact(state, event, seat))
    return redacted


def named(things: Sequence[Event | Command]) -> set[str]:
    """Return the cards that the fields for cards of events or commands name."""
    return {
        card_id
        for thing in things
        for field in ("card_id", "card_ids", "cp_card_ids", "up_card_ids")
        for card_id in _as_cards(getattr(thing, field, ()))
    }


def _as_cards(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else tuple([value] if value else [])


def hidden_from(state: State, seat: int | None) -> set[str]:
    """Return the cards in the draw pile and in hands that are not the seat's."""
    others = [side for side in Side if seat is None or side is not state.side_of(seat)]
    return set(state.deck).union(*(state.of(side).hand for side in others))


def seen_in_the_open(commits: Sequence[Commit]) -> Iterator[set[str]]:
    """Yield, for each commit, the cards that were in the discard pile since the last reshuffle up to its end."""
    seen: set[str] = set()
    for commit in commits:
        for event in commit.events:
            if isinstance(event, DeckShuffled):
                seen = set()
            if isinstance(event, MeldPlayed | CardsDiscarded):
                seen = seen.union(event.card_ids)
        yield seen


def known_hands(commits: Sequence[Commit]) -> Iterator[dict[Side, set[str]]]:
    """Yield, for each commit, what a spectator's stream tells about each side's hand."""
    known: dict[Side, set[str]] = {side: set() for side in Side}
    for commit in commits:
        for event in told(commit, None):
            if isinstance(event, CardDrawn) and event.source is Source.DISCARD:
                known[event.side].add(event.card_id)
            if isinstance(event, MeldPlayed | CardsDiscarded):
                known[event.side].difference_update(event.card_ids)
        yield {side: set(cards) for side, cards in known.items()}


def answer(state: State, command: Command) -> Any:
    """Return what a preview answers: the events a seat can foresee, or the refusal in all its parts."""
    try:
        events = GAME.decide(state, command, BLIND)
    except Rejected as refusal:
        return refusal.reason, refusal.rule, refusal.details
    foreseen: list[Event] = []
    for event in events:
        if not GAME.foreseeable(state, event):
            break
        state = GAME.evolve(state, event)
        foreseen.append(GAME.redact(state, event, command.seat))
    return foreseen


@a_game
@each_reader
def test_an_update_names_no_hidden_card(players: str, seed: int, seat: int | None) -> None:
    """[Transcontinental 11.3] Unless it was seen in the discard pile since the last reshuffle."""
    commits = played(players, seed)
    leaks = [
        (commit.events, leaked)
        for commit, seen in zip(commits, seen_in_the_open(commits), strict=True)
        if (leaked := named(told(commit, seat)) & hidden_from(commit.after, seat) - seen)
    ]
    assert leaks == []


@a_game
@each_seat
def test_known_cards_of_the_opponent_follow_from_public_events(players: str, seed: int, seat: int) -> None:
    """[Transcontinental 10.1] They were seen going into that hand and not leaving it."""
    commits = played(players, seed)
    views = [GAME.view(commit.after, seat).opponent_known_card_ids for commit in commits[::5]]
    opponents = [commit.after.side_of(seat).other for commit in commits[::5]]
    told_to_all = list(known_hands(commits))[::5]
    assert views == [DECK.in_order(known[side]) for known, side in zip(told_to_all, opponents, strict=True)]


@a_game
@each_reader
def test_hidden_cards_do_not_change_what_is_seen(players: str, seed: int, seat: int | None) -> None:
    """[Transcontinental 11.3] Two worlds that differ only in hidden cards give the same view, as bytes."""
    random = seeded(seed)
    states = [commit.after for commit in random.sample(played(players, seed), 25)]
    worlds = [(state, another_world(state, seat, random)) for state in states]
    views = [[msgspec.json.encode(GAME.view(world, seat)) for world in pair] for pair in worlds]
    assert [first for first, _ in views] == [second for _, second in views]
    assert [first for first, second in worlds if first != second]


@a_game
@each_seat
def test_hidden_cards_do_not_change_what_a_seat_may_do(players: str, seed: int, seat: int) -> None:
    """[Transcontinental 9.2] Legal commands, previews and refusals are the same in both worlds, to the last detail."""
    random = seeded(seed)
    tries = [
        (commit.before, another_world(commit.before, seat, random), near_legal(commit.before, random))
        for commit in random.sample(played(players, seed)[1:], 40)
        for _ in range(6)
    ]
    told_apart = [
        command
        for first, second, command in tries
        if command.seat == seat and answer(first, command) != answer(second, command)
    ]
    assert told_apart == []
    assert [GAME.legal(first, seat) for first, _, _ in tries] == [GAME.legal(second, seat) for _, second, _ in tries]


@a_game
@each_seat
def test_hidden_cards_do_not_change_what_the_opponents_turn_shows(players: str, seed: int, seat: int) -> None:
    """[Transcontinental 11.3] Of a command that names no card: events and view are the same in both worlds."""
    random = seeded(seed)
    commits = [
        commit
        for commit in played(players, seed)[1:]
        if commit.command is not None and commit.command.seat != seat and not named([commit.command])
    ]
    shown = [
        [_shown(world, commit.command, seat) for world in (commit.before, another_world(commit.before, seat, random))]
        for commit in random.sample(commits, 25)
    ]
    assert [first for first, _ in shown] == [second for _, second in shown]


def _shown(state: State, command: Command | None, seat: int) -> bytes:
    assert command is not None
    events = GAME.decide(state, command, BLIND)
    commit = Commit(state, command, events, after(state, *events))
    return msgspec.json.encode([told(commit, seat), GAME.view(commit.after, seat)])


@a_game
@each_seat
def test_two_deals_that_differ_in_unseen_cards_send_a_seat_the_same_stream(players: str, seed: int, seat: int) -> None:
    """[Transcontinental 11.3] From the first commit on, in all bytes of events and views."""
    commits = [commit for commit in played(players, seed)[:25] if commit.after.shuffles == 1]
    other = _replayed(commits, _unseen_pair(commits, seat))
    assert _stream(commits, seat) == _stream(other, seat)
    assert commits[-1].after != other[-1].after


def _unseen_pair(commits: Sequence[Commit], seat: int) -> tuple[str, str]:
    end = commits[-1].after
    seen = {card_id for commit in commits for card_id in named(told(commit, seat))}
    in_hand = DECK.in_order(end.of(end.side_of(seat).other).hand - seen)
    return in_hand[0], next(card_id for card_id in end.deck if card_id not in seen)


def _replayed(commits: Sequence[Commit], pair: tuple[str, str]) -> list[Commit]:
    exchange = dict(zip(pair, reversed(pair), strict=True))
    shuffled = next(event for event in commits[0].events if isinstance(event, DeckShuffled))
    rng = _Arranged(tuple(exchange.get(card_id, card_id) for card_id in shuffled.card_ids), commits[0].after.cp_seat)
    state, replayed = commits[0].before, []
    for commit in commits:
        events = (
            GAME.begin(state, rng, draw_start=True)
            if commit.command is None
            else GAME.decide(state, commit.command, rng)
        )
        replayed.append(Commit(state, commit.command, events, after(state, *events)))
        state = replayed[-1].after
    return replayed


class _Arranged:
    def __init__(self, order: tuple[str, ...], start: int) -> None:
        self._order = order
        self._start = start

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        return self._start

    def shuffle(self, items: Sequence[Any], purpose: str, number: int) -> tuple[Any, ...]:
        return self._order


def _stream(commits: Sequence[Commit], seat: int) -> list[bytes]:
    return [msgspec.json.encode([told(commit, seat), GAME.view(commit.after, seat)]) for commit in commits]


@a_game
@each_seat
def test_a_preview_foretells_what_then_happens(players: str, seed: int, seat: int) -> None:
    """[Transcontinental 10.1] As far as it goes."""
    own = [commit for commit in played(players, seed) if commit.command is not None and commit.command.seat == seat]
    foretold = [answer(commit.before, commit.command) for commit in own if commit.command is not None]
    assert foretold == [told(commit, seat)[: len(events)] for commit, events in zip(own, foretold, strict=True)]
