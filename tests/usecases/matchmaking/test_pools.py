"""The file that says which pools there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from promontory.api.match.v1.match_pb2 import CLOCK_KIND_INCREMENT
from promontory.codec.terms import ClockKind, Terms, TimeControl
from promontory.games.registry import GAMES
from promontory.matchmaking.messages import pool_message
from promontory.matchmaking.pools import PoolsError, load_pools, read_pools, served_pools, shipped_pools

POOL = """
[[pools]]
id = "one"
game = "transcontinental"
seats = 2
rated = true
window = { points = 100, points_per_second = 5, most_points = 600 }
"""
CLOCK = 'time_control = { kind = "increment", base_seconds = 600, increment_seconds = 10 }'
BOT = '{ player = "house-1", policy = "greedy" }'


def test_the_shipped_pools_rate_every_game_with_every_number_of_seats() -> None:
    found = Counter((pool.game, pool.seats) for pool in shipped_pools() if pool.rated)
    assert found == {(entry.name, seats): 1 for entry in GAMES for seats in entry.load().seats}
    assert all(len(pool.house_bots) == 8 for pool in shipped_pools() if pool.rated)


def test_the_shipped_ranked_pools_have_clocks_and_hide_what_is_hidden() -> None:
    """[MatchSetup] Spectators of games with hidden cards are behind; who leaves a table of three is stood in for."""
    rated = [pool for pool in shipped_pools() if pool.rated]
    assert all(pool.time_control and pool.abandon_after_seconds == 120 for pool in rated)
    assert {pool.game for pool in rated if not pool.spectator_delay} == {"railroad_dice_2"}
    assert {pool.stand_in for pool in shipped_pools() if pool.seats > 2} == {"greedy"}


def test_other_shipped_pools_are_for_play_without_ratings() -> None:
    found = {(pool.game, pool.variant) for pool in shipped_pools() if not pool.rated}
    assert found == {("transcontinental", ""), ("railroad_dice_2", "variable")}


def test_a_pool_needs_no_house_bots_and_draws_the_start() -> None:
    [pool] = read_pools(POOL, "test")
    assert (pool.house_bots_after_seconds, pool.house_bots, pool.draw_start) == (None, (), True)


def test_a_pool_names_the_terms_of_its_matches() -> None:
    lines = [CLOCK, 'stand_in = "greedy"', "abandon_after_seconds = 60", "spectator_delay = 5"]
    [pool] = read_pools("\n".join([POOL, *lines]), "test")
    message = pool_message(pool, 0)
    clock = TimeControl(kind=ClockKind.INCREMENT, base_ms=600_000, increment_ms=10_000)
    assert pool.terms == Terms(time_control=clock, stand_in_policy="greedy", abandon_after_ms=60_000, spectator_delay=5)
    assert (message.time_control.kind, message.time_control.increment.seconds) == (CLOCK_KIND_INCREMENT, 10)
    assert (message.stand_in_policy, message.abandon_after.seconds, message.spectator_delay) == ("greedy", 60, 5)
    assert message.time_control.grace.nanos == 300_000_000


@pytest.mark.parametrize(("line", "variant"), [("", ""), ('variant = ""', ""), ('variant = "standard"', "standard")])
def test_a_pool_may_name_a_variant(line: str, variant: str) -> None:
    """[matchmaking/v1 Pool] Which one is usual depends on the data, so that the rules service says it of the match."""
    [pool] = read_pools(POOL + line, "test")
    assert pool_message(pool, 0).variant == variant


def test_a_file_is_read_where_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "pools.toml"
    file.write_text(POOL)
    assert [pool.id for pool in load_pools(file)] == ["one"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "missing required field `pools`"),
        ("pools = []", "there is no pool"),
        ("[[pools", "Expected"),
        (POOL.replace('"transcontinental"', '"chess"'), "pool 'one': no game 'chess'; there are: transcontinental"),
        (POOL.replace("seats = 2", "seats = 3"), "pool 'one': transcontinental has 2 seats, not 3"),
        (POOL.replace('"one"', '"No Good"'), "its id must be 1 to 56"),
        (POOL.replace("most_points = 600", "most_points = 60"), "never shrinks"),
        (POOL.replace("points_per_second = 5", "points_per_second = -5"), "never shrinks"),
        (POOL + POOL, "two pools have the same id"),
        (POOL.replace('"one"', '"one-more"'), "pool 'one-more': its id must be 1 to 56 of a-z, 0-9, _"),
        (POOL + "seat_order = 1", "seat_order"),
        (POOL + 'variant = "chess"', "pool 'one': its variant is one of standard, not 'chess'"),
        (POOL + "house_bots_after_seconds = 15", "house_bots must be 1 at least"),
        (POOL + "house_bots_after_seconds = -1\nhouse_bots = [" + BOT + "]", "house_bots_after_seconds is 0 or more"),
        (POOL + f"house_bots = [{BOT}, {BOT}]", "two house bots have the same player id"),
        (POOL + f"house_bots = [{BOT.replace('greedy', 'genius')}]", "there is no policy 'genius', only"),
        (POOL + f"house_bots = [{BOT.replace('house-1', 'House 1')}]", "player id 'House 1' must be 1 to 64"),
        (POOL + CLOCK.replace("increment", "sundial", 1), "Invalid enum value 'sundial'"),
        (POOL + CLOCK.replace("base_seconds", "base"), "unknown field `base`"),
        (POOL + CLOCK.replace("600", "0"), "pool 'one': its time_control.base_seconds is 1 second to 24 hours"),
        (POOL + CLOCK.replace("10 }", "601 }"), "its time_control.increment_seconds is 0 to 10 minutes"),
        (
            POOL + CLOCK.replace("increment", "per_turn", 1),
            "and for the kind increment only",
        ),
        (POOL + CLOCK.replace("increment", "correspondence", 1), "base_seconds is 1 to 14 whole days"),
        (POOL + CLOCK.replace("10 }", "10, grace_seconds = 11 }"), "its time_control.grace_seconds is 0 to 10 seconds"),
        (POOL + CLOCK.replace("10 }", "10, default_moves = -1 }"), "its time_control.default_moves is 0 to 100"),
        (
            POOL + CLOCK.replace("10 }", '10, default_policy = "x" }'),
            "default_policy must be one of",
        ),
        (POOL + 'stand_in = "genius"', "its stand_in must be one of"),
        (POOL + "abandon_after_seconds = 9", "its abandon_after_seconds is 10 seconds to 30 days"),
        (POOL + "spectator_delay = 1001", "its spectator_delay is 0 to 1000 commits"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, problem: str) -> None:
    with pytest.raises(PoolsError) as refused:
        read_pools(text, "pools.toml")
    assert problem in str(refused.value)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(PoolsError, match="No such file"):
        load_pools(tmp_path / "none.toml")


def test_a_pool_whose_rules_service_has_no_address_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pools.toml"
    file.write_text(POOL)
    with pytest.raises(PoolsError, match="PROMONTORY_RULES_TARGETS has no address of the rules service of trans"):
        served_pools(file, frozenset({"pacific"}))


def test_of_the_shipped_pools_those_are_served_whose_game_is() -> None:
    """A version that brings a new game starts in an installation that does not run it yet."""
    assert {pool.game for pool in served_pools(None, frozenset({"pacific"})).values()} == {"pacific"}
    with pytest.raises(PoolsError, match="PROMONTORY_RULES_TARGETS has no address"):
        served_pools(None, frozenset())
