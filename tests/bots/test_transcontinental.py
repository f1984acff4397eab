"""The policies of Transcontinental [Transcontinental 12.1]."""

from __future__ import annotations

import pytest

from promontory.bots.port import NotToActError, Policy
from promontory.games.transcontinental.commands import DiscardCards
from promontory.games.transcontinental.legal import expand
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Phase, Source
from tests.bots.worlds import GREEDY, RANDOM, acting_view, choice, position, same_to_the_acting_side
from tests.support.transcontinental import (
    CP,
    GAME,
    UP,
    discard,
    draw,
    end_work,
    in_phase,
    meld,
    seeded,
    table,
    trim,
)

BOTH = pytest.mark.parametrize("chooser", [GREEDY, RANDOM], ids=["greedy", "random"])


def test_greedy_takes_a_discarded_card_that_makes_its_best_meld_score_more() -> None:
    """[12.1] W4 makes W1 W2 W3 a rail line."""
    assert choice(GREEDY, table("W1 W2 W3", discard="D1 W4")) == draw(CP, Source.DISCARD)


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(table("W1 W2 W3"), id="the discard pile is empty"),
        pytest.param(table("W1 W2 W3", discard="W4 D1"), id="difficulty on top"),
        pytest.param(table("E6 J6", discard="T6"), id="only the other side can meld the top card"),
        pytest.param(table("W1 W2 W3 W4", discard="J9"), id="the top card fits nothing"),
        pytest.param(table("W1 W2 W3 W4 W5", discard="J5"), id="the best meld stays the same"),
        pytest.param(table("W1 W2 W3", discard="W4", drew_discard=(True, False)), id="it took a discard last turn"),
    ],
)
def test_greedy_draws_from_the_deck_otherwise(state: State) -> None:
    """[12.1] Only a strict gain is worth the discard pile; [T-9] bars it every other turn."""
    assert choice(GREEDY, state) == draw(CP)


def test_greedy_knows_what_its_own_side_can_meld() -> None:
    """[T-20] T6 is for UP only, so UP takes what CP leaves."""
    state = table(up="E6 J6", discard="T6", active=UP)
    assert choice(GREEDY, state, seat=1) == draw(UP, Source.DISCARD)


@pytest.mark.parametrize(
    ("hand", "best"),
    [
        pytest.param("W3 J3 L3 M9", "W3 J3 L3", id="surplus"),
        pytest.param("W1 J2 L3 M4 M9", "W1 J2 L3 M4", id="rail"),
        pytest.param("W1 W2 W3 W4 J9", "W1 W2 W3 W4", id="rail line"),
        pytest.param("W1 E4 T2 J6 S8", "W1 E4 T2 J6 S8", id="track"),
        pytest.param("M1 M2 M3 M4 M6 M7 M8 M9", "M1 M2 M3 M4 M6 M7 M8 M9", id="a line beats two rail lines"),
        pytest.param("W1 W2 W3 W4 W5 W6 W8 W9", "W1 W2 W3 W4 W5 W6", id="6 doubled equal 8"),
        pytest.param("W1 W2 W3 W4 W5 W6 J2 L3 M4 S8", "W1 W2 W3 W4 W5 W6", id="doubled beats longer"),
        pytest.param("W1 W2 W3 W4 J9 L7 M10 S6", "W1 W2 W3 W4", id="fewer cards on equal points"),
        pytest.param("T6 W6 J6 L6 D1", "W6 J6 L6", id="without the other side's cards"),
        pytest.param("W8 J9 L10 M1 S2 J3", "W8 J3 S2 L10 M1", id="no rail around the corner"),
    ],
)
def test_greedy_melds_what_scores_most(hand: str, best: str) -> None:
    """[12.1] The most points first, then fewer cards."""
    assert choice(GREEDY, in_phase(Phase.WORK, hand)) == meld(CP, best)


def test_greedy_ends_its_work_when_nothing_is_left_to_meld() -> None:
    """[12.1] Two short rows are no meld."""
    assert choice(GREEDY, in_phase(Phase.WORK, "W1 W2 J5 J7 D1")) == end_work(CP)


