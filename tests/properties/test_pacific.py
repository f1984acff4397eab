"""What holds in every game of Pacific, seen in whole games of random players with fixed seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from random import Random

import pytest
from msgspec.structs import replace

from promontory.games.kernel import fold
from promontory.games.pacific.commands import AnswerDecision, Command, Resign
from promontory.games.pacific.decisions import FactoryRun, RunArea, SteppedRun
from promontory.games.pacific.events import (
    CardPutOut,
    CardsRevealed,
    ChoicesRevealed,
    DecisionOpened,
    DeckShuffled,
    DummiesDealt,
    Event,
    ExecutionDone,
    GameOver,
    HandDealt,
    MoneyGained,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
    TokensPlaced,
    TokensRemoved,
    TurnEnded,
)
from promontory.games.pacific.execution import proceed
from promontory.games.pacific.legal import expand
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.tokens import NO_TOKENS, Tokens, some
from promontory.games.pacific.vocabulary import AREAS, EndReason, Kind, Phase
from tests.support.pacific import DECK, GAME, after, open_decision, seeded
from tests.support.pacific_play import (
    SEATS,
    TEMPERS,
    Commit,
    draws_of,
    events_of,
    is_accepted,
    is_countable,
    is_listed,
    near_legal,
    plain,
    played,
)

GAMES = [(temper, seats, seed) for temper in TEMPERS for seats in SEATS for seed in range(2)]
a_game = pytest.mark.parametrize(("temper", "seats", "seed"), GAMES)
BATCH = 50
BATCHES = [(seats, start) for seats in SEATS for start in range(1000, 1000 + 10 * BATCH, BATCH)]
LETTERS = {
    DeckShuffled: "K",
    HandDealt: "H",
    SetupChosen: "s",
    SetupPlaced: "S",
    CardPutOut: "p",
    CardsRevealed: "P",
    DummiesDealt: "D",
    SlotsChosen: "c",
    ChoicesRevealed: "C",
    ExecutionDone: "x",
    TurnEnded: "E",
    GameOver: "G",
}


def tokens_of(player: Player) -> Tokens:
    """Return the tokens of the whole mat."""
    return sum(player.holdings.mat, NO_TOKENS)


def booked(events: Iterable[Event], seat: int) -> tuple[int, Tokens]:
    """Return the money made and the tokens put on the mat less those taken off, as a seat's events tell."""
    money, content = 0, NO_TOKENS
    for event in events:
        match event:
            case MoneyGained(owner, amount) if owner == seat:
                money += amount
            case TokensPlaced(owner, _, batch) if owner == seat:
                content += batch
            case TokensRemoved(owner, kind, _, n) if owner == seat:
                content -= some(kind, n)
            case SetupPlaced(owner) if owner == seat:
                content += Tokens(hotel=1, factory=1)
    return money, content


def broken(before: State, after: State) -> Iterator[str]:
    """Yield what does not hold after an event."""
    for seat, (old, new) in enumerate(zip(before.players, after.players, strict=True)):
        holdings = new.holdings
        if holdings.money < old.holdings.money:
            yield f"seat {seat}: money falls"
        if min(number for here in holdings.mat for number in (here.of(kind) for kind in Kind)) < 0:
            yield f"seat {seat}: tokens below none"
        if [sum(hq.area is area for hq in holdings.hqs) for area in AREAS] != [here.hq for here in holdings.mat]:
            yield f"seat {seat}: HQs and their number differ"
        if len({hq.hq_id for hq in holdings.hqs}) < len(holdings.hqs):
            yield f"seat {seat}: two HQs with one id"
    if after.deck and sorted(cards_of(after)) != sorted(DECK.ids):
        yield "a card is nowhere or twice"


def cards_of(state: State) -> Iterator[str]:
    """Yield every card there is, wherever it is: draw deck, hands, reserved draws, table, history."""
    yield from state.deck
    for player in state.players:
        yield from player.holdings.hand
        if player.execution is not None:
            reserved = [card for one in player.execution.reservations for card in one.drawn_card_ids]
            yield from (card for card in reserved if card not in player.holdings.hand)
    yield from filter(None, state.table)
    yield from (card for past in state.history for card in past.card_ids)


