"""What nobody may learn of a game of Pacific, seen in whole games of random players with fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from promontory.games.kernel import Rejected
from promontory.games.pacific.commands import Choose, Command, PutOut, SetupPlace
from promontory.games.pacific.events import (
    CardsRevealed,
    ChoicesRevealed,
    DeckShuffled,
    Event,
    SetupPlaced,
)
from promontory.games.pacific.state import State
from promontory.games.pacific.vocabulary import Phase
from tests.support.pacific import GAME, after, seeded
from tests.support.pacific_play import SEATS, Commit, another_world, draws_of, near_legal, plain, played

TEMPERS = ("plain", "fickle", "quitter")
GAMES = [(temper, seats, seed) for temper in TEMPERS for seats in SEATS for seed in range(2)]
REVEALS = (SetupPlaced, CardsRevealed, ChoicesRevealed)
CARD_FIELDS = {"card_id", "card_ids", "drawn_card_ids", "hand_card_ids", "put_out_card_id", "put_out_card_ids", "table"}
a_game = pytest.mark.parametrize(("temper", "seats", "seed"), GAMES)
each_reader = pytest.mark.parametrize("reader", [0, 1, None])
each_seat = pytest.mark.parametrize("seat", [0, 1])


def told(commit: Commit, reader: int | None) -> list[Event]:
    """Return the events of a commit as a seat, or a spectator, is told them."""
    state, redacted = commit.before, []
    for event in commit.events:
        state = GAME.evolve(state, event)
        redacted.append(GAME.redact(state, event, reader))
    return redacted


def shown(commit: Commit, reader: int | None) -> bytes:
    """Return all that a commit shows to a seat, or a spectator, as bytes: events, view, and who is to act."""
    return msgspec.json.encode([told(commit, reader), GAME.view(commit.after, reader), GAME.to_act(commit.after)])


def committed(state: State, command: Command) -> Commit:
    """Return the commit that `command` makes."""
    events = GAME.decide(state, command, draws_of(0))
    return Commit(state, command, events, after(state, *events))


def answer(state: State, command: Command) -> Any:
    """Return what a preview answers: the events a seat can foresee, or the refusal in all its parts."""
    try:
        events = GAME.decide(state, command, draws_of(0))
    except Rejected as refusal:
        return refusal.reason, refusal.rule, refusal.details
    foreseen: list[Event] = []
    for event in events:
        if not GAME.foreseeable(state, event):
            break
        state = GAME.evolve(state, event)
        foreseen.append(GAME.redact(state, event, command.seat))
    return foreseen


def hidden_from(state: State, reader: int | None) -> set[str]:
    """Return the cards in the draw deck, in other hands and reserved for anybody."""
    hidden = set(state.deck)
    for seat, player in enumerate(state.players):
        reserved = [] if player.execution is None else player.execution.reservations
        hidden.update(card for one in reserved for card in one.drawn_card_ids)
        hidden.update(player.holdings.hand if seat != reader else ())
    return hidden - (set(state.players[reader].holdings.hand) if reader is not None else set())


def named(thing: Any) -> Iterator[str]:
    """Yield the cards that the fields for cards name, at any depth of plain values."""
    for key, value in thing.items() if isinstance(thing, dict) else ():
        if key in CARD_FIELDS:
            yield from [value] if isinstance(value, str) else value
        yield from named(value)
    for value in thing if isinstance(thing, list | tuple) else ():
        yield from named(value)


@a_game
@each_reader
def test_a_commit_names_no_hidden_card(temper: str, seats: int, seed: int, reader: int | None) -> None:
    """[Pacific 7] Neither in events nor in the view, but for the list of all that the reader has not seen."""
    for commit in played(temper, seats, seed)[::2]:
        plain_values = msgspec.to_builtins([told(commit, reader), GAME.view(commit.after, reader)])
        assert set(named(plain_values)) & hidden_from(commit.after, reader) == set()


@a_game
@each_reader
def test_hidden_things_do_not_change_what_is_seen(temper: str, seats: int, seed: int, reader: int | None) -> None:
    """[Pacific 7] Two worlds that differ in cards and secret answers alone give the same view, as bytes."""
    random = seeded(seed)
    states = [commit.after for commit in random.sample(played(temper, seats, seed), 20)]
    worlds = [(state, another_world(state, reader, random)) for state in states]
    assert [GAME.to_act(first) for first, _ in worlds] == [GAME.to_act(second) for _, second in worlds]
    views = [[msgspec.json.encode(GAME.view(world, reader)) for world in pair] for pair in worlds]
    assert [first for first, _ in views] == [second for _, second in views]
    assert [first for first, second in worlds if first != second]


@a_game
@each_seat
def test_hidden_things_do_not_change_what_a_seat_may_do(temper: str, seats: int, seed: int, seat: int) -> None:
    """[Pacific 7] Legal commands, previews and refusals are the same in both worlds, to the last detail."""
    random = seeded(seed)
    states = [commit.after for commit in random.sample(played(temper, seats, seed)[:-1], 20)]
    for state in states:
        world = another_world(state, seat, random)
        commands = [near_legal(state, random) for _ in range(8)]
        own = [command for command in commands if command.seat == seat]
        assert GAME.legal(state, seat) == GAME.legal(world, seat)
        assert [answer(state, command) for command in own] == [answer(world, command) for command in own]


@a_game
@each_reader
def test_what_others_answer_secretly_shows_nothing(temper: str, seats: int, seed: int, reader: int | None) -> None:
    """[P-4] Whatever they answer, first or again, until it is revealed: the same events, view, seats to act."""
    random = seeded(seed)
    for commit in played(temper, seats, seed):
        secret = isinstance(commit.command, SetupPlace | PutOut | Choose)
        if not secret or commit.command.seat == reader or any(isinstance(event, REVEALS) for event in commit.events):
            continue
        legal = GAME.legal(commit.before, commit.command.seat)
        otherwise = committed(commit.before, plain(commit.before, commit.command.seat, legal, random))
        assert shown(commit, reader) == shown(otherwise, reader)


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("seed", range(4))
def test_a_change_of_mind_does_not_show_whose_it_is(seats: int, seed: int) -> None:
    """[P-4] Of two seats that have answered, neither can be seen to have answered again."""
    random = seeded(seed)
    states = [
        commit.after for commit in played("plain", seats, seed) if seats > 2 or commit.after.phase is Phase.CHOOSE
    ]
    for state in states:
        ready = [seat for seat, player in enumerate(state.players) if player.put_out_card_id or player.slots]
        free = [seat for seat in ready if len(GAME.legal(state, seat).put_out_card_ids) != 1]
        again = [committed(state, plain(state, seat, GAME.legal(state, seat), random)) for seat in free]
        assert len({shown(commit, None) for commit in again}) <= 1


@a_game
@each_seat
def test_two_deals_that_differ_in_unseen_cards_send_a_seat_the_same_stream(
    temper: str, seats: int, seed: int, seat: int
) -> None:
    """[Pacific 7] From the first commit on, in all bytes of events and views."""
    commits = played(temper, seats, seed)[:40]
    pair = unseen_pair(commits, seat)
    other = replayed(commits, pair)
    assert [shown(commit, seat) for commit in commits] == [shown(commit, seat) for commit in other]
    assert commits[-1].after != other[-1].after


def unseen_pair(commits: Sequence[Commit], seat: int) -> tuple[str, str]:
    """Return a card of another hand and one of the draw deck of which the seat has seen neither."""
    end = commits[-1].after
    hand = end.players[1 - seat].holdings.hand
    in_hand = next(card for card in reversed(hand) if card != end.players[1 - seat].put_out_card_id)
    return in_hand, end.deck[-1]


def replayed(commits: Sequence[Commit], pair: tuple[str, str]) -> list[Commit]:
    """Return the game with two cards exchanged in the deal, and in the commands that name them."""
    exchange = dict(zip(pair, reversed(pair), strict=True))
    shuffled = next(event for event in commits[0].events if isinstance(event, DeckShuffled))
    rng = Arranged(tuple(exchange.get(card, card) for card in shuffled.card_ids))
    state = commits[0].before
    again = [Commit(state, None, GAME.begin(state, rng, draw_start=False), state)]
    again[0] = again[0]._replace(after=after(state, *again[0].events))
    for commit in commits[1:]:
        command = commit.command
        if isinstance(command, PutOut):
            command = PutOut(command.seat, exchange.get(command.card_id, command.card_id))
        assert command is not None
        again.append(committed(again[-1].after, command))
    return again


class Arranged:
    """Draws that give a deck in a certain order."""

    def __init__(self, order: tuple[str, ...]) -> None:
        self._order = order

    def integer(self, n: int, purpose: str, number: int, index: int) -> int:
        """Return 0; Pacific draws no numbers."""
        return 0

    def shuffle(self, items: Sequence[Any], purpose: str, number: int) -> tuple[Any, ...]:
        """Return the order."""
        return self._order


@a_game
@each_seat
def test_a_preview_foretells_what_then_happens(temper: str, seats: int, seed: int, seat: int) -> None:
    """[Pacific 7] As far as it goes."""
    own = [
        commit for commit in played(temper, seats, seed) if commit.command is not None and commit.command.seat == seat
    ]
    foretold = [answer(commit.before, commit.command) for commit in own if commit.command is not None]
    assert foretold == [told(commit, seat)[: len(events)] for commit, events in zip(own, foretold, strict=True)]
