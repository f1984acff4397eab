"""Tallying a closed match, on the log in memory."""

from __future__ import annotations

import pytest

from promontory.api.match.v1.match_pb2 import CLOSE_REASON_ABORTED, CLOSE_REASON_CANCELLED
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, LogCorrupt, Proposed, StoredEvent, bucket_of
from promontory.games.registry import GAMES
from promontory.runtime.errors import Refusal
from promontory.scoring.domain import NEW_RATING, rate
from promontory.scoring.ladders import Ladders
from promontory.scoring.records import stream_of
from promontory.scoring.usecases import Ratings, TallyMatch
from tests.support.closed_matches import POOL, Played, match_id, write_closed, write_open
from tests.support.observing import counted

PLAYERS = ("ada", "ben", "cyd", "dot", "eve")
DUEL = Played("duel", ("ada", "ben"), (1, 2))


class Scoring:
    """The use cases on one log."""

    def __init__(self) -> None:
        self.log = MemoryEventLog()
        self.restart()

    def restart(self) -> None:
        """Forget everything but the log."""
        ladders = Ladders(self.log)
        self.tally = TallyMatch(self.log, ladders)
        self.ratings = Ratings(ladders)


@pytest.fixture
def scoring() -> Scoring:
    return Scoring()


async def test_a_rated_match_changes_the_ratings_of_its_players(scoring: Scoring) -> None:
    """[scoring/v1 TallyMatch] One change per seat, in the order of seats."""
    tallied = await scoring.tally(await write_closed(scoring.log, DUEL))
    assert tallied.fresh
    assert [change.finish.player_id for change in tallied.changes] == ["ada", "ben"]
    assert (await scoring.ratings.rating(POOL, "ada")) == tallied.changes[0].after


@pytest.mark.parametrize("places", [(1, 1, 3), (2, 2, 1), (1, 1, 1, 4), (3, 1, 3, 1), (1, 2, 2, 4, 5), (1, 1, 1, 5, 4)])
async def test_a_table_of_many_is_rated_by_its_shared_places(scoring: Scoring, places: tuple[int, ...]) -> None:
    """[scoring/v1 TallyMatch] Three to five seats: places and scores of each seat, ties sharing the better place."""
    players = PLAYERS[: len(places)]
    tallied = await scoring.tally(await write_closed(scoring.log, Played("table", players, places)))
    assert [change.finish.player_id for change in tallied.changes] == list(players)
    assert [(change.finish.seat, change.finish.place) for change in tallied.changes] == list(enumerate(places))
    assert tuple(change.after for change in tallied.changes) == rate([NEW_RATING] * len(places), places)


async def test_a_player_s_rating_goes_on_from_table_to_table(scoring: Scoring) -> None:
    """Whoever else sits there."""
    first = await scoring.tally(await write_closed(scoring.log, Played("five", PLAYERS, (1, 2, 2, 4, 5))))
    second = await scoring.tally(await write_closed(scoring.log, Played("three", ("eve", "zoe", "ada"), (1, 1, 3))))
    assert second.changes[0].before == first.changes[4].after
    assert second.changes[2].before == first.changes[0].after
    assert second.changes[1].before == NEW_RATING


async def test_a_second_tally_tells_the_first_one_s_changes(scoring: Scoring) -> None:
    """[scoring/v1 TallyMatch] Exactly once, however often it is called."""
    first = await scoring.tally(await write_closed(scoring.log, DUEL))
    second = await scoring.tally(DUEL.match_id)
    assert (second.fresh, second.changes) == (False, first.changes)


async def test_a_restarted_service_still_knows_what_it_tallied(scoring: Scoring) -> None:
    """[style 1.2] The rating log is the truth."""
    first = await scoring.tally(await write_closed(scoring.log, DUEL))
    scoring.restart()
    second = await scoring.tally(DUEL.match_id)
    assert (second.fresh, second.changes) == (False, first.changes)


async def test_a_later_match_starts_from_the_ratings_of_the_earlier(scoring: Scoring) -> None:
    """Ratings go on from match to match."""
    first = await scoring.tally(await write_closed(scoring.log, DUEL))
    second = await scoring.tally(await write_closed(scoring.log, Played("again", ("ben", "ada"), (1, 2))))
    assert [change.before for change in second.changes] == [change.after for change in reversed(first.changes)]


async def test_tallying_settles_the_obligation(scoring: Scoring) -> None:
    """[event_log 2.2] Announce, act, confirm."""
    await scoring.tally(await write_closed(scoring.log, DUEL))
    assert await scoring.log.oldest_due("tc:0a7") is None


