"""What holds in every game of Railroad Dice 2, seen in whole games of random players with fixed seeds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.commands import Build, Command, PlaceDie, PlaceTile, Resign, TakeComplex
from promontory.games.railroad_dice_2.edges import EDGES, ends_of, opposite, pairs_of
from promontory.games.railroad_dice_2.events import (
    ComplexTaken,
    DiceReturned,
    DiceRolled,
    DiePlaced,
    EndTriggered,
    Event,
    FinalRefill,
    GameOver,
    GrayPlaced,
    GrayPlacementEnded,
    HomePlaced,
    IncomePaid,
    LayoutFixed,
    Linked,
    LocomotiveBought,
    LocomotiveFaceUsed,
    LocomotivesScrapped,
    PassengersMoved,
    PassengersPlaced,
    Restocked,
    SeatResigned,
    StartPlayerDrawn,
    TilePlaced,
    TurnEnded,
    TurnStarted,
)
from promontory.games.railroad_dice_2.legal import LegalCommands, expand
from promontory.games.railroad_dice_2.network import network_of, traversed
from promontory.games.railroad_dice_2.placement import LegalPlacement
from promontory.games.railroad_dice_2.sampling import determinize
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, Phase, Square
from tests.support.railroad_dice_2 import GAME, seeded
from tests.support.railroad_dice_2_play import (
    FACES,
    GAMES,
    SEATS,
    Commit,
    draws_of,
    events_of,
    is_accepted,
    is_listed,
    near_legal,
    played,
)

TEMPERS = ["plain", "keen", "wasteful", "builder", "quitter"]
PLAYED = [(temper, layout, seats, 0) for temper in TEMPERS for layout in GAMES for seats in SEATS]
LETTERS = {
    StartPlayerDrawn: "A",
    TilePlaced: "L",
    LayoutFixed: "F",
    HomePlaced: "H",
    GrayPlaced: "G",
    GrayPlacementEnded: "U",
    PassengersPlaced: "P",
    TurnStarted: "T",
    DiceRolled: "R",
    ComplexTaken: "C",
    DiePlaced: "D",
    Linked: "l",
    IncomePaid: "i",
    LocomotiveFaceUsed: "f",
    Restocked: "r",
    DiceReturned: "d",
    LocomotiveBought: "b",
    LocomotivesScrapped: "s",
    PassengersMoved: "p",
    EndTriggered: "X",
    FinalRefill: "Y",
    TurnEnded: "E",
    GameOver: "O",
}
a_game = pytest.mark.parametrize(("temper", "layout", "seats", "seed"), PLAYED)


def history(commits: tuple[Commit, ...], layout: str) -> Iterator[tuple[State, Event, State]]:
    """Yield every event of a game between the states before and after it."""
    state = commits[0].before
    for event in events_of(commits):
        before, state = state, GAMES[layout].evolve(state, event)
        yield before, event, state


def broken(before: State, event: Event, after: State) -> Iterator[str]:
    """Yield the invariants [Railroad Dice 2 6.6] that do not hold after an event."""
    money = [player.money for player in after.players]
    if after.bank + sum(money) + sum(after.passengers) != 360 or min(*money, *after.passengers, 0) < 0:
        yield "1: money is conserved"
    if dice_by_kind(after) != {DieKind.SIMPLE: 30, DieKind.COMPLEX: 20}:
        yield "2: dice are conserved"
    if any(not linked_before <= linked for linked_before, linked in zip(links(before), links(after), strict=True)):
        yield "4: links only grow"
    scrapped = sum(event.counts) if isinstance(event, LocomotivesScrapped) else 0
    bought = isinstance(event, LocomotiveBought)
    if locomotives(before) != locomotives(after) + scrapped or len(before.stack) != len(after.stack) + bought:
        yield "6: locomotives are conserved"
    if after.has_scrapped and any(2 in player.locomotives for player in after.players):
        yield "6: nobody owns a 2 after the first 4"


def dice_by_kind(state: State) -> dict[DieKind, int]:
    """Return how many dice are in the bank, in the hand and on the map."""
    laid = [] if state.board is None else [die.kind for _, die in state.board.laid_dice()]
    counts = Counter([*laid, *(die.kind for die in state.turn.hand)])
    return {
        DieKind.SIMPLE: counts[DieKind.SIMPLE] + state.simple_dice,
        DieKind.COMPLEX: counts[DieKind.COMPLEX] + state.complex_dice,
    }


def links(state: State) -> list[frozenset[Square]]:
    """Return the stations that each seat is linked to."""
    return [player.linked for player in state.players]


def locomotives(state: State) -> int:
    """Return how many locomotives are in the game."""
    return len(state.stack) + sum(len(player.locomotives) for player in state.players)


def faults_of_the_map(state: State) -> Iterator[str]:
    """Yield the invariants [Railroad Dice 2 6.6] that the map and the links to it break."""
    homes = {seat: player.network.home for seat, player in enumerate(state.players) if player.network is not None}
    fresh = {seat: network_of(state.map, home) for seat, home in homes.items()}
    if any(state.players[seat].network != network for seat, network in fresh.items()):
        yield "4: links are those searched from scratch"
    if any(
        (homes[other] in fresh[seat].linked) != (homes[seat] in fresh[other].linked)
        for seat in fresh
        for other in fresh
    ):
        yield "4: homes are linked mutually"
    used = set[object]().union(*(traversed(network, state.map) for network in fresh.values()))
    laid = {(square, pair) for square, die in state.map.laid_dice() for pair in pairs_of(die.tracks)}
    if laid - used:
        yield "5: every pair is in somebody's network"
    for square, die in state.map.laid_dice():
        for edge in EDGES:
            if ends_of(die.tracks) >> edge & 1 and not _may_end(state, square, edge):
                yield "3: no end leaves the map or runs against complex track"


def _may_end(state: State, square: Square, edge: int) -> bool:
    dx, dy = ((0, -1), (1, 0), (0, 1), (-1, 0))[edge]
    onward = Square(square.x + dx, square.y + dy)
    if state.map.plan.tile_at(onward) is None:
        return False
    die = state.map.die_at(onward)
    return die is None or die.kind is DieKind.SIMPLE or bool(ends_of(die.tracks) >> opposite(edge) & 1)


@a_game
def test_every_game_ends(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 5.5] After a final phase, unless all but one resign."""
    end = played(temper, layout, seats, seed)[-1].after
    assert end.result is not None
    assert end.phase is Phase.OVER
    assert bool(end.triggers) or end.result.reason is EndReason.RESIGNATION
    assert (end.result.reason is EndReason.NO_PASSENGERS) <= (sum(end.passengers) == 0)


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("layout", list(GAMES))
def test_automatic_players_finish_too(layout: str, seats: int) -> None:
    """[R-59, R-56] Three idle rounds bring on the final phase, and one more the end."""
    end = played("absent", layout, seats, 0)[-1].after
    assert (end.turn.number, end.result and end.result.reason) == (4 * seats, EndReason.IDLE_ROUND)


