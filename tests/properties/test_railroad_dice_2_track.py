"""What holds on every map of Railroad Dice 2, seen on random maps with random dice and fixed seeds.

The game's track module works with numbers and grows its networks; `railroad_reach` takes the rules literally.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import Board
from promontory.games.railroad_dice_2.drawing import drawing_of
from promontory.games.railroad_dice_2.edges import EDGE_NAMES
from promontory.games.railroad_dice_2.network import Network, network_of, new_links, traversed
from promontory.games.railroad_dice_2.placement import LegalPlacement, check_placement, legal_placements
from promontory.games.railroad_dice_2.routes import shortest_routes
from promontory.games.railroad_dice_2.vocabulary import Square
from tests.support.railroad_building import Built, built
from tests.support.railroad_maps import DICE, FACES, At, lab_map
from tests.support.railroad_reach import OPPOSITE, Lab, all_faces, beyond, ends

SEEDS = range(12)
a_map = pytest.mark.parametrize("seed", SEEDS)
a_train = pytest.mark.parametrize("reversing", [False, True], ids=["forward", "reversing"])


def at(square: Square) -> At:
    """Return a square as coordinates."""
    return square.x, square.y


def tried(board: Board, network: Network, face: str, rotation: int, *, square: Square) -> str | None:
    """Return why a die may not be placed by somebody who has 1 dollar, or None."""
    try:
        check_placement(board, network, FACES.die(face, rotation), square, money=1)
    except Rejected as refused:
        return refused.reason
    return None


@a_map
@a_train
def test_growing_networks_equal_searched_ones(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.3] After every placement, for every player."""
    steps = built(seed, reversing=reversing)
    grown = [step.networks for step in steps]
    searched = [tuple(network_of(step.board, network.home) for network in step.networks) for step in steps]
    assert grown == searched


@a_map
@a_train
def test_reach_is_that_of_the_sheet(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.3] Traversed pairs and linked stations, after every placement, for every player."""
    steps = built(seed, reversing=reversing)
    assert [
        (step.placement, network.home)
        for step in steps
        for network in step.networks
        if reach_of(step.board, network) != Lab(step.board).reach(at(network.home))
    ] == []


def reach_of(board: Board, network: Network) -> tuple[set[tuple[At, frozenset[str]]], set[At]]:
    """Return a network's traversed pairs and linked stations in the words of `Lab`."""
    pairs = {(at(square), frozenset(EDGE_NAMES[edge] for edge in pair)) for square, pair in traversed(network, board)}
    return pairs, {at(square) for square in network.linked}


@a_map
def test_homes_are_linked_mutually(seed: int) -> None:
    """[Railroad Dice 2 2.3] Property 1."""
    links = {
        (one.home, other.home): other.home in one.linked
        for step in built(seed)[-1:]
        for one in step.networks
        for other in step.networks
    }
    assert {(one, other): links[other, one] for one, other in links} == links


@a_map
@a_train
def test_networks_never_shrink(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.3] Property 2: neither links nor track."""
    for before, after in pairwise(built(seed, reversing=reversing)):
        for smaller, larger in zip(before.networks, after.networks, strict=True):
            assert smaller.linked <= larger.linked
            assert traversed(smaller, before.board) <= traversed(larger, after.board)


@a_map
def test_a_network_is_small(seed: int) -> None:
    """[Railroad Dice 2 2.3] Property 3: four ends for each of at most 50 dice."""
    last = built(seed)[-1]
    laid = [last.board.plan.cell(square) for square, _ in last.board.laid_dice()]
    assert max(sum(network.arrivals[cell].bit_count() for cell in laid) for network in last.networks) <= 200


@a_map
def test_every_pair_is_in_somebodys_network(seed: int) -> None:
    """[Railroad Dice 2 6.6] Invariant 5."""
    last = built(seed)[-1]
    lab = Lab(last.board)
    laid = {(square, pair) for square in lab.dice for pair in lab.tracks(square)}
    assert laid == set().union(*(reach_of(last.board, network)[0] for network in last.networks))


@a_map
def test_no_end_points_off_the_map_or_at_a_closed_side(seed: int) -> None:
    """[Railroad Dice 2 6.6] Invariant 3."""
    lab = Lab(built(seed)[-1].board)
    across = [(beyond(square, edge), OPPOSITE[edge]) for square in lab.dice for edge in ends(lab.tracks(square))]
    assert [one for one in across if one[0] not in lab.squares or lab.is_closed(*one)] == []


@a_map
@a_train
def test_links_are_foretold(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.5] A legal placement tells the stations that it links to the builder, by `y`, then `x`."""
    steps = built(seed, reversing=reversing)
    assert [step.placement.links for step in steps] == [
        new_links(step.networks_before[step.seat], step.networks[step.seat]) for step in steps
    ]


def listed(step: Built) -> set[LegalPlacement]:
    """Return all legal placements of the seat that is to place, with 1 dollar."""
    network = step.networks_before[step.seat]
    return {one for face in FACES.dice for one in legal_placements(step.before, network, FACES, face=face, money=1)}


@a_map
@a_train
def test_every_test_gives_the_reason_of_the_sheet(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.4] Every face and rotation on every square and around the map, on two maps of each game."""
    steps = built(seed, reversing=reversing)
    for step in (steps[len(steps) // 3], steps[-1]):
        network, lab = step.networks_before[step.seat], Lab(step.before)
        for square in step.before.plan.squares:
            found = [tried(step.before, network, *die, square=square) for die in all_faces()]
            assert found == [lab.refusal(at(network.home), die, at(square), money=1) for die in all_faces()]


@a_map
@a_train
def test_listed_placements_are_those_that_are_accepted(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 2.4] No candidates but the frontier and the simple dice."""
    for step in built(seed, reversing=reversing)[::5]:
        network = step.networks_before[step.seat]
        accepted = {
            (square, die.face, die.rotation)
            for square in step.before.plan.squares
            for die in DICE.values()
            if tried(step.before, network, die.face, die.rotation, square=square) is None
        }
        assert {(one.square, one.face, one.rotation) for one in listed(step)} == accepted


@a_map
@a_train
def test_tile_counts_are_those_of_the_sheet(seed: int, reversing: bool) -> None:
    """[Railroad Dice 2 4.5] For every player and every linked station of the last map."""
    step = built(seed, reversing=reversing)[-1]
    lab = Lab(step.board)
    for network in step.networks:
        counts = {at(route.station): route.tiles for route in shortest_routes(step.board, network)}
        assert counts == {at(s): lab.tile_count(at(network.home), at(s)) for s in network.linked}


@a_map
def test_every_map_can_be_drawn_and_read_back(seed: int) -> None:
    """[Railroad Dice 2 2.1] Dice and stations; terrain under them is not drawn."""
    board = built(seed)[-1].board
    read = lab_map(drawing_of(board))
    assert (read.laid_dice(), read.contents) == (board.laid_dice(), board.contents)
    assert {station.square for station in read.stations} == {station.square for station in board.stations}
