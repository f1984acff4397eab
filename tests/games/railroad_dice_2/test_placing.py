"""Placing dice: what is legal, and which stations it links [Railroad Dice 2 2.4 and 2.5]."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from promontory.games.kernel import Rejected
from promontory.games.railroad_dice_2.board import track_faces
from promontory.games.railroad_dice_2.placement import LegalPlacement, legal_placements
from promontory.games.railroad_dice_2.vocabulary import Square
from tests.support.railroad_maps import COMPONENTS, A, B, drawn, lab_map, linked, networks, place, placements, refusal

BARE = """
    ........
    .A......
    ......B.
    ........
"""
SHORT = """
    ........
    .A──....
    ......B.
    ........
"""
WAITING = """
    ........
    .┌─┐....
    .A───.B.
    ........
"""


def test_the_first_track_touches_home() -> None:
    """[S-01] [Railroad Dice 2 2.4] Its other end stays open [R-29]."""
    laid = place(lab_map(BARE), A, "straight", 1, at=(2, 1))
    assert (laid.cost, laid.links) == (0, {})
    assert laid.drawing == drawn("""
        ........
        .A─.....
        ......B.
        ........
    """)


def test_track_beside_home_must_point_at_it() -> None:
    """[S-02] [R-26] Lying alongside is no connection."""
    assert refusal(lab_map(BARE), A, "straight", 0, at=(2, 1)) == "NOT_CONNECTED"


def test_detached_track_is_refused() -> None:
    """[S-03] [R-22] Neither end is fed by the own network."""
    assert refusal(lab_map(BARE), A, "straight", 1, at=(4, 0)) == "NOT_CONNECTED"


def test_track_may_not_leave_the_map() -> None:
    """[S-04] [R-30] Though the other end joins the home."""
    assert refusal(lab_map(BARE), A, "straight", 0, at=(1, 0)) == "LEAVES_MAP"


def test_a_hole_in_the_map_is_off_the_map() -> None:
    """[R-30] As is everything that no tile covers."""
    notched = lab_map("""
        ........
        ..A.....
        ........
        ........
            ....
            .B..
            ....
            ....
    """)
    assert refusal(notched, A, "straight", 0, at=(2, 5)) == "OFF_MAP"
    below = place(notched, A, "straight", 0, at=(2, 2)).board
    assert refusal(below, A, "straight", 0, at=(2, 3)) == "LEAVES_MAP"


def test_the_same_square_takes_a_legal_orientation() -> None:
    """[S-05] The curve's S end joins the home, its E end is open."""
    assert place(lab_map(BARE), A, "curve", 1, at=(1, 0)).drawing == drawn("""
        .┌......
        .A......
        ......B.
        ........
    """)


@pytest.mark.parametrize(("sign", "cost"), [(".", 0), ("^", 1), ("~", 2)])
def test_a_simple_die_pays_for_its_terrain(sign: str, cost: int) -> None:
    """[S-06] [R-33] Mountains cost 1, water 2."""
    board = lab_map(BARE, terrain={(2, 1): sign})
    assert place(board, A, "straight", 1, at=(2, 1), money=cost).cost == cost


def test_water_may_be_too_expensive() -> None:
    """[S-07] [R-33] Water costs 2 and A has 1; all else is legal."""
    board = lab_map(BARE, terrain={(2, 1): "~"})
    with pytest.raises(Rejected) as refused:
        place(board, A, "straight", 1, at=(2, 1), money=1)
    assert (refused.value.reason, refused.value.rule) == ("CANNOT_AFFORD", "R-33")
    assert refused.value.details == {"cost": 2, "money": 1}


def test_a_simple_die_goes_on_empty_squares_only() -> None:
    """[S-08] [Railroad Dice 2 2.4] Test 3a."""
    assert refusal(lab_map(SHORT), A, "curve", 2, at=(2, 1)) == "SQUARE_OCCUPIED"


