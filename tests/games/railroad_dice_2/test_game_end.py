"""What brings on the final phase, what may be done in it, how it ends, and who wins [Railroad Dice 2 5]."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.railroad_dice_2.commands import (
    Build,
    BuyLocomotive,
    Command,
    EndTurn,
    RestockAll,
    ReturnDice,
    RollDice,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.ending import places
from promontory.games.railroad_dice_2.events import (
    DiceReturned,
    DiePlaced,
    EndTriggered,
    FinalRefill,
    GameOver,
    IncomePaid,
    Linked,
    LocomotiveBought,
    LocomotivesScrapped,
    PassengersMoved,
    TurnEnded,
    TurnStarted,
)
from promontory.games.railroad_dice_2.state import State
from promontory.games.railroad_dice_2.vocabulary import DieKind, EndReason, EndTrigger, Phase
from tests.support.railroad_dice_2 import (
    GAME,
    at,
    beside,
    carry,
    decide,
    dice_in_bank,
    final,
    game_with,
    given,
    hand,
    money,
    only,
    passengers,
    place,
    position,
    state_after,
    step,
    take,
)
from tests.support.railroad_maps import A, B, C

SIMPLE = DieKind.SIMPLE
NEAR = """
    ........
    .A─g....
    ......B.
    ........
    """


def triggers(state: State, *commands: Command) -> tuple[EndTrigger, ...]:
    """Return what has triggered the final phase after commands in the game as it is shipped."""
    return state_after(state, *commands, game=GAME).triggers


# All stations


LINKING = """
    ........
    .A─.g...
    .└────B.
    ........
    """


def test_a_link_to_all_stations_triggers_the_end_at_once() -> None:
    """[S-66, R-48, Railroad Dice 2 5.2] The other die returns, everything is refilled, and A may go on."""
    after = (
        given(position(LINKING, dice="straight curve", money=20, locomotives=["2"]), game=GAME)
        .when(place(1, "straight", 1, to=(3, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(3, 1), 0),
            Linked(A, at(4, 1), by=A),
            IncomePaid(A, at(4, 1), 5),
            DiceReturned(A, (2,)),
            EndTriggered((EndTrigger.ALL_STATIONS,)),
            FinalRefill(beside("T1 5, T2 10")),
        )
    )
    assert (passengers(after), after.phase, after.active) == ({"T1": 10, "T2": 20}, Phase.FINAL, A)
    given(after, game=GAME).when(BuyLocomotive(A, 2), carry(2, by=2, start=(4, 1))).then(
        LocomotiveBought(A, 2, 5), PassengersMoved(A, at(4, 1), "T2", 2, 2, 2)
    )


def test_whoever_is_linked_to_all_stations_counts_not_only_the_builder() -> None:
    """[R-48, R-23] Here B is, by A's die, though A is not."""
    before = position(
        """
        ............
        .A─8──.─B...
        ...└g.......
        ............
        """,
        dice="straight",
    )
    assert triggers(before, place(1, "straight", 1, to=(6, 1))) == (EndTrigger.ALL_STATIONS,)


def test_an_option_switches_the_condition_off() -> None:
    """[Railroad Dice 2 5.1] `all_stations: false`."""
    before = position(LINKING, dice="straight curve")
    assert state_after(before, place(1, "straight", 1, to=(3, 1))).phase is Phase.TURN


def test_a_batch_that_runs_past_the_end_is_refused() -> None:
    """[S-67, Railroad Dice 2 6.2] The step that triggers the end may be sent alone."""
    steps = (step(1, "straight", 1, to=(3, 1)), step(2, "curve", 1, to=(1, 0)))
    given(position(LINKING, dice="straight curve"), game=GAME).when(Build(A, steps)).refused(
        "WRONG_PHASE", rule="Railroad Dice 2 6.1", phase="final", step=1
    )
    assert triggers(position(LINKING, dice="straight curve"), Build(A, steps[:1])) == (EndTrigger.ALL_STATIONS,)


# The bank


