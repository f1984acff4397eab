"""Leaderboards and histories: order, ties, pages."""

from __future__ import annotations

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.runtime.errors import Refusal
from promontory.scoring.domain import NEW_RATING
from promontory.scoring.ladders import Ladders
from promontory.scoring.usecases import Ratings, TallyMatch
from tests.support.closed_matches import POOL, Played, write_closed

PLAYERS = ("ada", "ben", "cyd", "dot", "eve")


class Reading:
    """A pool's questions, and a way to play on."""

    def __init__(self) -> None:
        self.log = MemoryEventLog()
        ladders = Ladders(self.log)
        self.tally, self.ratings = TallyMatch(self.log, ladders), Ratings(ladders)
        self.played = 0

    async def play(self, players: tuple[str, ...], places: tuple[int, ...]) -> str:
        """Play and tally one match."""
        self.played += 1
        match_id = await write_closed(self.log, Played(f"match {self.played}", players, places))
        await self.tally(match_id)
        return match_id

    async def board(self, size: int = 0, token: str = "") -> tuple[list[tuple[int, str]], str]:
        """Return a page's ranks and players, and the token of the next."""
        page = await self.ratings.leaderboard(POOL, size=size, token=token)
        return [(standing.rank, standing.player_id) for standing in page.entries], page.next_token


@pytest.fixture
async def reading() -> Reading:
    """Five players; ben and cyd are equal."""
    reading = Reading()
    await reading.play(PLAYERS, (1, 2, 2, 4, 5))
    return reading


async def test_an_unknown_player_is_a_new_one(reading: Reading) -> None:
    """[scoring/v1 GetRating] That of a new player if there is none yet."""
    assert await reading.ratings.rating(POOL, "zoe") == NEW_RATING


async def test_an_unknown_pool_is_empty(reading: Reading) -> None:
    """Scoring knows pools by their matches."""
    page = await reading.ratings.leaderboard("pacific.ranked", size=0, token="")
    assert (page.entries, page.next_token) == ([], "")


async def test_equal_players_share_the_better_rank(reading: Reading) -> None:
    """[scoring/v1 LeaderboardEntry] 1, 2, 2, 4, 5; equal players stand in the order of their ids."""
    ranks, _ = await reading.board()
    assert ranks == [(1, "ada"), (2, "ben"), (2, "cyd"), (4, "dot"), (5, "eve")]


async def test_a_few_lucky_matches_do_not_rank_before_many_good_ones(reading: Reading) -> None:
    """[scoring/v1 LeaderboardEntry] Ranked by assured points, not by points."""
    await reading.play(("zoe", "yan"), (1, 2))
    [await reading.play(("dot", "ben"), (1, 1)) for _ in range(8)]
    page = await reading.ratings.leaderboard(POOL, size=0, token="")
    ranked = [standing.player_id for standing in page.entries]
    points = {standing.player_id: standing.rating.points for standing in page.entries}
    assert points["zoe"] > points["dot"]
    assert ranked.index("dot") < ranked.index("zoe")


async def test_pages_join_to_the_whole_board(reading: Reading) -> None:
    """[scoring/v1 ListLeaderboard] Ranks run on across pages, also through a tie."""
    first, token = await reading.board(size=2)
    second, token = await reading.board(size=2, token=token)
    third, end = await reading.board(size=2, token=token)
    assert (first + second + third, end) == ((await reading.board())[0], "")


async def test_later_pages_show_the_table_of_the_first(reading: Reading) -> None:
    """A match between two pages shifts nobody out of sight."""
    whole, _ = await reading.board()
    first, token = await reading.board(size=2)
    await reading.play(("zoe", "eve"), (2, 1))
    rest, _ = await reading.board(size=10, token=token)
    assert first + rest == whole


async def test_another_replica_serves_the_next_page_alike(reading: Reading) -> None:
    """No page depends on a process."""
    whole, _ = await reading.board()
    _, token = await reading.board(size=2)
    await reading.play(("zoe", "eve"), (2, 1))
    page = await Ratings(Ladders(reading.log)).leaderboard(POOL, size=10, token=token)
    assert [(standing.rank, standing.player_id) for standing in page.entries] == whole[2:]


async def test_history_is_newest_first_in_pages_that_do_not_shift(reading: Reading) -> None:
    """[scoring/v1 ListRatingHistory]."""
    matches = [await reading.play(("ada", "zoe"), (1, 2)) for _ in range(3)]
    first = await reading.ratings.history(POOL, "ada", size=2, token="")
    await reading.play(("ada", "zoe"), (2, 1))
    rest = await reading.ratings.history(POOL, "ada", size=2, token=first.next_token)
    steps = [*first.entries, *rest.entries]
    assert [step.match_id for step in steps[:3]] == matches[::-1]
    assert [step.change.after.matches for step in steps] == [4, 3, 2, 1]
    assert rest.next_token == ""


async def board_token(reading: Reading) -> str:
    return (await reading.board(size=2))[1]


async def history_token(reading: Reading) -> str:
    await reading.play(("ada", "ben"), (1, 2))
    return (await reading.ratings.history(POOL, "ada", size=1, token="")).next_token


async def forged_token(reading: Reading) -> str:
    version, offset, check = (await board_token(reading)).split("-")
    return f"{version}-{int(offset) + 1}-{check}"


@pytest.mark.parametrize("token", ["x", "-", "2", "2-2", "A" * 28, "A" * 4000, "\N{SNOWMAN}"])
async def test_what_is_no_token_is_refused(reading: Reading, token: str) -> None:
    """[PAGE_TOKEN_INVALID]."""
    with pytest.raises(Refusal) as refused:
        await reading.board(token=token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize("make", [history_token, forged_token])
async def test_a_token_of_another_list_is_refused(reading: Reading, make: object) -> None:
    """[PAGE_TOKEN_INVALID]."""
    token = await make(reading)  # type: ignore[operator]
    with pytest.raises(Refusal) as refused:
        await reading.board(token=token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"


async def test_a_token_of_a_future_that_was_lost_is_refused(reading: Reading) -> None:
    """[PAGE_TOKEN_INVALID] After a restore the table of the first page is gone."""
    await reading.play(PLAYERS, (1, 2, 2, 4, 5))
    token = await board_token(reading)
    older = Reading()
    await older.play(PLAYERS, (1, 2, 2, 4, 5))
    with pytest.raises(Refusal) as refused:
        await older.board(token=token)
    assert refused.value.reason == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize("size", [-1, 501])
async def test_a_page_size_out_of_range_is_refused(reading: Reading, size: int) -> None:
    """[BAD_REQUEST] 1 to 500; 50 when unset."""
    with pytest.raises(Refusal) as refused:
        await reading.board(size=size)
    assert refused.value.fields.keys() == {"page_size"}


@pytest.mark.parametrize("pool", ["", "Ranked", "a..b", "a-b", "a" * 57, "x}{y"])
async def test_a_malformed_pool_is_refused(reading: Reading, pool: str) -> None:
    """[BAD_REQUEST] Names have no dash, so that no two pools share a rating log."""
    with pytest.raises(Refusal) as refused:
        await reading.ratings.rating(pool, "ada")
    assert refused.value.fields.keys() == {"pool"}