@pytest.mark.parametrize("face", ["straight", "crossing"])
def test_stations_are_never_built_over(face: str) -> None:
    """[S-09] [Railroad Dice 2 2.4] Test 2, for both kinds of dice."""
    board = lab_map("""
        ........
        .A───...
        ......B.
        ........
    """)
    assert refusal(board, A, face, 1, at=(6, 2)) == "STATION_SQUARE"


@pytest.mark.parametrize("at", [(-1, 0), (8, 0), (0, -1), (0, 4), (99, 99)])
def test_squares_beyond_the_map_are_refused_first(at: tuple[int, int]) -> None:
    """[Railroad Dice 2 2.4] Test 1."""
    assert refusal(lab_map(BARE), A, "crossing", 0, at=at) == "OFF_MAP"


def test_a_complex_die_needs_a_simple_one() -> None:
    """[S-10] [R-34] It only replaces."""
    assert refusal(lab_map(SHORT), A, "switch_right", 1, at=(4, 1)) == "NO_SIMPLE_HERE"


def test_complex_dice_stay() -> None:
    """[S-11] [R-34] They are never replaced."""
    board = lab_map("""
        ........
        .A3.....
        ......B.
        ........
    """)
    assert refusal(board, A, "switch_left", 1, at=(2, 1)) == "COMPLEX_HERE"


def test_a_replacement_keeps_the_straight() -> None:
    """[S-12] [R-27] The old pair E-W is not on the back-to-back."""
    with pytest.raises(Rejected) as refused:
        place(lab_map(SHORT), A, "back_to_back", 0, at=(2, 1))
    assert (refused.value.reason, refused.value.details["pair"]) == ("BREAKS_TRACK", "E-W")


def test_a_line_branches_away_from_home() -> None:
    """[S-13] [R-33] Replacing is free; the new pair is entered from the home side."""
    mountainous = lab_map(SHORT, terrain={(2, 1): "^"})
    laid = place(mountainous, A, "switch_right", 1, at=(2, 1), money=0)
    assert laid.cost == 0
    assert laid.drawing == drawn("""
        ........
        .A3─....
        ......B.
        ........
    """)


def test_trains_never_reverse_into_a_branch() -> None:
    """[S-14] [R-24] The new pair can be entered only from E or S, and trains come from W."""
    assert refusal(lab_map(SHORT), A, "switch_left", 3, at=(2, 1)) == "NOT_CONNECTED"


def test_trains_may_reverse_if_the_option_says_so() -> None:
    """[S-14] [R-24] With `reversing` the branch is fed through the old pair."""
    assert place(lab_map(SHORT, reversing=True), A, "switch_left", 3, at=(2, 1)).links == {}


def test_a_crossing_needs_track_to_cross_with() -> None:
    """[S-15] [R-25] The new pair N-S is fed from neither end, reversing or not."""
    assert refusal(lab_map(SHORT), A, "crossing", 0, at=(2, 1)) == "NOT_CONNECTED"
    assert refusal(lab_map(SHORT, reversing=True), A, "crossing", 0, at=(2, 1)) == "NOT_CONNECTED"


def test_a_crossing_takes_up_a_waiting_track() -> None:
    """[S-16] [R-32] The curve above was waiting against the side of the simple straight."""
    assert place(lab_map(WAITING), A, "crossing", 0, at=(3, 2)).drawing == drawn("""
        ........
        .┌─┐....
        .A─┼─.B.
        ........
    """)


def test_a_waiting_track_may_not_be_cut_off() -> None:
    """[S-17] [R-31] The switch has no end where the curve above has one."""
    with pytest.raises(Rejected) as refused:
        place(lab_map(WAITING), A, "switch_right", 1, at=(3, 2))
    assert (refused.value.reason, refused.value.details["edge"]) == ("NEIGHBOUR_CUT", "N")


def test_a_second_line_merges() -> None:
    """[S-18] The new pair E-N is entered from N."""
    assert place(lab_map(WAITING), A, "switch_right", 3, at=(3, 2)).drawing == drawn("""
        ........
        .┌─┐....
        .A─7─.B.
        ........
    """)