def test_income_that_the_bank_cannot_pay_triggers_the_end() -> None:
    """[S-37, R-38, R-50] It is paid in full, and so is the final refill."""
    before = position(
        """
        ........
        .A─.g...
        ......B.
        ........
        """,
        dice="straight straight straight",
        bank=3,
    )
    after = (
        given(before)
        .when(place(1, "straight", 1, to=(3, 1)))
        .then(
            DiePlaced(A, 1, SIMPLE, "straight", 1, at(3, 1), 0),
            Linked(A, at(4, 1), by=A),
            IncomePaid(A, at(4, 1), 5),
            DiceReturned(A, (2, 3)),
            EndTriggered((EndTrigger.BANK_EMPTY,)),
            FinalRefill(beside("T1 5, T2 10")),
        )
    )
    assert (money(after)[A], after.bank, passengers(after)) == (15, -17, {"T1": 10, "T2": 20})
    assert (after.phase, after.active) == (Phase.FINAL, A)


# The dice


def test_complex_dice_are_counted_only_with_an_empty_hand() -> None:
    """[S-68, R-49] One die kept and returned leaves two in the bank; placed, it leaves one."""
    state = position(NEAR, complex_dice=3)
    rolled = state_after(state, RollDice(A, 0, 2), game=GAME)
    assert (rolled.complex_dice, rolled.phase) == (1, Phase.TURN)
    assert triggers(rolled, ReturnDice(A, (2,))) == ()
    kept = replace(rolled, turn=replace(rolled.turn, hand=hand("switch_right orange?")))
    placed = state_after(kept, place(1, "switch_right", 1, to=(2, 1)), game=GAME)
    assert triggers(placed, EndTurn(A)) == ()
    both = replace(placed, turn=replace(placed.turn, hand=hand("=straight")))
    assert triggers(both, place(1, "straight", 0, to=(2, 2))) == (EndTrigger.COMPLEX_DICE,)
    assert triggers(both, ReturnDice(A, (1,))) == (EndTrigger.COMPLEX_DICE,)


def test_two_dice_in_all_trigger_the_end() -> None:
    """[S-69, R-49] Two orange ones, for example."""
    before = position(NEAR, dice="straight", simple_dice=0, complex_dice=2)
    assert triggers(before, place(1, "straight", 0, to=(1, 2))) == (EndTrigger.DICE,)


def test_white_dice_alone_do_not_end_the_game() -> None:
    """[S-70, R-49] The next turn is left with two orange dice, or one taken, or a restock."""
    before = position(NEAR, dice="straight", simple_dice=0, complex_dice=5)
    after = state_after(before, place(1, "straight", 0, to=(1, 2)), EndTurn(A), game=GAME)
    legal = GAME.legal(after, B)
    assert [(roll.simple, roll.complex) for roll in legal.rolls] == [(0, 2)]
    assert (bool(legal.take_complex), legal.restock_all) == (False, True)


def test_dice_that_return_at_the_end_of_a_turn_are_counted() -> None:
    """[Railroad Dice 2 4.6, R-49] The next player's turn is then the first one of the final phase."""
    before = position(NEAR, dice="straight", simple_dice=1, complex_dice=0)
    given(before, game=GAME).when(EndTurn(A)).then(
        DiceReturned(A, (1,)),
        EndTriggered((EndTrigger.COMPLEX_DICE, EndTrigger.DICE)),
        FinalRefill(beside("T1 10, T2 5")),
        TurnEnded(5, A, auto=False, stalled=1, idle=0),
        TurnStarted(6, B),
    )


def test_all_reasons_that_hold_are_recorded() -> None:
    """[R-60] In the order of the table, with one refill."""
    before = position(LINKING, dice="straight", bank=4, simple_dice=0, complex_dice=1)
    events, _ = decide(before, place(1, "straight", 1, to=(3, 1)), game=GAME)
    reasons = (EndTrigger.ALL_STATIONS, EndTrigger.BANK_EMPTY, EndTrigger.COMPLEX_DICE, EndTrigger.DICE)
    assert only(events, EndTriggered) == [EndTriggered(reasons)]
    assert len(only(events, FinalRefill)) == 1


# Stalling


def test_three_rounds_without_any_effect_trigger_the_end() -> None:
    """[R-56] Rolling and returning dice is no effect."""
    before = position(NEAR, stalled=5)
    given(before, game=GAME).when(RollDice(A, 4, 0), EndTurn(A)).then_last(
        DiceReturned(A, (1, 2, 3, 4)),
        EndTriggered((EndTrigger.STALL,)),
        FinalRefill(beside("T1 10, T2 5")),
        TurnEnded(5, A, auto=False, stalled=6, idle=0),
        TurnStarted(6, B),
    )