@a_game
def test_the_invariants_hold_after_every_event(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.6] Numbers 1, 2, 4 and 6."""
    steps = history(played(temper, layout, seats, seed), layout)
    assert [(event, fault) for before, event, after in steps for fault in broken(before, event, after)] == []


@a_game
def test_the_map_and_the_links_agree_after_every_placement(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.6, Railroad Dice 2 2.3] Numbers 3, 4 and 5."""
    steps = history(played(temper, layout, seats, seed), layout)
    placed = [(event, after) for _, event, after in steps if isinstance(event, DiePlaced)]
    assert [(event, fault) for event, after in placed for fault in faults_of_the_map(after)] == []


@a_game
def test_replaying_the_events_gives_the_same_state(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.6] Number 7."""
    commits = played(temper, layout, seats, seed)
    game = GAMES[layout]
    assert fold(game, game.initial(seats), events_of(commits)) == commits[-1].after


@a_game
def test_deciding_every_command_again_gives_the_recorded_events(
    temper: str, layout: str, seats: int, seed: int
) -> None:
    """[Railroad Dice 2 7.2] An audit finds the log's draws, and no other."""
    commits, game, rng = played(temper, layout, seats, seed), GAMES[layout], draws_of(seed)
    again = [game.decide(commit.before, commit.command, rng) for commit in commits if commit.command is not None]
    assert again == [commit.events for commit in commits[1:]]
    assert game.begin(game.initial(seats), rng, draw_start=True) == commits[0].events