@pytest.mark.parametrize(("seats", "start"), BATCHES)
def test_every_game_ends_after_ten_turns_with_its_books_in_order(seats: int, start: int) -> None:
    """[Pacific 2.1] Money made is money had, tokens placed and not removed are on the mat, the richest win."""
    for seed in range(start, start + BATCH):
        commits = played.__wrapped__("plain", seats, seed)
        end, events = commits[-1].after, events_of(commits)
        assert (end.turn, len(end.history), end.phase) == (10, 10, Phase.OVER)
        assert [(player.holdings.money, tokens_of(player)) for player in end.players] == [
            booked(events, seat) for seat in range(seats)
        ]
        assert sorted(cards_of(end)) == sorted(DECK.ids)
        most = max(player.holdings.money for player in end.players)
        winners = tuple(seat for seat, player in enumerate(end.players) if player.holdings.money == most)
        assert end.result is not None
        assert (end.result.reason, end.result.winners) == (EndReason.TENTH_TURN, winners)


@a_game
def test_the_invariants_hold_after_every_event(temper: str, seats: int, seed: int) -> None:
    """[P-49] Money never falls; [Pacific 1.3] counts are never negative, HQs agree; every card is in one place."""
    state = GAME.initial(seats)
    for event in events_of(played(temper, seats, seed)):
        before, state = state, GAME.evolve(state, event)
        assert (event, list(broken(before, state))) == (event, [])


@a_game
def test_replaying_the_events_gives_the_same_state(temper: str, seats: int, seed: int) -> None:
    """[Pacific 7] A fold never evaluates rules or randomness again."""
    commits = played(temper, seats, seed)
    assert fold(GAME, GAME.initial(seats), events_of(commits)) == commits[-1].after


@a_game
def test_deciding_every_command_again_gives_the_recorded_events(temper: str, seats: int, seed: int) -> None:
    """[Pacific 1.6] The shuffle is the only random act, so any draws do for the rest."""
    commits = played(temper, seats, seed)
    again = [GAME.decide(one.before, one.command, draws_of(0)) for one in commits if one.command is not None]
    assert again == [one.events for one in commits[1:]]
    assert GAME.begin(GAME.initial(seats), draws_of(seed), draw_start=True) == commits[0].events


@a_game
def test_an_execution_leads_from_its_start_to_where_its_player_stands(temper: str, seats: int, seed: int) -> None:
    """[Pacific 3.7] Going through the same answers again gives the same mat, money and open decision."""
    for commit in played(temper, seats, seed)[::3]:
        for seat, player in enumerate(commit.after.players):
            if player.execution is not None:
                asked = player.execution.decision
                opened = replace(player, decisions=player.decisions - (asked is not None))
                again = proceed(DECK, seat, opened, player.execution)
                assert (again.holdings, again.decision) == (player.holdings, asked)


@a_game
def test_events_come_in_the_order_of_the_phases(temper: str, seats: int, seed: int) -> None:
    """[Pacific 2.1] Set-up, ten turns, and the end, of which resignations may cut something off."""
    word = "".join(LETTERS.get(type(event), "") for event in events_of(played(temper, seats, seed)))
    turn = f"(p+P){{1,2}}{'D' if seats == 2 else ''}c+Cx{{{seats}}}E"
    pattern = re.compile(f"KH{{{seats}}}(s+SS)?({turn}){{10}}G")
    resigned = len(played(temper, seats, seed)[-1].after.resigned)
    assert pattern.fullmatch(word) or (resigned and word.endswith("G"))


@a_game
def test_a_phase_waits_only_for_those_it_asks(temper: str, seats: int, seed: int) -> None:
    """[Pacific 2.1] And ends with the last of them, in the same commit."""
    for commit in played(temper, seats, seed)[:-1]:
        state = commit.after
        legal = [GAME.legal(state, seat) for seat in range(seats)]
        asked = [bool(one.setup_areas or one.put_out_card_ids or one.choose or one.decision) for one in legal]
        assert GAME.to_act(state)
        assert all(asked[seat] for seat in GAME.to_act(state))


@a_game
def test_what_is_listed_is_accepted(temper: str, seats: int, seed: int) -> None:
    """[Pacific 3.7] Any listed command, of whoever may answer."""
    states = seeded(seed).sample([commit.after for commit in played(temper, seats, seed)[:-1]], 25)
    listed = [
        (state, command)
        for state in states
        for seat in range(seats)
        for command in some_of(list(islice(expand(GAME.legal(state, seat), seat), 300)))
    ]
    assert [command for state, command in listed if not is_accepted(state, command)] == []


