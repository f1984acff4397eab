"""What is listed as legal, and what a list describes [Railroad Dice 2 6.3]."""

from __future__ import annotations

import pytest

from promontory.games.railroad_dice_2.box import RollOption
from promontory.games.railroad_dice_2.commands import (
    BuyLocomotive,
    EndTurn,
    PlaceDie,
    PlaceGray,
    PlaceHome,
    PlaceTile,
    RestockAll,
    ReturnDice,
    RollDice,
    TakeComplex,
    Transport,
    UseLocomotive,
)
from promontory.games.railroad_dice_2.legal import (
    DieOptions,
    LegalCommands,
    LocomotiveOption,
    TileOptions,
    expand,
)
from promontory.games.railroad_dice_2.placement import LegalPlacement
from promontory.games.railroad_dice_2.transport import TransportOption
from tests.support.railroad_dice_2 import (
    FILLING,
    GAME,
    VARIABLE,
    at,
    begun,
    final,
    given,
    home,
    position,
    state_after,
)
from tests.support.railroad_maps import A, B

MAP = """
    ........
    .A─.g...
    ......B.
    ........
    """


def placement(x: int, y: int, face: str, rotation: int, *links: tuple[int, int], cost: int = 0) -> LegalPlacement:
    """Return a placement that is legal."""
    return LegalPlacement(at(x, y), face, rotation, cost, tuple(at(*link) for link in links))


def test_dice_are_listed_with_squares_faces_costs_and_new_links() -> None:
    """[Railroad Dice 2 6.3, Railroad Dice 2 2.4] By die; each rotation that has tracks of its own once."""
    state = position(MAP, dice="straight", terrain={(1, 2): "~", (1, 0): "^"}, money=1)
    options = GAME.legal(state, A).dice
    assert options == (DieOptions(1, (placement(3, 1, "straight", 1, (4, 1)),)),)


def test_a_question_mark_lists_its_faces_one_after_the_other_and_the_tiles_to_restock() -> None:
    """[Railroad Dice 2 4.3] In the order of the component file."""
    state = position(MAP, dice="?", terrain={(1, 2): "~", (1, 0): "~", (0, 1): "~"}, money=0)
    assert GAME.legal(state, A).dice == (
        DieOptions(
            1,
            (
                placement(3, 1, "straight", 1, (4, 1)),
                placement(3, 1, "curve", 2),
                placement(3, 1, "curve", 3),
            ),
            ("T1", "T2"),
        ),
    )


def test_dice_that_can_do_nothing_can_still_be_returned() -> None:
    """[Railroad Dice 2 4.3] Any number of those in the hand."""
    legal = GAME.legal(position(MAP, dice="crossing locomotive"), A)
    assert (legal.dice, legal.return_dice) == ((DieOptions(2, (), ("T1", "T2")),), (1, 2))
    assert [command for command in expand(legal, A) if isinstance(command, ReturnDice)] == [
        ReturnDice(A, (1,)),
        ReturnDice(A, (2,)),
        ReturnDice(A, (1, 2)),
    ]


def test_dice_actions_are_listed_until_one_is_used() -> None:
    """[Railroad Dice 2 4.2, R-13] What the bank can give; complex dice by face."""
    legal = GAME.legal(position(MAP, simple_dice=2), A)
    assert legal.rolls == (RollOption(2, 1), RollOption(0, 2))
    assert (legal.take_complex, legal.restock_all) == (
        (placement(2, 1, "switch_right", 1), placement(2, 1, "switch_left", 1)),
        True,
    )
    used = GAME.legal(state_after(position(MAP), RestockAll(A)), A)
    assert (used.rolls, used.take_complex, used.restock_all) == ((), (), False)


def test_without_complex_dice_none_can_be_taken() -> None:
    """[Railroad Dice 2 4.2]."""
    legal = GAME.legal(position(MAP, complex_dice=0), A)
    assert (legal.rolls, legal.take_complex) == ((RollOption(4, 0),), ())


def test_restocks_without_effect_are_not_listed() -> None:
    """[R-17, Railroad Dice 2 4.7] In the mode that fills up."""
    state = position(MAP, passengers="T1 5, T2 9", dice="locomotive")
    assert FILLING.legal(state, A).dice == (DieOptions(1, (), ("T2",)),)
    assert not FILLING.legal(position(MAP, passengers="T1 5, T2 10"), A).restock_all


def test_transports_are_listed_by_station() -> None:
    """[Railroad Dice 2 4.5] With the locomotives that are fast enough, and how many passengers wait."""
    linked = MAP.replace("─.g", "──g")
    legal = GAME.legal(position(linked, locomotives=["2 2 3"], passengers="T2 3"), A)
    assert legal.transports == (TransportOption(at(4, 1), "T2", 2, 3, (2, 3)),)
    assert [command for command in expand(legal, A) if isinstance(command, Transport)] == [
        Transport(A, at(4, 1), 2, 1),
        Transport(A, at(4, 1), 2, 2),
        Transport(A, at(4, 1), 3, 1),
        Transport(A, at(4, 1), 3, 2),
        Transport(A, at(4, 1), 3, 3),
    ]


