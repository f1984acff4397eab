"""The bots for Pacific that `promontory bot new` writes: legal whatever they are asked, and what they go for."""

from __future__ import annotations

import pytest

from promontory.bots.port import Policy
from promontory.client.starters import pacific, pacific_search
from promontory.games.pacific.commands import AnswerDecision, Choose, PutOut, SetExplicitRuns
from promontory.games.pacific.decisions import FactoryRun
from promontory.games.pacific.legal import expand
from promontory.games.pacific.state import Player, State
from tests.bots.pacific_tables import GREEDY, choice, ending, moment
from tests.support.pacific import (
    DECK,
    GAME,
    begun,
    choose,
    choosing,
    player,
    putting_out,
    seeded,
    state_after,
)
from tests.support.pacific_play import SEATS, another_world

BOTH = pytest.mark.parametrize("chooser", [pacific.choose, pacific_search.choose], ids=["first", "searching"])
CROWDED = (
    "japan 2 fish 1 hotel 2 factory 1 boat 1 hatchery 1 port 1 hq / california 1 fish 2 hotel 1 balloon 1 factory / "
    "peru 3 factory 2 fish 1 boat / polynesia 1 port 1 fish / coral_sea 1 hotel"
)


def table_of(*seats: Player, table: str, turn: int) -> State:
    """Return a game in which everybody is to choose from `table`; all cards that are nowhere else are in the deck."""
    gone = {*table.split(), *(card_id for seat in seats for card_id in seat.holdings.hand)}
    return choosing(
        *seats, table=table, deck=" ".join(card_id for card_id in DECK.ids if card_id not in gone), turn=turn
    )


@pytest.mark.parametrize("turn", [5, 10])
@pytest.mark.parametrize("card_id", DECK.ids)
def test_every_card_is_executed_to_its_end(card_id: str, turn: int) -> None:
    """[Pacific 3.7] On a crowded mat, every run asked for; the rules refuse no answer."""
    seats = (player(CROWDED, money=5, paths="japan_california"), Player(), Player())
    before = choosing(*seats, table=f"{card_id} diversify direct_flight", turn=turn)
    state = state_after(before, SetExplicitRuns(0, True), *choose(0, 2, 2))
    assert ending(state, pacific.choose).execution is not None


@BOTH
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seats", SEATS)
def test_what_is_hidden_has_no_influence(chooser: Policy, seats: int, seed: int) -> None:
    """[Pacific 7] Two worlds that differ only in hands, deck and secret answers of others get the same command."""
    state, seat = moment(seats, seed)
    assert choice(chooser, another_world(state, seat, seeded(seed)), seat=seat) == choice(chooser, state, seat=seat)


@BOTH
@pytest.mark.parametrize(
    "active",
    ["", "casinos", "make_the_rounds", "casinos make_the_rounds"],
    ids=["one", "own", "two", "own and another"],
)
def test_a_choice_is_one_that_the_rules_accept(chooser: Policy, active: str) -> None:
    """[P-9, P-29] The own card with Casinos, two with an extra card, and both at once."""
    state = table_of(player(CROWDED, active=active), Player(), Player(), table="diversify dugongs spas", turn=10)
    assert choice(chooser, state) in set(expand(GAME.legal(state, 0), 0))


@BOTH
def test_a_spectator_is_not_asked(chooser: Policy) -> None:
    with pytest.raises(ValueError, match="spectator"):
        chooser(GAME.view(begun(3), None), seeded(1))


@BOTH
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(
            putting_out(player("japan 5 hotel", hand="dugongs direct_flight sharks"), Player(), Player(), turn=10),
            PutOut(0, "direct_flight"),
            id="the card it puts out",
        ),
        pytest.param(
            table_of(player("japan 5 hotel"), Player(), Player(), table="dugongs direct_flight sharks", turn=10),
            Choose(0, (1,)),
            id="the card it chooses",
        ),
        pytest.param(
            table_of(
                player("polynesia 1 factory 3 boat"), *[Player()] * 2, table="dugongs spas direct_flight", turn=10
            ),
            Choose(0, (1,)),
            id="for what factories remove",
        ),
    ],
)
def test_the_money_that_areas_make_now_counts_on_the_last_turn(
    chooser: Policy, state: State, expected: PutOut | Choose
) -> None:
    """[Pacific 4.2] Five hotels in Japan make $5 when a green card runs it; three tokens that a factory removes, $6."""
    assert choice(chooser, state) == expected


@pytest.mark.parametrize(
    ("turn", "removes"), [pytest.param(7, 0, id="at first"), pytest.param(8, 3, id="on the last turns")]
)
def test_factories_of_a_first_bot_remove_at_the_end_only(turn: int, removes: int) -> None:
    """[P-28] $2 for a token that makes nothing more."""
    seats = (player("polynesia 1 factory 3 hotel"), Player(), Player())
    state = state_after(choosing(*seats, table="machu_picchu spas port", turn=turn), *choose(0, 1, 1))
    command = choice(pacific.choose, state)
    assert isinstance(command, AnswerDecision)
    assert isinstance(command.answer, FactoryRun)
    assert sum(removed.total for removed in command.answer.removals) == removes


def test_a_search_sees_what_the_own_hand_makes_of_a_choice() -> None:
    """Of three hotels here or there those are better that the last card of the hand will run."""
    seats = (player(money=5, hand="air_conditioning"), player(hand="sharks"), player(hand="dugongs"))
    state = table_of(*seats, table="spas hotel_california oversee", turn=9)
    assert {choice(pacific_search.choose, state, seed=seed) for seed in range(4)} == {Choose(0, (1,))}
    assert {choice(GREEDY, state, seed=seed) for seed in range(20)} > {Choose(0, (1,))}
