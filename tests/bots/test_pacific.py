"""The policies of Pacific [Pacific 5.3]."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from time import process_time

import pytest
from msgspec.structs import replace

from promontory.bots.arena import Plan, run_arena
from promontory.bots.pacific_chance import some_answer, some_picks
from promontory.bots.port import NotToActError, Policy
from promontory.games.pacific.answers import all_answers
from promontory.games.pacific.choices import all_choices
from promontory.games.pacific.commands import AnswerDecision, Choose, PutOut, SetExplicitRuns
from promontory.games.pacific.decisions import CardOrder, RunArea, TokenChoice
from promontory.games.pacific.legal import expand
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.vocabulary import Area, Per
from tests.bots.pacific_tables import GREEDY, RANDOM, choice, ending, moment, moments
from tests.support.pacific import (
    DECK,
    GAME,
    begun,
    choose,
    choosing,
    executing,
    open_decision,
    outcome,
    picks,
    player,
    putting_out,
    resign,
    seeded,
    set_up,
    state_after,
    tokens,
)
from tests.support.pacific_play import SEATS, another_world

BOTH = pytest.mark.parametrize("chooser", [GREEDY, RANDOM], ids=["greedy", "random"])
CROWDED = (
    "japan 2 fish 1 hotel 2 factory 1 boat 1 hatchery 1 port 1 hq / california 1 fish 2 hotel 1 balloon 1 factory / "
    "peru 3 factory 2 fish 1 boat / polynesia 1 port 1 fish / coral_sea 1 hotel"
)


# Legal to the last turn


@BOTH
@pytest.mark.parametrize("active", ["", "documentary grand_opening upgrade"], ids=["plain", "with effects"])
@pytest.mark.parametrize("card_id", DECK.ids)
def test_every_card_is_executed_to_its_end(card_id: str, active: str, chooser: Policy) -> None:
    """[Pacific 3.7] On a crowded mat, where most of them ask something; the rules refuse no answer."""
    state = executing([card_id], player(CROWDED, active=active, money=5, paths="japan_california"))
    assert open_decision(state) is None or ending(state, chooser).execution is not None


@BOTH
@pytest.mark.parametrize(("first", "second"), [*zip(DECK.ids[::2], DECK.ids[1::2], strict=True)])
def test_an_extra_card_is_executed_to_its_end(first: str, second: str, chooser: Policy) -> None:
    """[P-29] Two cards in an order of the player's choice."""
    state = executing([first, second], player(CROWDED, active="make_the_rounds"))
    assert ending(state, chooser).execution is not None


@BOTH
@pytest.mark.parametrize("card_id", ["dairy_farms", "trade_winds", "oversee", "breeding_program"])
def test_runs_that_need_not_be_asked_for_are_answered_too(card_id: str, chooser: Policy) -> None:
    """[Pacific 4.3] Whoever had the seat before may have switched on that every run is asked for."""
    before = choosing(player(CROWDED), Player(), Player(), table=f"{card_id} diversify direct_flight")
    state = state_after(before, SetExplicitRuns(0, True), *choose(0, 2, 2))
    assert ending(state, chooser).execution is not None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seats", SEATS)
def test_mixed_tables_play_to_the_tenth_turn(seats: int, seed: int) -> None:
    """[Pacific 2.1] With dummies and without; no command is refused on the way."""
    assert moments(seats, seed)[-1].turn == 10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seats", SEATS)
def test_random_tables_play_to_the_tenth_turn(seats: int, seed: int) -> None:
    """[Pacific 2.1] The rules themselves end every game."""
    table = {str(seat): RANDOM for seat in range(seats)}
    result = run_arena(GAME, Plan(tuple(table), games=1, seed=seed), cpu_clock=process_time, own=table)
    assert result.policies[0].decisions >= 20


# What a policy may know


@BOTH
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("seats", SEATS)
def test_what_is_hidden_has_no_influence(chooser: Policy, seats: int, seed: int) -> None:
    """[Pacific 7] Two worlds that differ only in hands, deck and secret answers of others get the same command."""
    state, seat = moment(seats, seed)
    other = another_world(state, seat, seeded(seed))
    assert other != state
    assert choice(chooser, other, seat=seat) == choice(chooser, state, seat=seat)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("seats", SEATS)
def test_the_other_worlds_look_the_same(seats: int, seed: int) -> None:
    """Keeps the test above honest: the views are equal, the worlds are not."""
    state, seat = moment(seats, seed)
    assert GAME.view(another_world(state, seat, seeded(seed)), seat) == GAME.view(state, seat)


