"""The bots for Railroad Dice 2 that `promontory bot new` writes: what they go for, and what they leave to others."""

from __future__ import annotations

import pytest

from promontory.bots.port import Policy
from promontory.client.starters import railroad_dice_2, railroad_dice_2_search
from promontory.games.railroad_dice_2.commands import BuyLocomotive, Command, EndTurn, RollDice
from promontory.games.railroad_dice_2.legal import expand
from promontory.games.railroad_dice_2.state import State, Turn
from promontory.games.railroad_dice_2.vocabulary import Phase
from tests.bots.railroad_dice_2_tables import GREEDY, choice, moments, on_map
from tests.support.railroad_dice_2 import GAME, begun, carry, final, place, seeded, take
from tests.support.railroad_dice_2_play import GAMES, SEATS

BOTH = pytest.mark.parametrize(
    "chooser", [railroad_dice_2.choose, railroad_dice_2_search.choose], ids=["first", "searching"]
)
TO_BEGIN, DONE = Turn(5), Turn(5, dice_action_used=True)


@BOTH
@pytest.mark.parametrize("layout", GAMES)
@pytest.mark.parametrize("seats", SEATS)
def test_every_kind_of_decision_is_made_by_the_rules(chooser: Policy, layout: str, seats: int) -> None:
    """[Railroad Dice 2 6.3] Set-up, dice, trains, and the final phase."""
    states = [state for state in moments(layout, seats, 1) if state.phase is not Phase.OVER]
    chosen = [(state, choice(chooser, state, seat=state.active)) for state in states[:12] + states[12::40]]
    assert [one for state, one in chosen if one not in expand(GAME.legal(state, state.active), state.active)] == []


@BOTH
def test_a_spectator_is_not_asked(chooser: Policy) -> None:
    with pytest.raises(ValueError, match="spectator"):
        chooser(GAME.view(begun(3), None), seeded(1))


@BOTH
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(
            on_map(".A─.g", "......B", dice="curve straight"), place(2, "straight", 1, to=(3, 0)), id="a link"
        ),
        pytest.param(
            on_map("", ".A....g", *[""] * 5, "...........B", dice="straight"),
            place(1, "straight", 1, to=(2, 1)),
            id="a way to the nearest station",
        ),
        pytest.param(
            on_map(".A─g", "......B", locomotives=["2 3"], turn=DONE, money=0),
            carry(3, by=3, start=(3, 0)),
            id="the largest load",
        ),
        pytest.param(on_map(".A─g", "......B", turn=DONE, money=5), BuyLocomotive(0, 2), id="a locomotive"),
        pytest.param(on_map(".A─g", "......B", turn=DONE, money=0), EndTurn(0), id="the end of the turn"),
        pytest.param(final(on_map(".A─g", "......B", passengers="T2 9")), EndTurn(0), id="nothing to be had"),
    ],
)
def test_a_bot_does_what_brings_money(chooser: Policy, state: State, expected: Command) -> None:
    """[Railroad Dice 2 4.1] Links, locomotives, passengers."""
    assert choice(chooser, state) == expected


def test_a_first_bot_rolls_any_dice() -> None:
    """[R-13] Whatever the bank has."""
    state = on_map(".A─.g", "......B", turn=TO_BEGIN)
    chosen = {choice(railroad_dice_2.choose, state, seed=seed) for seed in range(30)}
    assert chosen == {RollDice(0, 4, 0), RollDice(0, 2, 1), RollDice(0, 0, 2)}


def test_a_search_takes_the_sure_link() -> None:
    """[R-15] The die that makes it, against a chance to roll one."""
    state = on_map("", ".A───", "....g", "", "", "", "", "...........B", turn=TO_BEGIN)
    chosen = {choice(railroad_dice_2_search.choose, state, seed=seed) for seed in range(3)}
    assert chosen == {take("switch_right", 1, to=(4, 1))}


def test_a_search_sees_what_a_roll_leads_to() -> None:
    """Where single dice promise little, several may make a way; `greedy` tries each alone."""
    states = [state for state in moments("beginners", 2, 1) if GAME.legal(state, state.active).rolls][:8:2]
    usual, searched = (
        [choice(chooser, state, seat=state.active) for state in states]
        for chooser in (GREEDY, railroad_dice_2_search.choose)
    )
    assert searched != usual