async def test_a_repeated_tally_settles_an_obligation_that_the_first_left(scoring: Scoring) -> None:
    """[event_log 2.2] The process may die between acting and confirming."""
    ladders = Ladders(scoring.log)
    await TallyMatch(_NeverSettles(scoring.log), ladders)(await write_closed(scoring.log, DUEL))
    await scoring.tally(DUEL.match_id)
    assert await scoring.log.oldest_due("tc:0a7") is None


def test_no_game_s_matches_share_a_bucket_with_the_rating_logs() -> None:
    """[event_log 2.2] Streams are told apart by their first part."""
    assert bucket_of(stream_of(POOL)).partition(":")[0] not in {game.code for game in GAMES}


@pytest.mark.parametrize(
    "match",
    [
        Played("casual", ("ada", "ben"), (1, 2), rated=False),
        Played("homeless", ("ada", "ben"), (1, 2), pool=""),
        Played("alone", ("ada", "ada"), (1, 2)),
        Played("called off", ("ada", "ben"), (), reason=CLOSE_REASON_ABORTED),
        Played("cancelled", ("ada", "ben", "cleo"), (), reason=CLOSE_REASON_CANCELLED),
    ],
    ids=lambda match: match.name,
)
async def test_a_match_that_does_not_count_changes_nothing(scoring: Scoring, match: Played) -> None:
    """[scoring/v1 TallyMatch] Not rated, without a pool, against oneself, or without a result."""
    tallied = await scoring.tally(await write_closed(scoring.log, match))
    assert (tallied.fresh, tallied.changes) == (False, ())
    assert await scoring.log.head(stream_of(POOL)) is None
    assert await scoring.log.oldest_due("tc:0a7") is None


async def test_an_open_match_is_refused(scoring: Scoring) -> None:
    """[MATCH_OPEN]."""
    await write_open(scoring.log, DUEL)
    with pytest.raises(Refusal) as refused:
        await scoring.tally(DUEL.match_id)
    assert refused.value.reason == "MATCH_OPEN"


@pytest.mark.parametrize(
    ("unknown", "reason"),
    [
        (match_id("unknown"), "MATCH_NOT_FOUND"),
        (stream_of(POOL), "MATCH_NOT_FOUND"),
        ("", "BAD_REQUEST"),
        ("tc", "BAD_REQUEST"),
        ("tc-0a7-" + "x" * 60, "BAD_REQUEST"),
        ("tc-0a7-}:evil{", "BAD_REQUEST"),
    ],
)
async def test_what_is_no_match_is_refused(scoring: Scoring, unknown: str, reason: str) -> None:
    """[MATCH_NOT_FOUND] [BAD_REQUEST] Not even a rating log passes for a match."""
    await scoring.tally(await write_closed(scoring.log, DUEL))
    with pytest.raises(Refusal) as refused:
        await scoring.tally(unknown)
    assert refused.value.reason == reason


async def test_an_outcome_that_leaves_a_seat_out_is_corrupt(scoring: Scoring) -> None:
    """[LOG_CORRUPT] Nothing is guessed."""
    with pytest.raises(LogCorrupt):
        await scoring.tally(await write_closed(scoring.log, Played("short", ("ada", "ben"), (1,))))


async def test_a_rating_log_that_holds_something_else_is_corrupt(scoring: Scoring) -> None:
    """[LOG_CORRUPT]."""
    stray = Proposed((StoredEvent("promontory.api.scoring.v1.Rating", b""),), "stray", "")
    await scoring.log.append(stream_of(POOL), stray, expected=START)
    with pytest.raises(LogCorrupt):
        await scoring.tally(await write_closed(scoring.log, DUEL))


async def test_ratings_follow_a_log_that_was_restored_to_another_history(scoring: Scoring) -> None:
    """[event_log 2.8] What was folded from a history that is gone is dropped."""
    rewinds = counted("promontory_log_rewinds_total", kind="ratings")
    await scoring.tally(await write_closed(scoring.log, DUEL))
    assert (await scoring.ratings.rating(POOL, "ada")).mu > 25
    scoring.log.__init__()  # type: ignore[misc]
    await scoring.tally(await write_closed(scoring.log, Played("other", ("ben", "ada"), (1, 2))))
    assert (await scoring.ratings.rating(POOL, "ben")).mu > 25
    assert counted("promontory_log_rewinds_total", kind="ratings") > rewinds


class _NeverSettles(MemoryEventLog):
    """A log whose caller dies before it settles."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.__dict__ = log.__dict__

    async def settle(self, bucket: str, name: str) -> None:
        """Do nothing."""
