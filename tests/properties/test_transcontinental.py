"""What holds in every game of Transcontinental, seen in whole games of random players with fixed seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from promontory.games.kernel import Rejected, fold
from promontory.games.transcontinental.commands import Command, DiscardCards, DrawCard, EndWork, PlayMeld, TrimHand
from promontory.games.transcontinental.events import (
    CardDrawn,
    CardsDiscarded,
    DeckShuffled,
    Event,
    GameOver,
    HandRefilled,
    HandsDealt,
    MeldPlayed,
    SidesAssigned,
    TurnEnded,
    TurnStarted,
    WorkEnded,
)
from promontory.games.transcontinental.legal import CardChoice, LegalCommands, expand
from promontory.games.transcontinental.state import Result, State
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Side, Source
from tests.support.random_play import PLAYERS, Commit, draws_of, near_legal, played
from tests.support.transcontinental import BLIND, CP, DECK, GAME, UP, seeded

GAMES = [(players, seed) for players in PLAYERS for seed in range(6)]
LETTERS = {
    SidesAssigned: "A",
    DeckShuffled: "K",
    HandsDealt: "H",
    TurnStarted: "T",
    CardDrawn: "C",
    MeldPlayed: "M",
    WorkEnded: "W",
    HandRefilled: "R",
    CardsDiscarded: "X",
    TurnEnded: "E",
    GameOver: "G",
}
a_game = pytest.mark.parametrize(("players", "seed"), GAMES)


def events_of(commits: tuple[Commit, ...]) -> list[Event]:
    """Return all events of a game."""
    return [event for commit in commits for event in commit.events]


def history(commits: tuple[Commit, ...]) -> Iterator[tuple[State, Event, State]]:
    """Yield every event of a game between the states before and after it."""
    state = commits[0].before
    for event in events_of(commits):
        before, state = state, GAME.evolve(state, event)
        yield before, event, state


def broken(before: State, event: Event, after: State) -> Iterator[str]:
    """Yield the invariants [Transcontinental 9.4] that do not hold after an event."""
    hands = [after.cp.hand, after.up.hand]
    if after.turn and sorted([*after.deck, *after.discard, *hands[0], *hands[1]]) != sorted(DECK.ids):
        yield "1: the zones hold each card once"
    if max(map(len, hands)) > (10 if isinstance(event, TurnEnded) else 11):
        yield "2: hands are limited"
    if after.cp.total < before.cp.total or after.up.total < before.up.total:
        yield "3: totals never fall"
    if after.turn and len(after.deck) + len(after.discard) < 56:
        yield "5: the piles hold at least 56 cards"
    if isinstance(event, MeldPlayed) and not _could_meld(before, event):
        yield "6: melded cards were in the hand and usable"


def _could_meld(before: State, event: MeldPlayed) -> bool:
    held = before.of(event.side).hand.issuperset(event.card_ids)
    return held and not any(DECK.by_id[card_id].is_dead_for(event.side) for card_id in event.card_ids)


def is_listed(legal: LegalCommands, command: Command) -> bool:
    """Tell whether `legal` describes a command of its seat."""
    match command:
        case DrawCard(_, source):
            return source in legal.draw_sources
        case PlayMeld(_, card_ids):
            return DECK.in_order(card_ids) in {option.card_ids for option in legal.melds}
        case EndWork():
            return legal.end_work
        case DiscardCards(_, card_ids):
            return _fits(legal.discard, card_ids)
        case TrimHand(_, card_ids):
            return _fits(legal.trim, card_ids)
        case _:
            return legal.resign


def _fits(choice: CardChoice | None, card_ids: tuple[str, ...]) -> bool:
    if choice is None or len(set(card_ids)) < len(card_ids):
        return False
    return choice.minimum <= len(card_ids) <= choice.maximum and set(card_ids) <= set(choice.card_ids)


def is_accepted(state: State, command: Command) -> bool:
    """Tell whether `decide` accepts a command."""
    try:
        return bool(GAME.decide(state, command, BLIND))
    except Rejected:
        return False


@a_game
def test_every_game_ends_by_victory_or_no_progress(players: str, seed: int) -> None:
    """[Transcontinental 7.2] And as the totals and the counter say."""
    end = played(players, seed)[-1].after
    totals = {CP: end.cp.total, UP: end.up.total}
    assert end.result is not None
    assert (end.result.reason, max(totals.values()) >= 100, end.idle == 100) in [
        (EndReason.VICTORY, True, False),
        (EndReason.NO_PROGRESS, False, True),
    ]
    best = [side for side in Side if totals[side] == max(totals.values())]
    assert end.result.winner is (best[0] if len(best) == 1 else None)


@a_game
def test_the_invariants_hold_after_every_event(players: str, seed: int) -> None:
    """[Transcontinental 9.4] Numbers 1, 2, 3, 5 and 6."""
    steps = history(played(players, seed))
    assert [(event, fault) for before, event, after in steps for fault in broken(before, event, after)] == []


@a_game
def test_no_total_of_100_and_no_idle_of_100_outlives_its_commit(players: str, seed: int) -> None:
    """[Transcontinental 9.4] Numbers 4 and 7: `GameOver` follows in the same commit."""
    states = [commit.after for commit in played(players, seed)]
    ripe = [state for state in states if max(state.cp.total, state.up.total, state.idle) >= 100]
    assert [state.phase for state in ripe] == [Phase.OVER]


@a_game
def test_totals_are_the_sums_of_the_melds(players: str, seed: int) -> None:
    """[Transcontinental 9.4] Number 3."""
    commits = played(players, seed)
    melds = [event for event in events_of(commits) if isinstance(event, MeldPlayed)]
    sums = [sum(event.points for event in melds if event.side is side) for side in (CP, UP)]
    assert sums == [commits[-1].after.cp.total, commits[-1].after.up.total]


@a_game
def test_replaying_the_events_gives_the_same_state(players: str, seed: int) -> None:
    """[Transcontinental 9.4] Number 8."""
    commits = played(players, seed)
    assert fold(GAME, GAME.initial(2), events_of(commits)) == commits[-1].after


@a_game
@pytest.mark.parametrize("side", [CP, UP])
def test_nobody_draws_from_the_discard_pile_in_two_own_turns_in_a_row(players: str, seed: int, side: Side) -> None:
    """[Transcontinental 9.4] Number 9."""
    draws = [event for event in events_of(played(players, seed)) if isinstance(event, CardDrawn) and event.side is side]
    sources = "".join("x" if event.source is Source.DISCARD else "-" for event in draws)
    assert "xx" not in sources


@a_game
def test_deciding_every_command_again_gives_the_recorded_events(players: str, seed: int) -> None:
    """[Transcontinental 10.2] An audit finds the log's draws, and no other."""
    commits = played(players, seed)
    rng = draws_of(seed)
    again = [GAME.decide(commit.before, commit.command, rng) for commit in commits if commit.command is not None]
    assert again == [commit.events for commit in commits[1:]]
    assert GAME.begin(GAME.initial(2), rng, draw_start=True) == commits[0].events


