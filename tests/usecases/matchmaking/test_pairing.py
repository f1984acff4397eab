"""Who is paired with whom, and when."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promontory.matchmaking.domain import Place, Pool, Ticket, Window
from promontory.matchmaking.filling import RatedBot
from promontory.matchmaking.pairing import SLACK, Line, pair
from promontory.matchmaking.stretch import Group
from tests.support.matchmaking import NOW_MS, house_bots, pool, ticket

BOTS = house_bots("house-1", "house-2", "house-3", "house-4")


def paired(tickets: list[Ticket], bots: list[RatedBot] | None = None, **of_pool: Any) -> list[tuple[str, ...]]:
    """Return the players of each match, in the order of seats."""
    groups = pair(pool(**of_pool), tickets, NOW_MS, bots or [])
    return [tuple(place.entrant.player for place in group) for group in groups]


def rated(*ratings: float) -> list[RatedBot]:
    return [RatedBot(bot, rating) for bot, rating in zip(BOTS, ratings, strict=False)]


# Two seats


def test_a_lone_ticket_waits() -> None:
    assert paired([ticket("ann")]) == []


def test_two_tickets_within_each_others_windows_make_a_match() -> None:
    assert paired([ticket("ann", 1500), ticket("bob", 1600)]) == [("ann", "bob")]


def test_two_tickets_further_apart_than_the_window_wait() -> None:
    assert paired([ticket("ann", 1500), ticket("bob", 1601)]) == []


def test_a_window_widens_with_waiting() -> None:
    tickets = [ticket("ann", 1500, waited_seconds=10), ticket("bob", 1700, waited_seconds=10)]
    assert paired(tickets) == [("ann", "bob")]


def test_both_windows_must_agree() -> None:
    assert paired([ticket("ann", 1500, waited_seconds=60), ticket("bob", 1700)]) == []


def test_a_window_stops_widening_at_its_maximum() -> None:
    tickets = [ticket("ann", 1500, waited_seconds=9999), ticket("bob", 1901, waited_seconds=9999)]
    assert paired(tickets) == []


def test_the_nearest_pair_goes_first() -> None:
    tickets = [ticket("ann", 1500), ticket("bob", 1560), ticket("cem", 1590)]
    assert paired(tickets) == [("bob", "cem")]


def test_of_equally_near_pairs_the_one_with_the_oldest_ticket_goes_first() -> None:
    tickets = [ticket("ann", 1500), ticket("bob", 1550), ticket("cem", 1600, waited_seconds=1)]
    assert paired(tickets) == [("cem", "bob")]


def test_a_newcomer_between_two_old_tickets_does_not_keep_them_apart() -> None:
    tickets = [
        ticket("ann", 1500, waited_seconds=30),
        ticket("new", 1610),
        ticket("cem", 1750, waited_seconds=30),
    ]
    assert paired(tickets) == [("ann", "cem")]


def test_the_longest_waiting_ticket_takes_seat_0() -> None:
    tickets = [ticket("ann", 1500, waited_seconds=1), ticket("bob", 1510, waited_seconds=2)]
    assert paired(tickets) == [("bob", "ann")]


def test_a_ticket_in_its_back_off_is_left_alone() -> None:
    assert paired([ticket("ann", refusals=1, retry_at_ms=NOW_MS + 1), ticket("bob")]) == []
    assert paired([ticket("ann", refusals=1, retry_at_ms=NOW_MS), ticket("bob")]) == [("ann", "bob")]


def test_a_player_never_meets_themselves() -> None:
    assert paired([ticket("ann"), ticket("ann", id="tk-second")]) == []


def test_a_place_carries_the_ticket_and_its_entropy() -> None:
    """[fairness 2.3] Each seat may bring entropy with its ticket."""
    [group] = pair(pool(), [ticket("ann", waited_seconds=1), ticket("bob", 1510)], NOW_MS)
    assert group[0] == Place(ticket("ann").entrant, 1500, "tk-ann", NOW_MS - 1000)
    assert group[1].entrant.entropy == b"bob"


# More seats


def test_a_match_of_three_needs_three_neighbours() -> None:
    tickets = [ticket("ann", 1500), ticket("bob", 1550), ticket("cem", 1700)]
    assert paired(tickets, seats=3) == []
    assert paired([*tickets, ticket("dia", 1590)], seats=3) == [("ann", "bob", "dia")]


def test_everyone_in_a_match_of_three_must_accept_everyone() -> None:
    tickets = [ticket("ann", 1500), ticket("bob", 1580), ticket("cem", 1660)]
    assert paired(tickets, seats=3) == []


def test_a_newcomer_does_not_keep_three_old_tickets_apart() -> None:
    old = [
        ticket(player, rating, waited_seconds=60) for player, rating in (("ann", 1500), ("bob", 1700), ("cem", 1800))
    ]
    assert paired([*old, ticket("new", 1550)], seats=3) == [("ann", "bob", "cem")]


def test_between_the_lowest_and_the_highest_the_oldest_sit() -> None:
    tickets = [ticket("ann", 1500), ticket("bob", 1500, waited_seconds=5), ticket("cem", 1500, waited_seconds=9)]
    assert paired([*tickets, ticket("dia", 1500, waited_seconds=2)], seats=3) == [("cem", "bob", "dia")]


# House bots


def test_a_house_bot_fills_the_seat_after_the_pools_wait() -> None:
    waiting = [ticket("ann", waited_seconds=15)]
    assert paired(waiting, rated(1500), house_bots_after_seconds=15) == [("ann", "house-1")]


def test_no_house_bot_comes_before() -> None:
    waiting = [ticket("ann", waited_seconds=14.9)]
    assert paired(waiting, rated(1500), house_bots_after_seconds=15) == []


def test_no_house_bot_comes_to_a_pool_without_them() -> None:
    assert paired([ticket("ann", waited_seconds=9999)], rated(1500)) == []


def test_the_house_bot_nearest_in_rating_comes() -> None:
    waiting = [ticket("ann", 1650, waited_seconds=15)]
    assert paired(waiting, rated(1500, 1600, 1900), house_bots_after_seconds=15) == [("ann", "house-2")]


def test_equally_near_house_bots_come_in_turn_with_the_tickets() -> None:
    waiting = [ticket(f"p{n}", 1500 + 1000 * n, waited_seconds=15) for n in range(20)]
    bots = rated(1500, 1500, 1500, 1500)
    assert len({match[1] for match in paired(waiting, bots, house_bots_after_seconds=15)}) == 4


def test_people_meet_each_other_rather_than_house_bots() -> None:
    waiting = [ticket("ann", waited_seconds=15), ticket("bob", 1600)]
    assert paired(waiting, rated(1500), house_bots_after_seconds=15) == [("ann", "bob")]


def test_a_house_bot_that_waits_itself_fills_no_seat() -> None:
    waiting = [ticket("ann", 1500, waited_seconds=15), ticket("house-1", 3000)]
    assert paired(waiting, rated(1500, 9000), house_bots_after_seconds=15) == [("ann", "house-2")]


def test_house_bots_with_tickets_are_paired_like_anyone() -> None:
    waiting = [ticket("house-2", waited_seconds=1), ticket("house-1", 1550)]
    assert paired(waiting, rated(1500, 1550)) == [("house-2", "house-1")]


def test_house_bots_join_all_who_have_waited_long_enough() -> None:
    waiting = [
        ticket("ann", 1500, waited_seconds=20),
        ticket("bob", 1520, waited_seconds=16),
        ticket("new", 1510),
    ]
    matches = paired(waiting, rated(1500, 1600), seats=4, house_bots_after_seconds=15)
    assert matches == [("ann", "bob", "house-1", "house-2")]


def test_too_few_house_bots_fill_nothing() -> None:
    waiting = [ticket("ann", waited_seconds=20)]
    assert paired(waiting, rated(1500), seats=3, house_bots_after_seconds=15) == []


def test_one_house_bot_never_takes_two_seats_of_a_match() -> None:
    waiting = [ticket("ann", waited_seconds=20)]
    [match] = paired(waiting, rated(1500, 1500, 1500), seats=4, house_bots_after_seconds=15)
    assert len(set(match)) == 4


# Whatever waits

tickets_lists = st.lists(st.tuples(st.integers(900, 2100), st.integers(0, 90), st.integers(0, 12)), max_size=30).map(
    lambda rows: [
        ticket(f"p{player}", rating, waited_seconds=waited, id=f"tk-{n}")
        for n, (rating, waited, player) in enumerate(rows)
    ]
)
crowds = st.lists(st.tuples(st.integers(900, 2100), st.integers(0, 90)), max_size=30).map(
    lambda rows: [ticket(f"p{n}", rating, waited_seconds=waited) for n, (rating, waited) in enumerate(rows)]
)
seats = st.integers(2, 5)
windows = st.builds(Window, points=st.just(50), points_per_second=st.integers(0, 10), most_points=st.just(500))


def fits(which: Pool, *tickets: Ticket) -> bool:
    """Tell whether each of `tickets` accepts every other one."""
    return all(
        abs(one.rating - other.rating) <= which.window.width(NOW_MS - each.created_ms)
        for one, other in combinations(tickets, 2)
        for each in (one, other)
    )


def held(groups: tuple[Group, ...], tickets: list[Ticket]) -> list[list[Ticket]]:
    """Return the tickets of each group."""
    by_id = {each.id: each for each in tickets}
    return [[by_id[place.ticket] for place in group if place.ticket] for group in groups]


@given(tickets_lists, seats, windows)
def test_no_ticket_is_in_two_matches_and_no_player_twice_in_one(
    tickets: list[Ticket], seats: int, window: Window
) -> None:
    which = pool(seats=seats, window=window, house_bots_after_seconds=30, house_bots=BOTS)
    groups = pair(which, tickets, NOW_MS, rated(1400, 1500, 1500, 1600))
    taken = [place.ticket for group in groups for place in group if place.ticket]
    assert len(taken) == len(set(taken))
    assert [len({place.entrant.player for place in group}) for group in groups] == [seats] * len(groups)


@given(tickets_lists, seats, windows)
def test_everyone_in_a_match_is_within_everyones_window(tickets: list[Ticket], seats: int, window: Window) -> None:
    which = pool(seats=seats, window=window, house_bots_after_seconds=30, house_bots=BOTS)
    groups = pair(which, tickets, NOW_MS, rated(1400, 1500, 1500, 1600))
    assert all(fits(which, *group) for group in held(groups, tickets))


@given(crowds, windows)
def test_nobody_is_left_waiting_beside_somebody_acceptable(tickets: list[Ticket], window: Window) -> None:
    """So the oldest ticket is passed over only when nobody it accepts, and who accepts it, is left."""
    which = pool(window=window)
    taken = {place.ticket for group in pair(which, tickets, NOW_MS) for place in group}
    left = [each for each in tickets if each.id not in taken]
    assert not any(fits(which, *two) for two in combinations(left, 2))


@given(crowds, windows)
def test_no_three_are_left_waiting_who_accept_each_other(tickets: list[Ticket], window: Window) -> None:
    which = pool(seats=3, window=window)
    taken = {place.ticket for group in pair(which, tickets, NOW_MS) for place in group}
    left = [each for each in tickets if each.id not in taken]
    assert not any(fits(which, *three) for three in combinations(left, 3))


@given(crowds, seats)
def test_whoever_has_waited_long_enough_gets_a_match_where_there_are_house_bots(
    tickets: list[Ticket], seats: int
) -> None:
    which = pool(seats=seats, house_bots_after_seconds=30, house_bots=BOTS)
    groups = pair(which, tickets, NOW_MS, rated(1400, 1500, 1500, 1600))
    taken = {place.ticket for group in groups for place in group}
    due = {each.id for each in tickets if each.created_ms <= NOW_MS - 30_000}
    assert due <= taken


@given(tickets_lists.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), seats)
def test_the_order_in_which_tickets_are_read_does_not_matter(
    orders: tuple[list[Ticket], list[Ticket]], seats: int
) -> None:
    which = pool(seats=seats, house_bots_after_seconds=30, house_bots=BOTS)
    bots = rated(1400, 1500, 1500, 1600)
    assert pair(which, orders[0], NOW_MS, bots) == pair(which, orders[1], NOW_MS, bots)


@pytest.mark.parametrize("seats", [2, 4])
def test_thousands_of_tickets_leave_hardly_anyone(seats: int) -> None:
    tickets = [ticket(f"p{n}", 800 + 7919 * n % 1400, waited_seconds=n % 60) for n in range(4000)]
    assert len(paired(tickets, seats=seats)) >= 0.99 * 4000 // seats


# A line that is kept

moments = st.tuples(
    st.lists(st.tuples(st.integers(900, 2100), st.integers(0, 20)), max_size=12),
    st.sets(st.integers(0, 40), max_size=4),
    st.sampled_from((0, 1, 250, 5_000)),
)


def line_of(*tickets: Ticket, **of_pool: Any) -> Line:
    line = Line(pool(**of_pool))
    for each in tickets:
        line.put(each)
    return line


def players_of(groups: tuple[Group, ...]) -> list[tuple[str, ...]]:
    return sorted(tuple(place.entrant.player for place in group) for group in groups)


@given(st.lists(moments, max_size=8), seats, windows, st.sampled_from((None, 10)))
def test_a_line_that_is_kept_gives_at_every_moment_what_one_that_is_made_anew_does(
    moments: list[tuple[list[tuple[int, int]], set[int], int]], seats: int, window: Window, bots_after: int | None
) -> None:
    which = pool(seats=seats, window=window, house_bots_after_seconds=bots_after, house_bots=BOTS)
    bots, line, now_ms, waiting, count = rated(1400, 1500, 1500, 1600), Line(which), NOW_MS, dict[str, Ticket](), 0
    for come, leave, passing_ms in moments:
        for rating, waited in come:
            back_off_ms = now_ms + 3000 if waited == 13 else 0
            made = ticket(f"p{count}", rating, created_ms=now_ms - 1000 * waited, retry_at_ms=back_off_ms)
            waiting[made.id], count = made, count + 1
            line.put(made)
        for number in leave:
            waiting.pop(f"tk-p{number}", None)
            line.drop(f"tk-p{number}")
        now_ms += passing_ms
        groups = line.take(now_ms, bots)
        assert players_of(groups) == players_of(pair(which, waiting.values(), now_ms, bots))
        for place in [place for group in groups for place in group if place.ticket]:
            del waiting[place.ticket]
        assert sorted(line) == sorted(waiting)
        assert line.oldest_ms == min((each.created_ms for each in waiting.values()), default=None)


def test_two_who_were_too_far_apart_meet_once_both_windows_reach() -> None:
    line = line_of(ticket("ann", 1500, waited_seconds=30), ticket("bob", 1700))
    assert line.take(NOW_MS) == line.take(NOW_MS + 9_999) == ()
    assert players_of(line.take(NOW_MS + 10_000)) == [("ann", "bob")]


def test_whoever_is_taken_has_left_the_line() -> None:
    line = line_of(ticket("ann"), ticket("bob"), ticket("cem", 9000))
    assert players_of(line.take(NOW_MS)) == [("ann", "bob")]
    assert (list(line), len(line), "tk-ann" in line) == (["tk-cem"], 1, False)
    assert line.take(NOW_MS) == ()


def test_a_ticket_that_is_put_again_stands_as_it_is_now() -> None:
    line = line_of(ticket("ann"), ticket("bob"))
    line.put(ticket("ann", refusals=1, retry_at_ms=NOW_MS + 1))
    assert line.take(NOW_MS) == ()
    [group] = line.take(NOW_MS + 1)
    assert [place.refusals for place in group] == [1, 0]


def test_of_a_player_s_tickets_the_oldest_is_in_the_line() -> None:
    line = line_of(
        ticket("ann", id="tk-new"), ticket("ann", id="tk-old", waited_seconds=1), ticket("ann", id="tk-last")
    )
    assert list(line) == ["tk-old"]


def test_a_ticket_that_rests_longer_than_it_was_to_is_left_alone_until_then() -> None:
    line = line_of(ticket("ann", refusals=1, retry_at_ms=NOW_MS + 5), ticket("bob"))
    line.put(ticket("ann", refusals=2, retry_at_ms=NOW_MS + 9))
    assert line.take(NOW_MS + 8) == ()
    assert players_of(line.take(NOW_MS + 9)) == [("ann", "bob")]


def test_what_thousands_leave_behind_who_came_and_went_is_cleared_away() -> None:
    """The oldest ticket, which nobody is near to, stays."""
    window = Window(points=10, points_per_second=0.001, most_points=500)
    line = line_of(ticket("old", 5000, waited_seconds=60), window=window)
    for number in range(2 * SLACK):
        line.put(ticket(f"p{number}", 1000 + 100 * (number % 2)))
        line.take(NOW_MS)
        line.drop(f"tk-p{number}")
    line.take(NOW_MS)
    assert (line.oldest_ms, len(line)) == (NOW_MS - 60_000, 1)
    assert max(len(line._ages), len(line._alarms)) <= 2 * len(line) + SLACK