@pytest.mark.parametrize(
    "command",
    [
        place(1, "straight", 0, to=(1, 2)),
        UseLocomotive(A, 2, "T1"),
        BuyLocomotive(A, 2),
        carry(1, by=2, start=(3, 1)),
    ],
)
def test_any_effect_sets_the_count_back(command: Command) -> None:
    """[R-56] A die placed, passengers restocked or carried, a locomotive bought."""
    before = position(NEAR, dice="straight locomotive", locomotives=["2"], stalled=5)
    assert state_after(before, command, EndTurn(A), game=GAME).stalled == 0


def test_stalling_may_be_switched_off() -> None:
    """[R-56] `stall_rounds: 0`."""
    game = game_with(end__stall_rounds=0)
    after = state_after(position(NEAR, stalled=50), EndTurn(A), game=game)
    assert (after.stalled, after.phase) == (51, Phase.TURN)


# The final phase


@pytest.mark.parametrize(
    "command",
    [
        RollDice(A, 4, 0),
        take("switch_right", 1, to=(2, 1)),
        RestockAll(A),
        place(1, "straight", 0, to=(1, 2)),
        Build(A, (step(1, "straight", 0, to=(1, 2)),)),
        UseLocomotive(A, 1, "T1"),
        ReturnDice(A, (1,)),
    ],
)
def test_there_are_no_dice_in_the_final_phase(command: Command) -> None:
    """[S-71, R-52, Railroad Dice 2 5.3] Only buying, transports, and the end of the turn."""
    given(final(position(NEAR)), game=GAME).when(command).refused(
        "WRONG_PHASE", rule="Railroad Dice 2 6.1", phase="final"
    )


def test_the_player_of_the_trigger_goes_on_with_what_is_not_used_yet() -> None:
    """[R-51] Stations and locomotives that ran stay used."""
    before = position(LINKING, dice="straight", locomotives=["2 2"], passengers="T1 5, T2 10")
    going_on = given(before, game=GAME)
    run, link = carry(1, by=2, start=(6, 2)), place(1, "straight", 1, to=(3, 1))
    going_on.when(run, link, run).refused("STATION_USED", rule="Railroad Dice 2 4.5", x=6, y=2)
    assert going_on.when(run, link, carry(2, by=2, start=(4, 1))).then_state(money) == [10 + 1 + 5 + 2, 10]


def test_the_first_4_scraps_in_the_final_phase_too() -> None:
    """[Railroad Dice 2 5.3, R-40]."""
    before = final(position(NEAR, money=15, stack=(4, 5), locomotives=["2", "2"]))
    given(before, game=GAME).when(BuyLocomotive(A, 4)).then(LocomotiveBought(A, 4, 15), LocomotivesScrapped(2, (1, 1)))


def test_the_game_ends_at_once_when_no_passengers_are_left() -> None:
    """[S-72, R-53] Inside the turn."""
    before = final(position(NEAR, passengers="T1 1", locomotives=["2"]))
    after = (
        given(before, game=GAME)
        .when(carry(1, by=2, start=(3, 1)))
        .then(PassengersMoved(A, at(3, 1), "T1", 2, 1, 1), GameOver(EndReason.NO_PASSENGERS, (11, 10), (1, 2)))
    )
    assert (after.phase, GAME.to_act(after)) == (Phase.OVER, ())


def test_the_game_ends_after_a_round_of_idle_turns() -> None:
    """[S-73, S-74, R-53] B and C are passed by the rules; A's own end of turn is the third idle one."""
    before = final(position(NEAR, seats=3, money=[10, 0, 0], locomotives=["2"]), idle=2)
    given(before, game=GAME).when(EndTurn(A)).then(
        TurnEnded(5, A, auto=False, stalled=0, idle=3), GameOver(EndReason.IDLE_ROUND, (10, 0, 0), (1, 2, 2))
    )