def test_a_back_to_back_keeps_the_curve() -> None:
    """[S-19] [R-27] Rotation 1 has other curves than the old one."""
    board = lab_map("""
        ........
        .A┐.....
        ..│...B.
        ........
    """)
    assert refusal(board, A, "back_to_back", 1, at=(2, 1)) == "BREAKS_TRACK"


def test_a_track_of_a_back_to_back_may_not_dangle_at_both_ends() -> None:
    """[S-20] [R-29] The new pair N-E is fed from neither N nor E."""
    board = lab_map("""
        ........
        .A┐.....
        ..│...B.
        ........
    """)
    assert refusal(board, A, "back_to_back", 0, at=(2, 1)) == "NOT_CONNECTED"


def test_a_second_line_feeds_a_back_to_back() -> None:
    """[S-21] [R-29] The curve above was waiting; the new E end is open."""
    board = lab_map("""
        .┌┐.....
        .A┐...B.
        ..│.....
        ........
    """)
    assert place(board, A, "back_to_back", 0, at=(2, 1)).drawing == drawn("""
        .┌┐.....
        .AX...B.
        ..│.....
        ........
    """)


def test_track_may_not_run_into_the_side_of_complex_track() -> None:
    """[S-22] [R-31] The curve's N end points at a switch without an end there."""
    board = lab_map("""
        ........
        .A4.....
        .└......
        ......B.
    """)
    assert refusal(board, A, "curve", 3, at=(2, 2)) == "ENDS_AGAINST_COMPLEX"


def test_track_may_run_into_the_side_of_simple_track() -> None:
    """[S-23] [R-32] A complex die may join it later."""
    board = lab_map("""
        ........
        .A──....
        .└......
        ......B.
    """)
    assert place(board, A, "curve", 3, at=(2, 2)).drawing == drawn("""
        ........
        .A──....
        .└┘.....
        ......B.
    """)


def test_a_simple_die_may_leave_an_end_waiting() -> None:
    """[R-32] Test 7 is not for simple dice: the open end of the lower line now waits against the new die."""
    board = lab_map("""
        ........
        .A......
        .└┘...B.
        ........
    """)
    assert place(board, A, "straight", 1, at=(2, 1)).links == {}


def test_a_complex_die_joins_what_waits() -> None:
    """[S-24] The new pair E-S is entered from S."""
    board = lab_map("""
        ........
        .A──....
        .└┘.....
        ......B.
    """)
    assert place(board, A, "switch_left", 3, at=(2, 1)).drawing == drawn("""
        ........
        .A8─....
        .└┘.....
        ......B.
    """)


def test_no_track_goes_on_from_a_gray_station() -> None:
    """[S-25] [R-22] It is the end of a line."""
    board = lab_map("""
        ........
        .A─g....
        ......B.
        ........
    """)
    assert refusal(board, A, "straight", 1, at=(4, 1)) == "NOT_CONNECTED"


MET = """
    ........
    .A─B....
    ........
    ........
"""


def test_no_track_goes_on_from_another_home() -> None:
    """[S-26] [R-22] Nor do trains."""
    assert refusal(lab_map(MET), A, "straight", 1, at=(4, 1)) == "NOT_CONNECTED"


def test_the_owner_of_that_home_may_go_on() -> None:
    """[S-27] No new link: A and B were linked before."""
    laid = place(lab_map(MET), B, "straight", 1, at=(4, 1))
    assert laid.links == {}
    assert laid.drawing == drawn("""
        ........
        .A─B─...
        ........
        ........
    """)


def test_track_has_no_owner() -> None:
    """[S-28] [R-23] Whoever laid the switch, A may extend it."""
    board = lab_map("""
        ........
        .A──3...
        ....└─B.
        ........
    """)
    assert place(board, A, "straight", 1, at=(5, 1)).links == {}


