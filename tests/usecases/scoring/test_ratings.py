"""What one match does to ratings: openskill's Bradley-Terry model with partial pairing."""

from __future__ import annotations

from itertools import product

import pytest

from promontory.scoring.domain import NEW_RATING, Rating, rate

NEW = NEW_RATING
STRONG, WEAK = Rating(30.0, 4.0, 20), Rating(20.0, 4.0, 20)


def mus(*places: int) -> list[float]:
    return [round(rating.mu, 4) for rating in rate([NEW] * len(places), places)]


def test_a_new_player_has_1500_points_and_1000_fewer_assured() -> None:
    """[scoring/v1] points = 1500 + 40 x (mu - 25); assured points take three deviations off."""
    assert (NEW.points, NEW.assured_points) == (1500.0, pytest.approx(500.0))


def test_the_winner_of_two_new_players_gains_what_the_loser_loses() -> None:
    """Known values of openskill 6.2 for two new players."""
    winner, loser = rate([NEW, NEW], [1, 2])
    assert (winner.mu, winner.sigma) == pytest.approx((27.635389493140497, 8.06590141354368), abs=1e-12)
    assert (loser.mu, loser.sigma) == pytest.approx((22.364610506859503, 8.06590141354368), abs=1e-12)


def test_a_draw_of_two_new_players_moves_nobody() -> None:
    """Shared places are no win for either."""
    assert mus(1, 1) == [25.0, 25.0]


def test_a_draw_moves_the_stronger_down_and_the_weaker_up() -> None:
    """A tie is evidence that two players are nearer to each other than thought."""
    strong, weak = rate([STRONG, WEAK], [1, 1])
    assert strong.mu < STRONG.mu
    assert weak.mu > WEAK.mu


def test_an_upset_moves_more_than_an_expected_win() -> None:
    """What surprises counts more."""
    upset, expected = rate([WEAK, STRONG], [1, 2]), rate([STRONG, WEAK], [1, 2])
    assert upset[0].mu - WEAK.mu > expected[0].mu - STRONG.mu > 0


def test_two_who_share_the_first_place_gain_equally_and_more_than_the_third() -> None:
    """The anomaly of Plackett-Luce (openskill.py#155), where the third gains most, is not ours."""
    assert mus(1, 1, 3, 4, 5) == [26.9765, 26.9765, 25.0, 23.6823, 22.3646]


def test_two_who_share_the_last_place_lose_equally_and_most() -> None:
    """Places 1, 2, 3, 4, 4."""
    first, second, third, *last = mus(1, 2, 3, 4, 4)
    assert first > second > third > last[0] == last[1]


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_a_match_in_which_all_are_equal_moves_no_new_player(seats: int) -> None:
    """Everybody shares the first place."""
    assert mus(*[1] * seats) == [25.0] * seats


@pytest.mark.parametrize("places", [(1, 2), (1, 1, 3), (1, 2, 2, 4), (1, 2, 3, 4, 5)])
def test_every_rated_match_makes_a_rating_surer_and_counts_one(places: tuple[int, ...]) -> None:
    """Sigma shrinks for players as uncertain as new ones."""
    after = rate([NEW] * len(places), places)
    assert {rating.matches for rating in after} == {1}
    assert max(rating.sigma for rating in after) < NEW.sigma


def finishes(seats: int) -> list[tuple[int, ...]]:
    """Return all places in which so many seats can finish, ties sharing the better one."""
    return [
        places
        for places in product(range(1, seats + 1), repeat=seats)
        if all(place == 1 + sum(other < place for other in places) for place in places)
    ]


@pytest.mark.parametrize(("seats", "ways"), [(2, 3), (3, 13), (4, 75), (5, 541)])
def test_of_equal_players_the_better_placed_gain_more_and_those_who_tie_the_same(seats: int, ways: int) -> None:
    """Whatever ties there are: equal to the last bit, so that they share a rank."""
    assert len(finishes(seats)) == ways
    assert [places for places in finishes(seats) if not is_fair(places)] == []


def is_fair(places: tuple[int, ...]) -> bool:
    """Tell whether new players who finish in `places` are rated in that order, and those who tie alike."""
    after = list(zip(places, rate([NEW] * len(places), places), strict=True))
    return all(
        (one.mu > other.mu if place < behind else one == other)
        for (place, one), (behind, other) in product(after, after)
        if place <= behind
    )


@pytest.mark.parametrize("places", [(1, 2, 2), (1, 1, 3), (1, 2, 2, 4), (3, 1, 3, 1), (1, 1, 1, 4, 5), (2, 2, 1, 2, 5)])
def test_the_order_of_seats_does_not_matter_where_seats_tie(places: tuple[int, ...]) -> None:
    """But for rounding: sums are taken in the order of seats, which the match's log keeps."""
    before = [NEW, STRONG, WEAK, Rating(27.0, 6.0, 3), Rating(22.0, 5.0, 5)][: len(places)]
    there = rate(before, places)
    back = rate(before[::-1], places[::-1])[::-1]
    assert [rating.mu for rating in back] == pytest.approx([rating.mu for rating in there], abs=1e-12)
    assert [rating.sigma for rating in back] == pytest.approx([rating.sigma for rating in there], abs=1e-12)


def test_the_order_of_seats_does_not_matter() -> None:
    """The same places in other seats give the same ratings to the last bit."""
    first, second, third = rate([NEW, STRONG, WEAK], [1, 2, 3])
    assert rate([WEAK, NEW, STRONG], [3, 1, 2]) == (third, first, second)