@BOTH
def test_a_policy_has_no_memory(chooser: Policy) -> None:
    """The same view and the same random numbers give the same command, whatever was asked in between."""
    asked = [moment(4, seed) for seed in range(4)]
    first = [choice(chooser, state, seat=seat) for state, seat in asked]
    assert [choice(chooser, state, seat=seat) for state, seat in reversed(asked)] == first[::-1]


@BOTH
@pytest.mark.parametrize(
    ("state", "seat"),
    [
        pytest.param(begun(3), None, id="a spectator"),
        pytest.param(state_after(begun(3), PutOut(0, "direct_flight")), 0, id="a card is out already"),
        pytest.param(state_after(begun(2), set_up(0, "japan", "peru")), 0, id="set up already"),
        pytest.param(
            state_after(choosing(Player(), Player(), table="spas port sharks dugongs"), *choose(1)), 0, id="chosen"
        ),
        pytest.param(executing(["spas"], player()), 0, id="nothing to decide"),
        pytest.param(state_after(begun(3), resign(0)), 0, id="resigned"),
        pytest.param(state_after(begun(2), resign(0)), 1, id="after the end"),
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
        pytest.param(begun(2), id="set-up"),
        pytest.param(begun(3), id="a card to put out"),
        pytest.param(choosing(Player(), Player(), table="spas port sharks dugongs"), id="a slot"),
        pytest.param(
            choosing(player(active="make_the_rounds casinos"), *[Player()] * 3, table="spas port sharks dugongs"),
            id="two slots, one of them given",
        ),
        pytest.param(executing(["direct_flight"], player()), id="an arrow"),
        pytest.param(executing(["oversee"], player()), id="areas in order"),
        pytest.param(executing(["spas", "port"], player(active="make_the_rounds")), id="cards in order"),
        pytest.param(executing(["disperse"], player("peru 1 fish")), id="an area"),
        pytest.param(executing(["yachts"], player("japan 2 fish 1 hotel / peru 1 fish")), id="one of each kind"),
        pytest.param(executing(["liquidate"], player("japan 2 fish 1 hotel / peru 1 fish")), id="one of each area"),
        pytest.param(executing(["relocate"], player("japan 1 hotel")), id="moves between any two areas"),
        pytest.param(executing(["car_factory"], player("peru 1 fish")), id="a token to lose"),
        pytest.param(executing(["seafood_chain"], player("japan 2 fish / peru 1 fish")), id="tokens to replace"),
        pytest.param(executing(["dugongs"], player("coral_sea 1 port / peru 1 fish 1 hotel")), id="a Port"),
        pytest.param(executing(["sea_otters"], player("coral_sea 2 factory 1 hotel")), id="two factories"),
        pytest.param(executing(["dugongs"], player("coral_sea 1 factory")), id="a factory and fish"),
    ],
)
def test_random_plays_everything_that_is_legal(state: State) -> None:
    """[Pacific 3.7] No answer is out of reach, and none comes that is not listed."""
    chosen = {choice(RANDOM, state, seed=seed) for seed in range(400)}
    assert chosen == set(expand(GAME.legal(state, 0), 0))


@pytest.mark.parametrize(
    "choice_of",
    [
        pytest.param(TokenChoice(picks("3 fish japan, 1 hotel japan, 2 fish peru"), 0, 4), id="up to 4"),
        pytest.param(TokenChoice(picks("3 fish japan, 1 hotel japan, 2 fish peru"), 3, 3), id="exactly 3"),
        pytest.param(TokenChoice(picks("3 fish japan, 1 hotel japan, 2 fish peru"), 0, 2, Per.AREA), id="1 an area"),
        pytest.param(TokenChoice(picks("3 fish japan, 1 hotel japan, 2 fish peru"), 1, 2, Per.KIND), id="1 of a kind"),
    ],
)
def test_random_choices_of_tokens_are_equally_likely(choice_of: TokenChoice) -> None:
    """[Pacific 3.5] However many tokens they take."""
    random, allowed = seeded(1), list(all_choices(choice_of))
    seen = Counter(some_picks(choice_of, random) for _ in range(200 * len(allowed)))
    assert [seen[one] for one in allowed] == pytest.approx([200] * len(allowed), abs=60)


def test_random_moves_are_equally_likely() -> None:
    """[Pacific 3.5] Wherever they go, and not moving is one of them."""
    decision = open_decision(executing(["relocate"], player("japan 2 hotel / polynesia 1 fish")))
    assert decision is not None
    random, legal = seeded(1), list(all_answers(decision.question))
    seen = Counter(some_answer(decision.question, random) for _ in range(200 * len(legal)))
    assert [seen[one] for one in legal] == pytest.approx([200] * len(legal), abs=60)