def some_of(commands: list[Command]) -> list[Command]:
    """Return a few commands from everywhere in a list."""
    return commands[:3] + commands[3 :: max(1, len(commands) // 5)]


@a_game
def test_what_is_not_listed_is_refused(temper: str, seats: int, seed: int) -> None:
    """[Pacific 3.7] The list is complete: commands near it are accepted if and only if it describes them."""
    random = seeded(seed)
    states = random.sample([commit.after for commit in played(temper, seats, seed)[:-1]], 30)
    tried = [(state, near_legal(state, random)) for state in states for _ in range(12)]
    judged = [(state, command) for state, command in tried if is_countable(state, command)]
    wrong = [
        command
        for state, command in judged
        if is_accepted(state, command) != is_listed(GAME.legal(state, command.seat), command)
    ]
    assert wrong == []


@a_game
def test_the_automatic_command_is_always_accepted(temper: str, seats: int, seed: int) -> None:
    """[P-52] For whoever is to act."""
    states = [commit.after for commit in played(temper, seats, seed)[:-1:3]]
    automatic = [(state, GAME.automatic(state, seat)) for state in states for seat in GAME.to_act(state)]
    assert [command for state, command in automatic if not is_accepted(state, command)] == []
    assert [command for state, command in automatic if not is_listed(GAME.legal(state, command.seat), command)] == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seats", SEATS)
def test_the_order_of_simultaneous_commands_does_not_matter(seats: int, seed: int) -> None:
    """[P-1, P-2] Within a phase, whoever answers first, each seat its own commands in their order."""
    random = seeded(seed)
    for span in spans(played("plain", seats, seed)):
        commands = [commit.command for commit in span if commit.command is not None]
        state = span[0].before
        for command in interleaved(commands, random):
            state = after(state, *GAME.decide(state, command, draws_of(0)))
        assert state == span[-1].after


def spans(commits: Iterable[Commit]) -> list[list[Commit]]:
    """Return the commits of a game phase by phase, without the set-up."""
    found: dict[tuple[int, Phase], list[Commit]] = {}
    for commit in commits:
        if commit.command is not None:
            found.setdefault((commit.before.turn, commit.before.phase), []).append(commit)
    return list(found.values())


def interleaved(commands: list[Command], random: Random) -> list[Command]:
    """Return the commands in another order, which is still the same for each seat."""
    seats = [command.seat for command in commands]
    queues = {seat: [command for command in commands if command.seat == seat] for seat in seats}
    return [queues[seat].pop(0) for seat in random.sample(seats, len(seats))]


@pytest.mark.parametrize("seats", SEATS)
def test_automatic_players_finish_too(seats: int) -> None:
    """[P-52] Ten turns of defaults."""
    end = played("absent", seats, 0)[-1].after
    assert (end.turn, end.phase, len(end.history)) == (10, Phase.OVER, 10)


@pytest.mark.parametrize("seats", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_who_resigns_comes_last_and_the_others_play_on(seats: int, seed: int) -> None:
    """[P-52] Until one is left, or the ten turns are over."""
    random = seeded(seed)
    middle = random.choice([one.after for one in played("plain", seats, seed)[1:-1]])
    leaver = random.randrange(seats)
    state = after(middle, *GAME.decide(middle, Resign(leaver), draws_of(seed)))
    while to_act := GAME.to_act(state):
        assert leaver not in to_act
        command = plain(state, to_act[0], GAME.legal(state, to_act[0]), random)
        state = after(state, *GAME.decide(state, command, draws_of(seed)))
    outcome = GAME.outcome(state)
    assert outcome is not None
    assert (state.turn, outcome.places[leaver], outcome.resigned) == (10, seats, False)


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("seed", range(4))
def test_steps_in_the_default_order_do_what_the_default_order_does(seats: int, seed: int) -> None:
    """[P-33] No steps at all are the default order with factories that remove nothing."""
    opened = [
        (commit.after, event)
        for commit in played("fickle", seats, seed)
        for event in commit.events
        if isinstance(event, DecisionOpened) and isinstance(event.decision.question, RunArea)
    ]
    for state, event in opened:
        if open_decision(state, event.seat) != event.decision:
            continue
        answers = [SteppedRun(), FactoryRun()]
        ends = [
            GAME.decide(state, AnswerDecision(event.seat, event.decision.decision_id, answer), draws_of(0))[1:]
            for answer in answers
        ]
        assert ends[0] == ends[1]
