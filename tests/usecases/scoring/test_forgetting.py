"""A player who was forgotten is on no leaderboard any more, and nobody else's rating changes by that."""

from __future__ import annotations

import msgspec
import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.runtime.errors import Refusal
from promontory.scoring.domain import NEW_RATING, Rating
from promontory.scoring.ladders import Ladders
from promontory.scoring.rebuild import rebuild_pool
from promontory.scoring.records import stream_of
from promontory.scoring.usecases import ForgetPlayer, Ratings, TallyMatch
from tests.support.closed_matches import CLOSED_AT_MS, POOL, Played, write_closed

FIRST = Played("first", ("ada", "ben"), (1, 2))
SECOND = Played("second", ("ada", "cyd"), (1, 2))
LATER_MS = CLOSED_AT_MS + 1000


class Scoring:
    """Scoring on a log in memory, whose clock stands at `now_ms`."""

    def __init__(self, log: MemoryEventLog) -> None:
        ladders = Ladders(log)
        self.log, self.now_ms = log, LATER_MS
        self.tally, self.ratings = TallyMatch(log, ladders), Ratings(ladders)
        self._forget = ForgetPlayer(ladders, lambda: self.now_ms)

    async def play(self, *matches: Played) -> None:
        """Write the matches and tally them."""
        for match in matches:
            await self.tally(await write_closed(self.log, match))

    async def forget(self, request_id: str = "once", *, pending: tuple[str, ...] = ()) -> list[str]:
        """Forget ada."""
        return list(await self._forget("ada", [POOL, "elsewhere"], request_id=request_id, pending=pending))

    async def board(self) -> dict[str, Rating]:
        """Return the leaderboard."""
        return {
            each.player_id: each.rating for each in (await self.ratings.leaderboard(POOL, size=0, token="")).entries
        }


@pytest.fixture
async def scoring() -> Scoring:
    found = Scoring(MemoryEventLog())
    await found.play(FIRST)
    return found


async def test_a_forgotten_player_has_left_the_leaderboard_and_others_stay_as_they_are(scoring: Scoring) -> None:
    before = await scoring.board()
    assert await scoring.forget() == [POOL]
    assert await scoring.board() == {"ben": before["ben"]}


async def test_of_a_forgotten_player_no_rating_and_no_history_is_told(scoring: Scoring) -> None:
    await scoring.forget()
    assert await scoring.ratings.rating(POOL, "ada") == NEW_RATING
    assert (await scoring.ratings.history(POOL, "ada", size=0, token="")).entries == []


async def test_nor_on_a_page_that_was_begun_before(scoring: Scoring) -> None:
    """All pages of a list show the same table, but for those who are gone."""
    page = await scoring.ratings.leaderboard(POOL, size=1, token="")
    await scoring.forget()
    again = await scoring.ratings.leaderboard(POOL, size=1, token=page.next_token)
    assert "ada" not in {each.player_id for each in again.entries}


async def test_forgetting_twice_records_it_once(scoring: Scoring) -> None:
    assert [await scoring.forget(), await scoring.forget(), await scoring.forget("again")] == [[POOL], [], []]
    assert len(await scoring.log.read(stream_of(POOL))) == 2


async def test_an_old_match_that_is_tallied_later_brings_nobody_back(scoring: Scoring) -> None:
    """It was closed before the player was forgotten; for the opponent it counts as if nothing had happened."""
    other = Scoring(MemoryEventLog())
    await other.play(FIRST, SECOND)
    await scoring.forget()
    await scoring.play(SECOND)
    assert await scoring.board() == {name: rating for name, rating in (await other.board()).items() if name != "ada"}


async def test_a_match_that_is_tallied_after_a_pending_forgetting_never_shows(scoring: Scoring) -> None:
    """[players ForgetPlayer] The player had no rating in the pool yet, but an open match, and resigned it."""
    fresh = Scoring(MemoryEventLog())
    assert await fresh.forget(pending=(POOL,)) == [POOL]
    assert await fresh.forget(pending=(POOL,)) == [POOL]
    await fresh.play(FIRST)
    assert (await fresh.board()).keys() == {"ben"}
    assert len(await fresh.log.read(stream_of(POOL))) == 2


async def test_a_match_that_others_played_on_after_the_player_was_forgotten_never_shows(scoring: Scoring) -> None:
    """[players ForgetPlayer] The player's seat was left, and the match ended only hours later."""
    lasting = msgspec.structs.replace(SECOND, closed_at_ms=LATER_MS + 3_600_000)
    await scoring.forget()
    await scoring.play(lasting)
    assert (await scoring.board()).keys() == {"ben", "cyd"}
    assert (await rebuild_pool(scoring.log, POOL)).equal


async def test_who_comes_back_under_the_same_id_begins_anew(scoring: Scoring) -> None:
    """As a new player, and the old history stays away."""
    again = msgspec.structs.replace(SECOND, created_at_ms=LATER_MS + 1, closed_at_ms=LATER_MS + 1)
    other = Scoring(MemoryEventLog())
    await other.play(again)
    await scoring.forget()
    await scoring.play(again)
    assert await scoring.ratings.rating(POOL, "ada") == await other.ratings.rating(POOL, "ada")
    assert len((await scoring.ratings.history(POOL, "ada", size=0, token="")).entries) == 1


@pytest.mark.parametrize("then", [(), (SECOND,)], ids=["nothing", "a late tally"])
async def test_a_rebuild_forgets_the_same_players_to_the_byte(scoring: Scoring, then: tuple[Played, ...]) -> None:
    """[README, admin rebuild ratings] Matches are checked, forgotten players followed."""
    await scoring.forget()
    await scoring.play(*then)
    rebuilt = await rebuild_pool(scoring.log, POOL)
    assert (rebuilt.equal, rebuilt.players) == (True, len(await scoring.board()))


@pytest.mark.parametrize(("player", "pool"), [("a b", POOL), ("ada", "no-pool")])
async def test_malformed_names_are_refused(scoring: Scoring, player: str, pool: str) -> None:
    forget = ForgetPlayer(Ladders(scoring.log), lambda: LATER_MS)
    with pytest.raises(Refusal) as refused:
        await forget(player, [pool], request_id="once", pending=())
    assert refused.value.reason == "BAD_REQUEST"