@pytest.mark.parametrize("fields", [{"locomotives": [""]}, {"locomotives": ["2"], "passengers": "T1 5"}])
def test_no_transport_is_listed_without_locomotive_or_passengers(fields: dict[str, object]) -> None:
    """[Railroad Dice 2 4.5]."""
    assert GAME.legal(position(MAP.replace("─.g", "──g"), **fields), A).transports == ()


def test_the_top_of_the_stack_is_listed_if_it_can_be_paid_for() -> None:
    """[Railroad Dice 2 4.4]."""
    assert GAME.legal(position(MAP, money=5), A).buy_locomotive == LocomotiveOption(2, 5)
    assert GAME.legal(position(MAP, money=4), A).buy_locomotive is None
    assert GAME.legal(position(MAP, stack=()), A).buy_locomotive is None


def test_the_final_phase_lists_no_dice() -> None:
    """[Railroad Dice 2 5.3]."""
    assert GAME.legal(final(position(MAP)), A) == LegalCommands(
        buy_locomotive=LocomotiveOption(2, 5), end_turn=True, resign=True
    )


def test_only_the_active_seat_has_more_than_resigning() -> None:
    """[Railroad Dice 2 6.1]."""
    assert GAME.legal(position(MAP), B) == LegalCommands(resign=True)


def test_a_seat_that_does_not_exist_has_no_commands() -> None:
    """[Railroad Dice 2 3.1]."""
    with pytest.raises(ValueError, match="no seat 2"):
        GAME.legal(position(MAP), 2)


def test_tiles_are_listed_as_any_tile_at_any_place_in_any_rotation() -> None:
    """[Railroad Dice 2 6.3, Railroad Dice 2 3.2]."""
    state = begun(2, game=VARIABLE)
    legal = VARIABLE.legal(state, A)
    assert legal.place_tile == TileOptions(("T1", "T2", "T3", "T4", "T5", "T6"), (at(0, 0),), (0, 1, 2, 3))
    assert len(list(expand(legal, A))) == 24
    after = state_after(state, PlaceTile(A, "T3", at(0, 0), 1), game=VARIABLE)
    second = VARIABLE.legal(after, B).place_tile
    assert second == TileOptions(
        ("T1", "T2", "T4", "T5", "T6"), (at(0, -4), at(-4, 0), at(4, 0), at(0, 4)), (0, 1, 2, 3)
    )


def test_stations_are_listed_by_square() -> None:
    """[Railroad Dice 2 6.3] 22 squares take a home, and what the homes leave takes a gray station."""
    legal = GAME.legal(begun(2), A)
    assert (len(legal.home_squares), legal.gray_squares) == (22, ())
    after = GAME.legal(state_after(begun(2), home(A, 1, 1), home(B, 5, 1), game=GAME), A)
    assert (after.home_squares, len(after.gray_squares)) == ((), 22 - 2 * 3)


def test_every_kind_of_command_can_be_listed() -> None:
    """[Railroad Dice 2 6.1] But `Build`, whose steps are listed one by one, and resigning."""
    in_turn = position(MAP.replace("─.g", "──g"), locomotives=["2"])
    holding = position(MAP, dice="?", locomotives=["2"])
    grays = state_after(begun(2), home(A, 1, 1), home(B, 5, 1), game=GAME)
    legal = [GAME.legal(state, A) for state in (in_turn, holding, begun(2), grays)]
    legal.append(VARIABLE.legal(begun(2, game=VARIABLE), A))
    kinds = {type(command) for one in legal for command in expand(one, A)}
    assert kinds == {
        PlaceTile,
        PlaceHome,
        PlaceGray,
        RollDice,
        TakeComplex,
        RestockAll,
        PlaceDie,
        UseLocomotive,
        ReturnDice,
        BuyLocomotive,
        Transport,
        EndTurn,
    }


def test_a_rotation_with_the_same_tracks_is_accepted_too() -> None:
    """[Railroad Dice 2 2.1] Though only the smallest is listed."""
    state = position(MAP, dice="straight")
    commands = [command for command in expand(GAME.legal(state, A), A) if isinstance(command, PlaceDie)]
    assert PlaceDie(A, 1, at(3, 1), 1, "straight") in commands
    assert PlaceDie(A, 1, at(3, 1), 3, "straight") not in commands
    given(state).when(PlaceDie(A, 1, at(3, 1), 3, "straight")).then_map(MAP.replace("─.g", "──g"))
