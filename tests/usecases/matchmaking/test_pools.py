"""The file that says which pools there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

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
BOT = '{ player = "house-1", policy = "greedy" }'


def test_the_shipped_pools_rate_every_game_with_every_number_of_seats() -> None:
    found = Counter((pool.game, pool.seats) for pool in shipped_pools() if pool.rated)
    assert found == {(entry.name, seats): 1 for entry in GAMES for seats in entry.load().seats}
    assert all(len(pool.house_bots) == 8 for pool in shipped_pools() if pool.rated)


def test_other_shipped_pools_are_for_play_without_ratings() -> None:
    found = {(pool.game, pool.variant) for pool in shipped_pools() if not pool.rated}
    assert found == {("transcontinental", ""), ("railroad_dice_2", "variable")}


def test_a_pool_needs_no_house_bots_and_draws_the_start() -> None:
    [pool] = read_pools(POOL, "test")
    assert (pool.house_bots_after_seconds, pool.house_bots, pool.draw_start) == (None, (), True)


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
