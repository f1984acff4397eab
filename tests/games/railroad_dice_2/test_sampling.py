"""What a seat sees, made whole: the state to search ahead from."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.legal import expand
from promontory.games.railroad_dice_2.sampling import determinize
from tests.support.railroad_dice_2 import GAME, VARIABLE, begun, seeded, state_after
from tests.support.railroad_dice_2_play import played


@pytest.mark.parametrize("seat", [0, 1, None])
def test_a_view_holds_the_whole_state(seat: int | None) -> None:
    """[Railroad Dice 2 7.1] For spectators, too; nothing is drawn."""
    state = played("plain", "beginners", 2, 5)[60].after
    random = seeded(1)
    assert determinize(GAME.box, GAME.view(state, seat), random) == state
    assert random.random() == seeded(1).random()


def test_a_layout_that_is_not_finished_has_no_map_yet() -> None:
    """[Railroad Dice 2 3.2]."""
    state = state_after(begun(2, game=VARIABLE), VARIABLE.automatic(begun(2, game=VARIABLE), 0), game=VARIABLE)
    assert determinize(VARIABLE.box, VARIABLE.view(state, 1), seeded(1)) == state
    assert state.board is None


def test_a_view_of_another_box_does_not_fit() -> None:
    view = GAME.view(begun(2), 0)
    with pytest.raises(ValueError, match="another box"):
        determinize(GAME.box, replace(view, tiles=view.tiles[1:]), seeded(1))


def test_a_search_ahead_can_try_every_listed_command() -> None:
    """[Railroad Dice 2 7.2] With draws of its own."""
    view = GAME.view(played("plain", "beginners", 2, 5)[60].after, None)
    state = determinize(GAME.box, view, seeded(1))
    draws = KeyedDraws(seeded(3).randbytes(32), GAME.name)
    after = [
        fold(GAME, state, GAME.decide(state, command, draws))
        for command in expand(GAME.legal(state, state.active), state.active)
    ]
    assert after
    assert state not in after
