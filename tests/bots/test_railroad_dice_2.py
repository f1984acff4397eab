"""The policies of Railroad Dice 2 [Railroad Dice 2 1.7]."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from time import process_time
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.bots.arena import Plan, play, run_arena
from promontory.bots.port import NotToActError, Policy
from promontory.bots.railroad_dice_2 import POLICIES
from promontory.games.railroad_dice_2.commands import (
    BuyLocomotive,
    Command,
    EndTurn,
    PlaceGray,
    PlaceHome,
    PlaceTile,
    ReturnDice,
    RollDice,
    Transport,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.decider import RailroadDice2
from promontory.games.railroad_dice_2.legal import expand
from promontory.games.railroad_dice_2.state import State, Turn
from promontory.games.railroad_dice_2.vocabulary import EndTrigger, Phase
from tests.bots.railroad_dice_2_tables import GREEDY, RANDOM, choice, moments, on_map
from tests.support.railroad_dice_2 import (
    GAME,
    VARIABLE,
    at,
    begun,
    carry,
    final,
    game_with,
    place,
    seeded,
    state_after,
    take,
)
from tests.support.railroad_dice_2_play import GAMES, SEATS, draws_of

BOTH = pytest.mark.parametrize("chooser", [GREEDY, RANDOM], ids=["greedy", "random"])
A_TABLE = pytest.mark.parametrize(("layout", "seats"), [(layout, seats) for layout in GAMES for seats in SEATS])
TO_BEGIN = Turn(5)
"""A turn in which nothing has been done yet."""


# Legal to the end


@pytest.mark.parametrize("seed", range(3))
@A_TABLE
def test_mixed_tables_play_to_the_end(layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 5.5] No command is refused on the way."""
    assert moments(layout, seats, seed)[-1].phase is Phase.OVER


@pytest.mark.parametrize("seed", range(3))
@A_TABLE
def test_random_tables_play_to_the_end(layout: str, seats: int, seed: int) -> None:
    """[Railroad Dice 2 5.5] The rules themselves end every game."""
    played = play(GAMES[layout], [RANDOM] * seats, seed=seed, number=seed, cpu_clock=process_time)
    assert played.turns >= seats


@pytest.mark.parametrize(
    "game",
    [
        pytest.param(game_with(restocking__restock_mode="fill"), id="tiles are filled up"),
        pytest.param(game_with(trains__reversing=True), id="trains reverse"),
        pytest.param(game_with(end__all_stations=False, end__stall_rounds=0), id="fewer ends"),
        pytest.param(game_with(money__start_money=0), id="no money"),
    ],
)
@pytest.mark.parametrize("name", POLICIES)
def test_policies_play_with_any_component_file(name: str, game: RailroadDice2) -> None:
    """[Railroad Dice 2 10] They are made for the game they play."""
    policies = [POLICIES[name](game), *[RANDOM] * 2]
    assert play(game, policies, seed=1, number=0, cpu_clock=process_time).turns >= 3


# What a policy may know


@BOTH
def test_a_policy_has_no_memory(chooser: Policy) -> None:
    """The same view and the same random numbers give the same command, whatever was asked in between."""
    asked = [state for state in moments("variable", 3, 1)[::9] if state.phase is not Phase.OVER]
    first = [choice(chooser, state, seat=state.active) for state in asked]
    assert [choice(chooser, state, seat=state.active) for state in reversed(asked)] == first[::-1]


def test_greedy_needs_random_numbers_in_the_set_up_only() -> None:
    """Its turns follow from what lies on the table."""
    asked = [state for state in moments("beginners", 3, 1) if state.phase in (Phase.TURN, Phase.FINAL)]
    chosen = [{choice(GREEDY, state, seat=state.active, seed=seed) for seed in range(2)} for state in asked[::3]]
    assert {len(commands) for commands in chosen} == {1}