def test_random_needs_no_list_of_answers() -> None:
    """[Pacific 4.3] Five factories can remove tokens in more ways than anybody could count."""
    many = tokens("9 fish 9 hotel 5 factory 9 boat 9 hatchery 9 port 9 balloon 9 hq")
    question = RunArea(area=Area.PERU, pending=many, removable=many, factories=5, fish_stay=False)
    runs = {some_answer(question, seeded(seed)) for seed in range(20)}
    assert len(runs) == 20


# Greedy


def table_of(mat: str, cards: str, *, turn: int, active: str = "", money: int = 0) -> State:
    """Return a game for three in which seat 0, with this mat, is to choose from these cards."""
    return choosing(player(mat, active=active, money=money), Player(), Player(), table=cards, turn=turn)


def played_out(card_id: str, mat: str, *, turn: int) -> str:
    """Return money and mat of seat 0 after it executed a card by the answers of greedy."""
    state = table_of(mat, f"{card_id} diversify direct_flight", turn=turn)
    return outcome(ending(state_after(state, *choose(0, 2, 2)), GREEDY))


@pytest.mark.parametrize(
    ("mat", "cards", "turn", "slot"),
    [
        pytest.param("japan 5 hotel", "dugongs direct_flight sharks", 10, 1, id="money at once on the last turn"),
        pytest.param("japan 1 hotel", "air_conditioning dugongs direct_flight", 1, 1, id="growth on the first turn"),
        pytest.param("coral_sea 1 hotel", "documentary grand_opening dugongs", 10, 2, id="no effects after the end"),
        pytest.param("peru 1 hotel", "diversify documentary omnipresence", 3, 1, id="effects before it"),
    ],
)
def test_greedy_chooses_what_promises_most(mat: str, cards: str, turn: int, slot: int) -> None:
    """[Pacific 5.3] Money now, and what is worth something later."""
    assert choice(GREEDY, table_of(mat, cards, turn=turn)) == Choose(0, (slot,))


def test_greedy_takes_any_of_equal_choices() -> None:
    """[Pacific 5.3] Lest all the players at a table do the same."""
    state = table_of("japan 1 hotel", "documentary direct_flight dugongs", turn=10)
    assert {choice(GREEDY, state, seed=seed) for seed in range(20)} == {Choose(0, (0,)), Choose(0, (1,))}


@pytest.mark.parametrize(("turn", "slots"), [(9, {0, 1}), (10, {0})])
def test_greedy_is_sure_of_money_at_once_only(turn: int, slots: set[int]) -> None:
    """[Pacific 5.3] A dollar more counts on the last turn; before it the worth of what is left is a guess."""
    state = table_of("japan 3 hotel / polynesia 2 hotel", "direct_flight machu_picchu trade_winds", turn=turn)
    assert {choice(GREEDY, state, seed=seed) for seed in range(20)} == {Choose(0, (slot,)) for slot in slots}


def test_greedy_players_seldom_share_the_victory() -> None:
    """[P-12] In most games somebody wins alone."""
    result = run_arena(GAME, Plan(("greedy",) * 3, games=8), cpu_clock=process_time, own={"greedy": GREEDY})
    assert result.draws <= 5


def test_greedy_looks_at_its_own_mat_only() -> None:
    """[P-1] What a card does to others does not count, whoever put it out."""
    seats = [player("japan 5 hotel"), player("coral_sea 5 hotel"), Player()]
    state = choosing(*seats, table="dugongs direct_flight sharks", turn=10)
    assert [choice(GREEDY, state, seat=seat) for seat in (0, 1)] == [Choose(0, (1,)), Choose(1, (0,))]


def test_greedy_puts_out_what_promises_most() -> None:
    """[Pacific 2.2] It may choose that card itself."""
    state = putting_out(player("japan 5 hotel", hand="dugongs direct_flight sharks"), Player(), Player(), turn=10)
    assert choice(GREEDY, state) == PutOut(0, "direct_flight")


def test_greedy_counts_the_effects_that_work_this_turn() -> None:
    """[Pacific 2.4] With Documentary moving five fish pays $10, more than four hotels."""
    mat = "japan 4 hotel / polynesia 5 fish"
    cards = "documentary cruise_ships diversify"
    plain, paid = table_of(mat, cards, turn=10), table_of(mat, cards, turn=10, active="documentary")
    assert [choice(GREEDY, state) for state in (plain, paid)] == [Choose(0, (0,)), Choose(0, (1,))]


def test_greedy_chooses_two_cards_that_go_together() -> None:
    """[P-29] Three hotels in California, then a dollar for each."""
    state = table_of("", "air_conditioning hotel_california diversify", turn=10, active="make_the_rounds", money=5)
    assert choice(GREEDY, state) == Choose(0, (0, 1))