def test_a_die_of_a_line_one_does_not_use_may_be_replaced() -> None:
    """[R-28] Only the new pair must hang on the own home: B's trains cross A's line and never run on it."""
    board = lab_map("""
        ........
        .A───...
        ...│....
        ...B....
    """)
    laid = place(board, B, "crossing", 0, at=(3, 1))
    assert laid.links == {}
    assert laid.drawing == drawn("""
        ........
        .A─┼─...
        ...│....
        ...B....
    """)


def test_the_first_connection_to_a_gray_station_links_it() -> None:
    """[S-29] [R-35] [Railroad Dice 2 2.5] A station is linked once trains can reach it."""
    board = lab_map("""
        ........
        .A─.g...
        ......B.
        ........
    """)
    assert place(board, A, "straight", 1, at=(3, 1)).links == {A: [(4, 1)]}


def test_a_second_line_links_nothing_new() -> None:
    """[S-30] [R-35] Income is for first connections."""
    board = lab_map("""
        ........
        .A─g....
        .└─.....
        ......B.
    """)
    assert place(board, A, "curve", 3, at=(3, 2)).links == {}


def test_homes_are_linked_mutually() -> None:
    """[S-31] [R-37] By one placement."""
    board = lab_map("""
        ........
        .A──.B..
        ........
        ........
    """)
    assert place(board, A, "straight", 1, at=(4, 1)).links == {A: [(5, 1)], B: [(1, 1)]}


def test_homes_are_linked_once() -> None:
    """[S-32] [R-37] A second line between them changes nothing."""
    board = lab_map("""
        ........
        .A───B..
        .└───...
        ........
    """)
    assert place(board, B, "curve", 3, at=(5, 2)).links == {}


def test_joining_a_network_links_what_trains_can_reach() -> None:
    """[S-33] [R-24] A arrives at the switch from W and goes on to E only."""
    board = lab_map("""
        ............
        .A──.8──B...
        .....└─g....
        ............
    """)
    assert place(board, A, "straight", 1, at=(4, 1)).links == {A: [(8, 1)], B: [(1, 1)]}


def test_joining_a_network_may_link_several_stations() -> None:
    """[S-34] In the order of `y`, then `x`; B itself still does not reach the gray station."""
    board = lab_map("""
        ............
        .A──.3──B...
        .....└─g....
        ............
    """)
    laid = place(board, A, "straight", 1, at=(4, 1))
    assert laid.links == {A: [(8, 1), (7, 2)], B: [(1, 1)]}
    assert linked(laid.board)[B] == [(1, 1)]


PASSIVE = """
    ............
    .A─8──.─B...
    ...└g.......
    ............
"""


def test_a_placement_may_link_others() -> None:
    """[S-35] [R-36] B reaches the gray station through what A built, A does not."""
    laid = place(lab_map(PASSIVE), A, "straight", 1, at=(6, 1))
    assert laid.links == {A: [(8, 1)], B: [(1, 1), (4, 2)]}
    assert linked(laid.board)[A] == [(8, 1)]


def test_with_reversing_trains_take_every_branch() -> None:
    """[R-24] With the option A reaches the gray station of S-35 beforehand."""
    assert linked(lab_map(PASSIVE, reversing=True))[A] == [(4, 2)]


def test_a_passive_link_stays_one() -> None:
    """[S-36] [R-36] B's own line to a station that it was linked to links nothing new."""
    board = lab_map("""
        ............
        .A─8────B...
        ...└g.──┘...
        ............
    """)
    assert place(board, B, "straight", 1, at=(5, 2)).links == {}


def test_a_returned_straight_is_laid_under_the_switch() -> None:
    """[S-45] [R-20] The switch first, then the straight that came back from it, turned."""
    switched = place(lab_map(SHORT), A, "switch_right", 1, at=(2, 1)).board
    assert place(switched, A, "straight", 0, at=(2, 2)).drawing == drawn("""
        ........
        .A3─....
        ..│...B.
        ........
    """)