@BOTH
@pytest.mark.parametrize(
    ("state", "seat"),
    [
        pytest.param(begun(3), None, id="a spectator"),
        pytest.param(begun(3), 1, id="another seat in the set-up"),
        pytest.param(on_map(".A.g", "......B."), 1, id="another seat's turn"),
        pytest.param(moments("beginners", 2, 1)[-1], 0, id="after the end"),
    ],
)
def test_a_policy_does_not_act_out_of_turn(chooser: Policy, state: State, seat: int | None) -> None:
    """Asked for a seat that is not waited for, it says so."""
    with pytest.raises(NotToActError):
        chooser(GAME.view(state, seat), seeded(1))


# At random


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(begun(2, game=VARIABLE), id="the first tile"),
        pytest.param(begun(2), id="a home"),
        pytest.param(state_after(begun(2), PlaceHome(0, at(1, 1)), PlaceHome(1, at(5, 2))), id="a gray station"),
        pytest.param(on_map(".A──.g", "......B", turn=TO_BEGIN), id="the dice action"),
        pytest.param(on_map(".A──.g", "......B", dice="? straight locomotive"), id="the hand"),
        pytest.param(on_map(".A──g", "......B", locomotives=["2 3"], dice="curve"), id="trains and a locomotive"),
        pytest.param(final(on_map(".A──g", "......B", locomotives=["3"])), id="the final phase"),
    ],
)
def test_random_plays_everything_that_is_legal(state: State) -> None:
    """[Railroad Dice 2 6.3] No command is out of reach, and none comes that is not listed."""
    random, view = seeded(1), GAME.view(state, 0)
    chosen = {RANDOM(view, random) for _ in range(3000)}
    assert chosen == set(expand(GAME.legal(state, 0), 0))


def test_random_does_not_return_dice_more_often_than_anything_else() -> None:
    """[Railroad Dice 2 4.3] However many ways there are to return dice of a full hand."""
    state, random = on_map(".A──.g", "......B", dice="curve curve curve curve"), seeded(1)
    chosen = [RANDOM(GAME.view(state, 0), random) for _ in range(2000)]
    others = sum(not isinstance(command, ReturnDice) for command in expand(GAME.legal(state, 0), 0))
    assert sum(isinstance(one, ReturnDice) for one in chosen) / 2000 == pytest.approx(1 / (others + 1), abs=0.02)