def test_a_player_who_can_do_nothing_is_passed() -> None:
    """[S-74, Railroad Dice 2 5.3] No transport and too little money, or nothing to buy; it counts as idle."""
    before = final(position(NEAR, seats=3, money=[10, 4, 30], locomotives=["2"]))
    given(before, game=GAME).when(carry(1, by=2, start=(3, 1)), EndTurn(A)).then_last(
        TurnEnded(5, A, auto=False, stalled=0, idle=0),
        TurnStarted(6, B),
        TurnEnded(6, B, auto=True, stalled=0, idle=1),
        TurnStarted(7, C),
    )
    nothing_left = replace(before, stack=())
    given(nothing_left, game=GAME).when(carry(1, by=2, start=(3, 1)), EndTurn(A)).then_last(
        TurnEnded(5, A, auto=False, stalled=0, idle=0),
        TurnStarted(6, B),
        TurnEnded(6, B, auto=True, stalled=0, idle=1),
        TurnStarted(7, C),
        TurnEnded(7, C, auto=True, stalled=0, idle=2),
        TurnStarted(8, A),
    )


def test_a_turn_that_has_begun_is_not_passed() -> None:
    """[Railroad Dice 2 5.3] After the last thing possible the player ends it."""
    before = final(position(NEAR, money=[0, 10], locomotives=["2"]))
    after = state_after(before, carry(1, by=2, start=(3, 1)), game=GAME)
    assert GAME.to_act(after) == (A,)


def test_the_turn_of_the_trigger_is_never_idle() -> None:
    """[Railroad Dice 2 5.3] Nor is it passed, though A can do nothing any more."""
    before = position(NEAR, dice="straight", simple_dice=0, complex_dice=2, money=[0, 0])
    given(before, game=GAME).when(place(1, "straight", 0, to=(1, 2)), EndTurn(A)).then_last(
        TurnEnded(5, A, auto=False, stalled=0, idle=0),
        TurnStarted(6, B),
        TurnEnded(6, B, auto=True, stalled=0, idle=1),
        TurnStarted(7, A),
        TurnEnded(7, A, auto=True, stalled=0, idle=2),
        GameOver(EndReason.IDLE_ROUND, (0, 0), (1, 2)),
    )


# Ranking


def standing(dollars: int, links: str, locomotives: str) -> State:
    """Return a game for one whose seat has so much money, links to so many stations, and these locomotives."""
    stations = f"g─A─{'g' if links == '2' else '.'}"
    text = f"""
        {stations}....
        ........
        ........
        ........
        """
    return position(text, seats=1, money=dollars, locomotives=[locomotives])


@pytest.mark.parametrize(
    ("standings", "expected"),
    [
        ([(61, "1", "5"), (61, "1", "6"), (40, "2", "6")], (2, 1, 3)),
        ([(61, "1", "5"), (61, "1", "2 5"), (40, "2", "6")], (1, 1, 3)),
        ([(61, "1", "6"), (61, "2", ""), (62, "1", "")], (3, 2, 1)),
        ([(5, "1", ""), (5, "1", "2"), (5, "1", "")], (2, 1, 2)),
    ],
)
def test_money_then_links_then_the_best_locomotive_decide(
    standings: list[tuple[int, str, str]], expected: tuple[int, ...]
) -> None:
    """[S-75, R-55, Railroad Dice 2 5.4] Who is still tied shares the place."""
    players = tuple(standing(*one).players[0] for one in standings)
    assert places(replace(standing(0, "1", ""), players=players)) == expected


def test_the_outcome_tells_places_and_money() -> None:
    """[Railroad Dice 2 5.4] Nothing but money counts."""
    before = final(position(NEAR, seats=3, money=[10, 0, 0], locomotives=["2"]), idle=2)
    assert GAME.outcome(before) is None
    outcome = GAME.outcome(state_after(before, EndTurn(A), game=GAME))
    assert outcome is not None
    assert (outcome.reason, outcome.resigned, outcome.places, outcome.scores) == (
        "idle_round",
        False,
        (1, 2, 2),
        (10, 0, 0),
    )


def test_dice_of_the_trigger_return_to_the_bank() -> None:
    """[Railroad Dice 2 5.2] Before the refill."""
    after = state_after(position(LINKING, dice="straight curve orange?"), place(1, "straight", 1, to=(3, 1)), game=GAME)
    assert (after.turn.hand, dice_in_bank(after)) == ((), (21, 16))