def test_a_batch_needs_every_map_on_the_way_to_be_legal() -> None:
    """[S-49] [S-50] [Railroad Dice 2 6.2] The second die must continue the first."""
    first = place(lab_map(BARE), A, "straight", 1, at=(2, 1)).board
    assert refusal(first, A, "curve", 1, at=(3, 1)) == "NOT_CONNECTED"
    second = place(first, A, "curve", 2, at=(3, 1)).board
    assert place(second, A, "straight", 0, at=(3, 2)).links == {}


@pytest.mark.parametrize(
    ("face", "rotation", "at", "reason"),
    [
        ("straight", 0, (6, 2), "STATION_SQUARE"),
        ("crossing", 0, (4, 0), "NO_SIMPLE_HERE"),
        ("back_to_back", 1, (2, 0), "BREAKS_TRACK"),
        ("crossing", 0, (2, 0), "LEAVES_MAP"),
        ("straight", 0, (4, 0), "LEAVES_MAP"),
        ("curve", 1, (4, 0), "ENDS_AGAINST_COMPLEX"),
        ("switch_right", 0, (5, 0), "BREAKS_TRACK"),
    ],
)
def test_the_first_failing_test_gives_the_reason(face: str, rotation: int, at: tuple[int, int], reason: str) -> None:
    """[Railroad Dice 2 2.4] Tests run in the order of the table; each of these placements fails more than one."""
    board = lab_map("""
        .┌──.──.
        .A──3──.
        ......B.
        ........
    """)
    assert refusal(board, B, face, rotation, at=at, money=0) == reason


def test_legal_placements_tell_cost_and_links() -> None:
    """[Railroad Dice 2 2.4] By `y`, `x` and rotation; too dear ones are left out."""
    board = lab_map(
        """
        ........
        .A─.g...
        ......B.
        ........
        """,
        terrain={(3, 1): "^", (1, 2): "~"},
    )
    assert placements(board, A, "straight", money=1) == (
        LegalPlacement(Square(3, 1), "straight", 1, 1, (Square(4, 1),)),
    )
    assert [(legal.square, legal.rotation) for legal in placements(board, A, "straight", money=2)] == [
        (Square(3, 1), 1),
        (Square(1, 2), 0),
    ]


def test_legal_placements_of_complex_dice_are_on_simple_ones() -> None:
    """[Railroad Dice 2 2.4] Every simple die is a candidate, whoever built it."""
    board = lab_map(SHORT)
    assert [(legal.square, legal.rotation) for legal in placements(board, A, "switch_right")] == [
        (Square(2, 1), 1),
        (Square(3, 1), 1),
    ]
    assert placements(board, A, "crossing") == ()
    assert placements(board, B, "switch_left") == ()


def test_a_complex_die_that_brings_no_new_track_may_come_on_any_like_it() -> None:
    """[R-22] Trains of the player need not come up to it, if the component file has a complex face of a single pair."""
    single = [replace(shape, pairs=(("N", "S"),)) if shape.face == "crossing" else shape for shape in COMPONENTS.shapes]
    faces, board = track_faces(replace(COMPONENTS, shapes=tuple(single))), lab_map(SHORT)
    legal = legal_placements(board, networks(board)[B], faces, face="crossing", money=0)
    assert [(one.square, one.rotation) for one in legal] == [(Square(2, 1), 1), (Square(3, 1), 1)]


def test_what_is_found_out_about_a_map_is_no_part_of_it() -> None:
    """[Railroad Dice 2 6.5] Legal placements are remembered beside it, whatever the money they are asked for with."""
    board = lab_map(SHORT, terrain={(4, 1): "^"})
    counts = [len(placements(board, A, "straight", money=money)) for money in (10, 0, 10)]
    assert counts == [2, 1, 2]
    assert (board, msgspec.json.encode(board)) == (replace(board), msgspec.json.encode(replace(board)))


def test_a_placement_that_closes_a_loop_links_through_it() -> None:
    """[Railroad Dice 2 2.3] Trains may run over the same square again, on another pair."""
    board = lab_map("""
        ........
        .A─┼.┐..
        ...└─┘..
        ...g..B.
    """)
    assert linked(board)[A] == []
    assert place(board, A, "straight", 1, at=(4, 1)).links == {}