@a_game
def test_the_events_of_a_game_come_in_the_order_of_the_sheet(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.4] Set-up, whole turns, and the end inside a turn or after one."""
    events = [event for event in events_of(played(temper, layout, seats, seed)) if not isinstance(event, SeatResigned)]
    word = "".join(LETTERS[type(event)] for event in events)
    turn = "T(R|r|C?Dl*i*|fr?|d|bs?|pr?|d?XY)*E"
    assert re.fullmatch(rf"A(L{{6}}F(H{{{seats}}}(G+U?P({turn})*(T[^TE]*)?)?)?|L*)?H*G*O", word)


@a_game
def test_linked_events_tell_what_the_links_are(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 2.5] In the commit of the placement, each station once, and only the builder's are paid."""
    commits = played(temper, layout, seats, seed)
    told = [(event.seat, event.station) for event in events_of(commits) if isinstance(event, Linked)]
    assert sorted(told) == sorted(
        (seat, station) for seat, linked in enumerate(links(commits[-1].after)) for station in linked
    )
    paid = [event.station for event in events_of(commits) if isinstance(event, IncomePaid)]
    own = [event.station for event in events_of(commits) if isinstance(event, Linked) and event.seat == event.by]
    assert set(paid) == set(own)


@a_game
def test_turns_go_round_and_nobody_who_resigned_decides(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 3.1, R-59] Clockwise from the starting player."""
    commits = played(temper, layout, seats, seed)
    turns = [event for event in events_of(commits) if isinstance(event, TurnStarted)]
    start = commits[-1].after.start_seat
    assert turns == [TurnStarted(number, (start + number - 1) % seats) for number in range(1, len(turns) + 1)]
    assert [one.after for one in commits[:-1] if set(GAMES[layout].to_act(one.after)) & {*one.after.resigned}] == []


def some_states(commits: tuple[Commit, ...], seed: int, count: int) -> list[State]:
    """Return states in which somebody is to decide, from everywhere in a game."""
    states = [commit.after for commit in commits[:-1]]
    return seeded(seed).sample(states, min(count, len(states)))


@a_game
def test_what_is_listed_is_accepted(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.3] Any listed command."""
    game = GAMES[layout]
    listed = [
        (state, command)
        for state in some_states(played(temper, layout, seats, seed), seed, 15)
        for command in spread(list(expand(game.legal(state, state.active), state.active)))
    ]
    assert [command for state, command in listed if not is_accepted(game, state, command)] == []