def test_greedy_discards_its_dead_cards() -> None:
    """[12.1] Difficulty and the other side's cards; the rest stays."""
    assert choice(GREEDY, in_phase(Phase.SURVEYORS, "W1 E2 T6 D3 J4")) == discard(CP, "E2 T6 D3")


def test_greedy_discards_at_most_five_cards_difficulty_first() -> None:
    """[3.5] What the other side could use waits longest."""
    state = in_phase(Phase.SURVEYORS, "W1 T6 T7 D1 D2 D3 D4 D5")
    assert choice(GREEDY, state) == discard(CP, "D1 D2 D3 D4 D5")


@pytest.mark.parametrize(
    ("hand", "worst"),
    [
        pytest.param("W1 W2 W3 J1 J2 J3 L1 L2 L3 L4 M9", "M9", id="no neighbour at all"),
        pytest.param("W1 W2 W3 J1 J2 J3 L1 L2 L3 D1 M9", "D1", id="a dead card before a lonely one"),
        pytest.param("W1 W2 W3 J1 J2 J3 L1 L2 L3 S6 M9", "S6", id="the first of the list among equals"),
    ],
)
def test_greedy_trims_the_card_that_fits_the_fewest_others(hand: str, worst: str) -> None:
    """[12.1] Support counts live cards of the same suit or a rank at most 1 away."""
    assert choice(GREEDY, in_phase(Phase.LOGISTICS, hand)) == trim(CP, worst)


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(table("W1", discard="W2"), id="planning"),
        pytest.param(in_phase(Phase.WORK, "W1 W2 W3 W4 W5"), id="work"),
        pytest.param(in_phase(Phase.LOGISTICS, "W1 W2 W3 J1 J2 J3 L1 L2 L3 S6 M9"), id="logistics"),
    ],
)
def test_random_plays_everything_that_is_legal(state: State) -> None:
    """[12.1] No legal command is out of reach but voluntary discards."""
    chosen = {choice(RANDOM, state, seed=seed) for seed in range(200)}
    assert chosen == set(expand(GAME.legal(state, 0), 0))


def test_random_discards_nothing_voluntarily() -> None:
    """[12.1] RandMin; hands that melt would end every game without progress."""
    state = in_phase(Phase.SURVEYORS, "W1 D1 D2")
    assert {choice(RANDOM, state, seed=seed) for seed in range(20)} == {DiscardCards(0, ())}


@BOTH
@pytest.mark.parametrize("seed", range(12))
def test_what_is_hidden_has_no_influence(chooser: Policy, seed: int) -> None:
    """[10.1] Two worlds that differ only in the opponent's hand and the draw pile get the same command."""
    state = position(seed, decisions=7 * seed + 1)
    other = same_to_the_acting_side(state, seed)
    assert other != state
    assert chooser(acting_view(other), seeded(seed)) == chooser(acting_view(state), seeded(seed))


@pytest.mark.parametrize("seed", range(12))
def test_the_other_worlds_look_the_same(seed: int) -> None:
    """Keeps the test above honest: the views are equal, the worlds are not."""
    state = position(seed, decisions=7 * seed + 1)
    assert acting_view(same_to_the_acting_side(state, seed)) == acting_view(state)


@BOTH
def test_a_policy_has_no_memory(chooser: Policy) -> None:
    """The same view and the same random numbers give the same command, whatever was asked in between."""
    views = [acting_view(position(seed, decisions=20)) for seed in range(4)]
    asked = [chooser(view, seeded(1)) for view in views]
    assert [chooser(view, seeded(1)) for view in reversed(views)] == asked[::-1]


@BOTH
@pytest.mark.parametrize(
    ("state", "seat"),
    [
        pytest.param(table("W1", "J1"), 1, id="the other seat's turn"),
        pytest.param(table("W1", "J1"), None, id="a spectator"),
        pytest.param(table("W1", "J1", phase=Phase.OVER), 0, id="after the end"),
    ],
)
def test_a_policy_does_not_act_out_of_turn(chooser: Policy, state: State, seat: int | None) -> None:
    """Asked for a seat that is not to act, it says so."""
    with pytest.raises(NotToActError):
        chooser(GAME.view(state, seat), seeded(1))