def test_greedy_executes_two_cards_in_the_better_order() -> None:
    """[P-29] The hotels are to be there when they are counted."""
    state = executing(["air_conditioning", "hotel_california"], player(money=5, active="make_the_rounds"))
    answer = choice(GREEDY, state)
    assert isinstance(answer, AnswerDecision)
    assert answer.answer == CardOrder(("hotel_california", "air_conditioning"))


def test_greedy_names_its_own_slot_where_it_must() -> None:
    """[P-9] Casinos and an extra card: one of the two is given."""
    state = choosing(
        player("coral_sea 9 hotel / polynesia 9 hotel", active="casinos make_the_rounds"),
        *[Player()] * 2,
        table="diversify dugongs spas",
        turn=10,
    )
    assert choice(GREEDY, state) in {Choose(0, slots) for slots in combinations(range(3), 2) if 0 in slots}


@pytest.mark.parametrize(
    ("card_id", "mat", "turn", "end"),
    [
        pytest.param("machu_picchu", "polynesia 1 factory 3 hotel", 10, "$9 polynesia 1 factory", id="all at the end"),
        pytest.param(
            "machu_picchu", "polynesia 1 factory 3 hotel", 1, "$3 polynesia 3 hotel 1 factory", id="no hotel early"
        ),
        pytest.param(
            "machu_picchu", "polynesia 2 factory 3 hotel", 10, "$11 polynesia 1 factory", id="a factory that acted"
        ),
        pytest.param(
            "tour_guides", "california 1 factory 1 boat 1 balloon", 10, "$4 california 1 factory", id="a lone Balloon"
        ),
        pytest.param(
            "direct_flight",
            "japan 1 factory 1 balloon",
            10,
            "$15 japan 1 factory / peru 1 balloon",
            id="no Balloon that earns more",
        ),
    ],
)
def test_greedy_lets_factories_remove_what_is_worth_less(card_id: str, mat: str, turn: int, end: str) -> None:
    """[P-28] $2 against what a token still makes; the order of a run is the best one."""
    assert played_out(card_id, mat, turn=turn) == end


@pytest.mark.parametrize(
    ("card_id", "mat", "end"),
    [
        pytest.param("dugongs", "coral_sea 1 port / peru 1 hotel", "$1 ", id="a Port"),
        pytest.param("fishing", "japan 3 fish", "$7 ", id="an area"),
        pytest.param("oversee", "peru 4 hotel / polynesia 3 hotel / japan 1 hotel", "$7 ", id="areas to run"),
        pytest.param("liquidate", "japan 2 fish / peru 1 boat", "$6 ", id="tokens to sell"),
        pytest.param("archaeology", "coral_sea 5 hotel", "$4 ", id="moves"),
        pytest.param("industrial_hotels", "polynesia 1 factory", "$2 ", id="a replacement"),
        pytest.param("disperse", "japan 1 balloon", "$15 ", id="a Balloon's way"),
    ],
)
def test_greedy_answers_what_makes_most_money_on_the_last_turn(card_id: str, mat: str, end: str) -> None:
    """[Pacific 3.7] Each reply is tried out to the end of the execution."""
    assert played_out(card_id, mat, turn=10).startswith(end)


@pytest.mark.parametrize(
    ("hand", "areas"),
    [
        ("dugongs sea_otters spas dairy_farms expand", ("peru", "coral_sea")),
        ("dugongs sea_otters", ("coral_sea", "japan")),
    ],
)
def test_greedy_sets_up_where_its_cards_run(hand: str, areas: tuple[str, str]) -> None:
    """[P-13] The hotel where most do, the factory next; Japan first of equals."""
    state = begun(2)
    holder = replace(state.players[0], holdings=replace(state.players[0].holdings, hand=tuple(hand.split())))
    assert choice(GREEDY, replace(state, players=(holder, state.players[1]))) == set_up(0, *areas)


@pytest.mark.parametrize("seats", SEATS)
def test_greedy_beats_random(seats: int) -> None:
    """At least 7 of 8 games, whatever the number of seats; an equal share would be 1 of 2 at most."""
    plan = Plan(("greedy", *["random"] * (seats - 1)), games=8)
    result = run_arena(GAME, plan, cpu_clock=process_time, own={"greedy": GREEDY, "random": RANDOM})
    assert result.policies[0].wins >= 7


def test_greedy_players_make_about_as_much_money_as_expected() -> None:
    """[Pacific 5.3] Winners among four simple players made $100 on average; a wide band for so few games."""
    plan = Plan(("greedy",) * 4, games=5)
    result = run_arena(GAME, plan, cpu_clock=process_time, own={"greedy": GREEDY})
    assert 70 <= result.mean_best_score <= 120