@pytest.mark.parametrize("seats", SEATS)
def test_games_of_random_players_take_about_as_long_as_expected(seats: int) -> None:
    """[Railroad Dice 2 1.7] The end was triggered after 15, 10 and 8 rounds; a wide band for so few games."""
    expected = {2: 15, 3: 10, 4: 8}[seats]
    triggered = [-(-state.triggered_turn // seats) for state in map(_random_end, [seats] * 8, range(8))]
    assert fmean(triggered) == pytest.approx(expected, rel=0.5)


def _random_end(seats: int, seed: int) -> State:
    random, rng = seeded(seed), draws_of(seed)
    state = begun(seats, rng)
    while to_act := GAME.to_act(state):
        state = state_after(state, RANDOM(GAME.view(state, to_act[0]), random), game=GAME, rng=rng)
    return state


# Greedy in the set-up


def placed_by_greedy(state: State) -> Iterator[Command]:
    """Yield what greedy does in a position, with many random numbers."""
    for seed in range(30):
        yield choice(GREEDY, state, seat=state.active, seed=seed)


def test_greedy_lays_tiles_that_keep_the_map_together() -> None:
    """[R-42] The fourth of these makes a block, whichever side of it is open."""
    laid = [PlaceTile(seat, f"T{n}", at(*corner), 0) for seat, n, corner in [(0, 1, (0, 0)), (1, 2, (4, 0))]]
    state = state_after(begun(2, game=VARIABLE), *laid, PlaceTile(0, "T3", at(0, 4), 0), game=VARIABLE)
    squares = {command.square for command in placed_by_greedy(state) if isinstance(command, PlaceTile)}
    assert at(4, 4) in squares
    assert {max(abs(square.x - 2), abs(square.y - 2)) <= 4 for square in squares} == {True}


def test_greedy_places_its_home_in_the_middle() -> None:
    """[Railroad Dice 2 3.3] On any of the tiles there, so that games differ."""
    homes = {command.square for command in placed_by_greedy(begun(2)) if isinstance(command, PlaceHome)}
    assert {begun(2).map.plan.tile_at(square) for square in homes} == {"T2", "T5"}


def test_greedy_places_gray_stations_near_its_home_and_far_from_others() -> None:
    """[Railroad Dice 2 3.4] On this side of it."""
    state = state_after(begun(2), PlaceHome(0, at(5, 2)), PlaceHome(1, at(9, 5)))
    grays = {command.square for command in placed_by_greedy(state) if isinstance(command, PlaceGray)}
    assert {square.x < 9 and square.y < 4 for square in grays} == {True}


# Greedy with dice

FAR_HOME = ["." * 12] * 5 + ["." * 11 + "B"]
"""Rows without anything, and the other home in the corner."""


def on_turn(*rows: str, **fields: Any) -> State:
    """Return a position whose first rows are drawn, the other home far away, with nothing left to do but trains."""
    return on_map("", *rows, *FAR_HOME[len(rows) - 1 :], **{"turn": Turn(5, dice_action_used=True), **fields})


@pytest.mark.parametrize(
    ("rows", "dice", "command"),
    [
        pytest.param(".A─.g", "straight", place(1, "straight", 1, to=(3, 1)), id="the link it can make"),
        pytest.param(".A─.g", "curve curve ?", place(3, "straight", 1, to=(3, 1)), id="a question mark that makes it"),
        pytest.param(".A....g", "curve straight", place(2, "straight", 1, to=(2, 1)), id="a way to a station"),
        pytest.param(".A─.g", "locomotive straight", place(2, "straight", 1, to=(3, 1)), id="track before passengers"),
    ],
)
def test_greedy_places_dice_that_lead_to_stations(rows: str, dice: str, command: Command) -> None:
    """[Railroad Dice 2 2.5] The link at once, or the way to it."""
    assert choice(GREEDY, on_turn(rows, dice=dice, turn=None)) == command


def test_greedy_goes_round_water_if_that_takes_no_more_dice() -> None:
    """[R-33] A dollar is a dollar."""
    state = on_turn(".A", "..g", dice="curve", turn=None, terrain={(2, 1): "^"})
    assert choice(GREEDY, state) == place(1, "curve", 0, to=(1, 2))


def test_greedy_leaves_dice_that_lead_away() -> None:
    """[Railroad Dice 2 4.6] They return to the bank."""
    state = on_map("", ".A───────.B", dice="curve", money=0)
    assert choice(GREEDY, state) == EndTurn(0)


def test_greedy_rolls_simple_dice_while_there_is_no_track() -> None:
    """[R-13] Complex dice need simple ones to lie on."""
    assert choice(GREEDY, on_turn(".A....g", turn=TO_BEGIN)) == RollDice(0, 4, 0)


def test_greedy_takes_the_complex_die_that_makes_a_link() -> None:
    """[R-15] The one face and square that the roll might not bring."""
    assert choice(GREEDY, on_turn(".A───", "....g", turn=TO_BEGIN)) == take("switch_right", 1, to=(4, 1))


def test_greedy_does_without_dice_that_the_bank_lacks() -> None:
    """[R-13] With none left nothing can be rolled."""
    state = on_turn(".A───", "....g", turn=TO_BEGIN, simple_dice=0, complex_dice=0, stack=())
    assert choice(GREEDY, state) == EndTurn(0)


@pytest.mark.parametrize(
    ("rows", "command"),
    [
        pytest.param([".A─g"], UseLocomotive(0, 1, "T1"), id="on its own tile"),
        pytest.param([".A─g", "", "........g──B"], UseLocomotive(0, 1, "T1"), id="rather than where others carry"),
        pytest.param([".A", "", "........g──B"], EndTurn(0), id="not where only others carry"),
    ],
)
def test_greedy_restocks_where_it_gets_more_than_others(rows: list[str], command: Command) -> None:
    """[R-18] With locomotives that can carry as much as those of the others."""
    state = on_turn(*rows, dice="locomotive", turn=None, locomotives=["2", "2"], passengers="", stack=())
    assert choice(GREEDY, state) == command


# Greedy with trains


@pytest.mark.parametrize(
    ("rows", "passengers", "command"),
    [
        pytest.param([".A──g"], "T2 3", carry(3, by=4, start=(4, 1)), id="a full load, or nearly"),
        pytest.param([".A─g"], "T1 2", carry(2, by=2, start=(3, 1)), id="by the slowest that takes them all"),
        pytest.param([".A─g", ".└──────g"], "T1 2, T3 2", carry(2, by=4, start=(8, 2)), id="from far away first"),
    ],
)
def test_greedy_carries_as_much_as_it_can(rows: list[str], passengers: str, command: Transport) -> None:
    """[Railroad Dice 2 4.5] The largest load first."""
    assert choice(GREEDY, on_turn(*rows, locomotives=["2 4"], passengers=passengers, stack=())) == command


def test_greedy_carries_first_what_others_could_carry() -> None:
    """[R-12] Passengers beside a tile that only its own trains reach are not lost."""
    state = on_map("", ".Ag.....", ".└─────gB", locomotives=["2"], passengers="T1 5, T2 5", stack=())
    state = replace(state, turn=Turn(5, dice_action_used=True))
    assert choice(GREEDY, state) == carry(2, by=2, start=(7, 2))


@pytest.mark.parametrize(
    ("locomotives", "stack", "buys"),
    [
        pytest.param(["2 2", "2 2"], (3,), True, id="for a greater share"),
        pytest.param(["", ""], (2,), True, id="the first of all"),
        pytest.param(["2", ""], (3,), False, id="if it has all of it"),
        pytest.param(["2 2 2", "3"], (4, 5), False, id="if it loses as much"),
        pytest.param(["3", "2 2 2"], (4, 5), True, id="if others lose theirs"),
    ],
)
def test_greedy_buys_locomotives_that_pay(locomotives: list[str], stack: tuple[int, ...], buys: bool) -> None:
    """[R-39, R-40] By the share of the passengers that its locomotives can carry."""
    state = on_turn(".A─g", locomotives=locomotives, stack=stack, money=20)
    assert (choice(GREEDY, state) == BuyLocomotive(0, stack[0])) is buys


@pytest.mark.parametrize(
    ("passengers", "buys"),
    [
        pytest.param("T1 60, T3 60", True, id="many"),
        pytest.param("T1 9, T3 9", False, id="few"),
        pytest.param("T2 90", False, id="none that it can reach"),
    ],
)
def test_greedy_buys_in_the_final_phase_for_passengers_it_shares(passengers: str, buys: bool) -> None:
    """[Railroad Dice 2 5.3] Nothing comes any more; what others cannot reach can be fetched without haste."""
    state = on_map("", ".A─g────B", locomotives=["2", "2"], money=30, passengers=passengers, stack=(3,))
    chosen = choice(GREEDY, final(replace(state, bank=0)))
    assert (chosen == BuyLocomotive(0, 3)) is buys


def test_greedy_ends_its_turn_when_nothing_is_left_to_do() -> None:
    """[Railroad Dice 2 4.6] No run, and no locomotive that pays."""
    assert choice(GREEDY, on_turn(".A─g", money=0)) == EndTurn(0)


# How strong greedy is


@A_TABLE
def test_greedy_beats_random(layout: str, seats: int) -> None:
    """At least 3 of 4 games, whatever the number of seats and the layout; an equal share would be 2 at most."""
    plan = Plan(("greedy", *["random"] * (seats - 1)), games=4)
    result = run_arena(GAMES[layout], plan, cpu_clock=process_time, own={"greedy": GREEDY, "random": RANDOM})
    assert result.policies[0].wins >= 3


def test_greedy_players_build_carry_and_buy() -> None:
    """[Railroad Dice 2 1.7] They end the game by what they do, not by doing nothing."""
    ends = [moments("beginners", seats, 2)[-1] for seats in SEATS]
    assert {EndTrigger.STALL} & {trigger for state in ends for trigger in state.triggers} == set()
