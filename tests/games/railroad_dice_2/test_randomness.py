"""What is drawn, and from what [Railroad Dice 2 7.2]."""

from __future__ import annotations

import pytest

from promontory.games.fairness import KeyedDraws, commitment, entropy_digest, match_key
from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.commands import EndTurn, RollDice
from promontory.games.railroad_dice_2.events import DiceRolled, StartPlayerDrawn
from promontory.games.railroad_dice_2.vocabulary import Phase
from tests.support.railroad_dice_2 import GAME, hand, position, state_after

SEED = bytes(range(32))
KEY = match_key("match-1", SEED, [b"", b"", b""])
DRAWS = KeyedDraws(KEY, GAME.name)
MAP = """
    ........
    .A......
    ......B.
    ..C.....
    """


def test_the_key_of_the_published_example() -> None:
    """[Railroad Dice 2 7.2] Three seats without entropy."""
    assert commitment("match-1", SEED).hex() == "54771cc61edc808cc5b4bbc514a60aa877c296186f4c31fbb8da36feee9a2bed"
    assert entropy_digest([b"", b"", b""]).hex() == "709e80c88487a2411e1ee4dfb9f22a861492d20c4765150c0c794abd70f8147c"
    assert KEY.hex() == "41bb65e1e509cdbfa48019b8f0e1f22f491af3db6c2c9f2b69bffcf54bc59ed5"


def test_the_starting_player_of_the_published_example() -> None:
    """[Railroad Dice 2 7.2, R-4] Purpose `start`, number 0, index 0, of 3."""
    events = GAME.begin(GAME.initial(3), DRAWS, draw_start=False)
    assert events[0] == StartPlayerDrawn(1)


def test_the_rolls_of_the_published_example() -> None:
    """[Railroad Dice 2 7.2] Purpose `roll`, numbered through the game; a roll is 4 + 0, the next one 2 + 1."""
    state = position(MAP, seats=3)
    first = GAME.decide(state, RollDice(0, 4, 0), DRAWS)
    assert first == (DiceRolled(0, 1, hand("? curve straight ?")),)
    state = state_after(fold(GAME, state, first), EndTurn(0))
    assert GAME.decide(state, RollDice(1, 2, 1), DRAWS) == (DiceRolled(1, 2, hand("locomotive straight switch_right")),)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_any_seat_may_start(seats: int) -> None:
    """[R-4] Among some keys everybody does."""
    starts = set()
    for seed in range(40):
        draws = KeyedDraws(seed.to_bytes(32, "big"), GAME.name)
        state = GAME.initial(seats)
        starts.add(fold(GAME, state, GAME.begin(state, draws, draw_start=False)).start_seat)
    assert starts == set(range(seats))


def test_only_the_start_and_rolls_cannot_be_foreseen() -> None:
    """[Railroad Dice 2 7.1] All else follows from what lies open."""
    state = position(MAP, seats=3)
    assert state.phase is Phase.TURN
    assert not GAME.foreseeable(state, StartPlayerDrawn(0))
    assert not GAME.foreseeable(state, DiceRolled(0, 1, hand("? curve straight ?")))
    events = GAME.decide(state, EndTurn(0), DRAWS)
    assert all(GAME.foreseeable(state, event) for event in events)