@a_game
def test_the_events_of_a_game_come_in_the_order_of_the_sheet(players: str, seed: int) -> None:
    """[Transcontinental 9.3] Set-up, whole turns, and the end inside a turn or after one."""
    word = "".join(LETTERS[type(event)] for event in events_of(played(players, seed)))
    assert re.fullmatch("AKH(TK?CM*WR?(KR)?XX?E)*(TK?CM+)?G", word)


@a_game
def test_turns_alternate(players: str, seed: int) -> None:
    """[Transcontinental 2] Strictly; nobody is ever skipped."""
    turns = [event for event in events_of(played(players, seed)) if isinstance(event, TurnStarted)]
    expected = [(n, CP if n % 2 else UP) for n in range(1, len(turns) + 1)]
    assert [(event.turn, event.side) for event in turns] == expected


@a_game
def test_at_most_one_reshuffle_happens_in_a_turn(players: str, seed: int) -> None:
    """[Transcontinental 6.2] A new draw pile outlasts a turn."""
    word = "".join(LETTERS[type(event)] for event in events_of(played(players, seed)))
    assert max(turn.count("K") for turn in word.split("T")[1:]) <= 1


@a_game
def test_what_is_listed_is_accepted(players: str, seed: int) -> None:
    """[Transcontinental 9.5] Any listed command, whichever card is named last."""
    sample = seeded(seed).sample(played(players, seed)[1:], 40)
    listed = [
        (commit.before, command)
        for commit in sample
        for seat in GAME.to_act(commit.before)
        for command in _some(list(expand(GAME.legal(commit.before, seat), seat, tops=True)))
    ]
    assert [command for state, command in listed if not is_accepted(state, command)] == []


def _some(commands: list[Command]) -> list[Command]:
    return commands[:5] + commands[5 :: max(1, len(commands) // 10)]


@a_game
def test_what_is_not_listed_is_refused(players: str, seed: int) -> None:
    """[Transcontinental 9.5] The list is complete: commands near it are accepted if and only if it describes them."""
    random = seeded(seed)
    tried = [
        (commit.before, near_legal(commit.before, random))
        for commit in random.sample(played(players, seed)[1:], 60)
        for _ in range(15)
    ]
    wrong = [
        (state, command)
        for state, command in tried
        if is_accepted(state, command) != is_listed(GAME.legal(state, command.seat), command)
    ]
    assert wrong == []


@a_game
def test_the_automatic_command_is_always_accepted(players: str, seed: int) -> None:
    """[Transcontinental 9.5] For whoever is to act."""
    states = [commit.after for commit in played(players, seed)[:-1]]
    automatic = [(state, GAME.automatic(state, *GAME.to_act(state))) for state in states]
    assert [command for state, command in automatic if not is_accepted(state, command)] == []


@pytest.mark.parametrize("seed", range(6))
def test_automatic_play_alone_ends_without_progress(seed: int) -> None:
    """[T-27] Two absent players never meld, so the hundredth turn is the last."""
    end = played("absent", seed)[-1].after
    assert (end.turn, end.result) == (100, Result(EndReason.NO_PROGRESS, None))