def spread(commands: list[Command]) -> list[Command]:
    """Return all of a short list, and every so many of a long one."""
    return commands[:: max(1, len(commands) // 40)]


@a_game
def test_what_is_not_listed_is_refused(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.3] The list is complete: commands near it are accepted if and only if it describes them."""
    game, random = GAMES[layout], seeded(seed)
    tried = [
        (state, near_legal(state, game.legal(state, state.active), random))
        for state in some_states(played(temper, layout, seats, seed), seed + 1, 25)
        for _ in range(12)
    ]
    wrong = [
        command
        for state, command in tried
        if is_accepted(game, state, command) != is_listed(game.legal(state, command.seat), command)
    ]
    assert wrong == []


@pytest.mark.parametrize("temper", ["plain", "keen", "builder"])
@pytest.mark.parametrize("layout", list(GAMES))
@pytest.mark.parametrize("seats", SEATS)
def test_of_all_possible_placements_exactly_the_listed_ones_are_accepted(temper: str, layout: str, seats: int) -> None:
    """[Railroad Dice 2 6.3, Railroad Dice 2 2.4] Every square, face and rotation for every die that may be placed."""
    game = GAMES[layout]
    holding = [one.after for one in played(temper, layout, seats, 1)[:-1] if one.after.turn.hand]
    for state in seeded(seats).sample(holding, 3):
        legal = game.legal(state, state.active)
        accepted = {command for command in all_placements(state) if is_accepted(game, state, command)}
        assert accepted == set(in_all_rotations(legal, state.active))


def all_placements(state: State) -> Iterator[Command]:
    """Yield all placements that can be said about the dice of the hand, and of a die that is taken."""
    for square in state.map.plan.squares:
        for face in FACES:
            for rotation in range(4):
                for die in state.turn.hand:
                    yield PlaceDie(state.active, die.die, square, rotation, face)
                yield TakeComplex(state.active, square, rotation, face)


def in_all_rotations(legal: LegalCommands, seat: int) -> Iterator[Command]:
    """Yield the placements that `legal` describes, those with other rotations for the same tracks included."""
    for options in legal.dice:
        for option in options.placements:
            yield from (PlaceDie(seat, options.die, option.square, n, option.face) for n in _rotations(option))
    for option in legal.take_complex:
        yield from (TakeComplex(seat, option.square, n, option.face) for n in _rotations(option))


def _rotations(option: LegalPlacement) -> list[int]:
    dice = GAME.box.faces.dice[option.face]
    return [n for n, die in enumerate(dice) if die.rotation == option.rotation]


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("seed", range(3))
def test_of_all_places_for_a_tile_exactly_the_listed_ones_are_accepted(seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.3, Railroad Dice 2 3.2] In the variable layout."""
    game = GAMES["variable"]
    for commit in played("plain", "variable", seats, seed)[:6]:
        state = commit.after
        if state.phase is not Phase.LAYOUT:
            continue
        tiles = GAMES["variable"].legal(state, state.active).place_tile
        assert tiles is not None
        tried = [Square(x, y) for x in range(-26, 27) for y in range(-26, 27)]
        accepted = [
            square
            for square in tried
            if is_accepted(game, state, PlaceTile(state.active, tiles.tile_ids[0], square, 1))
        ]
        assert set(accepted) == set(tiles.squares)


@a_game
def test_batches_do_what_their_steps_do(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 6.2] The same events, one step after the other."""
    game = GAMES[layout]
    for commit in played(temper, layout, seats, seed):
        if isinstance(commit.command, Build):
            state, events = commit.before, list[Event]()
            for step in commit.command.steps:
                single = PlaceDie(commit.command.seat, step.die, step.square, step.rotation, step.face)
                events += game.decide(state, single, draws_of(seed))
                state = fold(game, commit.before, events)
            assert tuple(events) == commit.events


@a_game
def test_the_automatic_command_is_always_accepted(temper: str, layout: str, seats: int, seed: int) -> None:
    """[R-59] For whoever is to act."""
    game = GAMES[layout]
    states = [commit.after for commit in played(temper, layout, seats, seed)[:-1:3]]
    automatic = [(state, game.automatic(state, state.active)) for state in states]
    assert [command for state, command in automatic if not is_accepted(game, state, command)] == []
    assert [command for state, command in automatic if not is_listed(game.legal(state, state.active), command)] == []


@a_game
def test_a_view_shows_the_whole_state(temper: str, layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 7.1] Nothing is hidden: the state can be made from it again."""
    game, random = GAMES[layout], seeded(seed)
    for commit in played(temper, layout, seats, seed)[::5]:
        for seat in (None, 0):
            assert determinize(game.box, game.view(commit.after, seat), random) == commit.after


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("seed", range(3))
def test_resigning_ends_a_game_only_when_one_is_left(seats: int, seed: int) -> None:
    """[R-59] The others play on to the end."""
    random = seeded(seed)
    middle = random.choice([one.after for one in played("plain", "beginners", seats, seed)[1:-1]])
    leaver = random.randrange(seats)
    events = GAME.decide(middle, Resign(leaver), draws_of(seed))
    assert isinstance(events[-1], GameOver) is (seats == 2)


def test_games_of_random_players_show_every_event() -> None:
    """[Railroad Dice 2 6.4] So that what holds in all of them was seen for each."""
    seen = {type(event) for game in PLAYED for event in events_of(played(*game))}
    assert {*LETTERS, SeatResigned} == seen
