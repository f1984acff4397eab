"""Moving a match to the archive: in steps, each of which may be the last one of its process."""

from __future__ import annotations

import asyncio

import pytest

from promontory.archive.archiver import FIRST_DELAY_MS, LONGEST_DELAY_MS, Archiver, Outcome, delay_ms
from promontory.archive.memory import MemoryArchive
from promontory.archive.segment import unpack
from promontory.eventlog.obligations import archive_name, list_name, tally_name
from promontory.eventlog.port import ArchiveUnavailable, Head, StreamStatus, bucket_of
from promontory.rules.domain import Match
from promontory.runtime.clock import now_ms
from tests.support.archiving import Depot, Killed, Steps
from tests.support.refereeing import AGAINST_THE_HOUSE

CALLS = 8
"""Of the archiver on its ports, for one match: head, owed, read, command ids, put, get, add, prune."""


@pytest.fixture
def depot() -> Depot:
    return Depot()


async def assert_archived(depot: Depot, match: Match) -> None:
    """The match is in the archive and the index, given up by the log, and nothing is owed for it any more."""
    assert await depot.log.head(match.match_id) == Head(match.position, StreamStatus.ARCHIVED)
    assert unpack(match.match_id, depot.archive.files[match.match_id]).position == match.position
    assert await depot.index.holds(match.match_id)
    assert await depot.owed(match) == []


async def test_a_closed_match_is_copied_indexed_and_given_up(depot: Depot) -> None:
    """[event_log 2.11]."""
    match = await depot.closed()
    assert await depot.archive_it(match) is Outcome.ARCHIVED
    await assert_archived(depot, match)


async def test_a_second_delivery_finds_it_done(depot: Depot) -> None:
    """[event_log R15]."""
    match = await depot.archived()
    assert await depot.archive_it(match) is Outcome.REPEATED
    await assert_archived(depot, match)


async def test_many_at_once_have_one_effect(depot: Depot) -> None:
    """[event_log R15] Nobody is in the other's way."""
    match = await depot.closed()
    outcomes = await asyncio.gather(*(depot.archive_it(match) for _ in range(5)))
    assert set(outcomes) <= {Outcome.ARCHIVED, Outcome.REPEATED}
    await assert_archived(depot, match)


@pytest.mark.parametrize("dies_at", range(2 * CALLS))
async def test_a_process_that_dies_anywhere_leaves_what_the_next_one_completes(depot: Depot, dies_at: int) -> None:
    """[event_log 2.11] At every moment the whole match is read; in the end nothing shows where it happened."""
    match = await depot.closed()
    commits = await depot.log.read(match.match_id)
    with pytest.raises(Killed):
        await depot.archive_it(match, dying=Steps(dies_at))
    assert await depot.readable.read(match.match_id) == commits
    assert await depot.archive_it(match) in {Outcome.ARCHIVED, Outcome.REPEATED}
    await assert_archived(depot, match)
    assert await depot.readable.read(match.match_id) == commits


async def test_no_other_step_is_there_to_die_at(depot: Depot) -> None:
    """The steps above are all of them."""
    match, steps = await depot.closed(), Steps(dies_at=1000)
    await depot.archive_it(match, dying=steps)
    assert steps.count == 2 * CALLS


async def test_an_open_match_is_never_given_up(depot: Depot) -> None:
    """[event_log 2.11] Live logs are never trimmed; the end of the match obliges somebody anew."""
    match = await depot.bench.create()
    await depot.log.owe(bucket_of(match.match_id), archive_name(match.match_id, match.updated_at_ms), delay_ms=0)
    assert await depot.archive_it(match) is Outcome.OPEN
    assert len(await depot.log.read(match.match_id)) == 1
    assert (depot.archive.files, await depot.owed(match)) == ({}, [])


async def test_a_match_waits_for_its_place_in_the_lists(depot: Depot) -> None:
    """As for its tally: whoever makes them reads the log."""
    match = await depot.closed()
    await depot.log.owe(bucket_of(match.match_id), list_name(match.match_id), delay_ms=0)
    assert await depot.archive_it(match) is Outcome.UNTALLIED
    assert len(await depot.log.read(match.match_id)) == match.version


async def test_a_rated_match_waits_for_its_tally(depot: Depot) -> None:
    """Scoring reads the log; it is given up only once the tally is settled."""
    match = await depot.closed(AGAINST_THE_HOUSE)
    assert await depot.archive_it(match) is Outcome.UNTALLIED
    assert len(await depot.log.read(match.match_id)) == match.version
    await depot.log.settle(bucket_of(match.match_id), tally_name(match.match_id))
    assert await depot.archive_it(match) is Outcome.ARCHIVED
    await assert_archived(depot, match)


class Full(MemoryArchive):
    """An archive whose disk is full for the first `times` files."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def put(self, match_id: str, content: bytes) -> bool:
        if self.times:
            self.times -= 1
            raise ArchiveUnavailable("no space left on device")
        return await super().put(match_id, content)


async def test_a_full_archive_loses_nothing_and_is_tried_again_later(depot: Depot) -> None:
    """[event_log R12] The job retries, nothing is given up."""
    depot.archive = Full(1)
    match = await depot.closed()
    assert await depot.archive_it(match, attempt=3) is Outcome.UNAVAILABLE
    assert len(await depot.log.read(match.match_id)) == match.version
    due = await depot.log.oldest_due(bucket_of(match.match_id))
    assert due is not None
    assert abs(due - now_ms() - delay_ms(3)) < 5_000
    assert await depot.archive_it(match) is Outcome.ARCHIVED


async def test_an_archive_that_is_away_is_left_alone_for_a_moment(depot: Depot) -> None:
    """Each task would wait for its time-out, and others behind it."""
    depot.archive = away = Full(1)
    archiver = Archiver(depot.log, away, depot.index, depot.judge)
    first, second = await depot.closed(), await depot.closed(request_id="another")
    outcomes = [await archiver.archive(match.match_id, match.updated_at_ms) for match in (first, second)]
    assert outcomes == [Outcome.UNAVAILABLE] * 2
    assert away.files == {}


async def test_a_match_whose_replay_is_not_right_stays(depot: Depot) -> None:
    """[event_log 2.11] Verified by replay, as read back."""
    match = await depot.closed()
    depot.judge = lambda _: "commit 3 is wrong"
    assert await depot.archive_it(match) is Outcome.UNVERIFIED
    assert len(await depot.log.read(match.match_id)) == match.version
    assert await depot.owed(match) == [archive_name(match.match_id, match.updated_at_ms)]


@pytest.mark.parametrize("content", [b"", b"rubbish"])
async def test_a_match_whose_file_is_damaged_stays(depot: Depot, content: bytes) -> None:
    """[event_log R18] What the archive has under this id is read, and never overwritten."""
    match = await depot.closed()
    depot.archive.files[match.match_id] = content
    assert await depot.archive_it(match) is Outcome.UNVERIFIED
    assert len(await depot.log.read(match.match_id)) == match.version
    assert depot.archive.files[match.match_id] == content


async def test_a_match_whose_archived_history_is_another_stays(depot: Depot) -> None:
    """[event_log 2.8] A log that went back and grew again."""
    elsewhere = Depot()
    await elsewhere.archived(AGAINST_THE_HOUSE)
    match = await depot.closed()
    depot.archive.files.update(elsewhere.archive.files)
    assert await depot.archive_it(match) is Outcome.UNVERIFIED
    assert len(await depot.log.read(match.match_id)) == match.version


async def test_what_was_archived_before_it_was_given_up_is_not_copied_again(depot: Depot) -> None:
    match = await depot.closed()
    with pytest.raises(Killed):
        await depot.archive_it(match, dying=Steps(2 * CALLS - 2))
    before = depot.archive.files[match.match_id]
    await depot.archive_it(match)
    assert depot.archive.files[match.match_id] is before


@pytest.mark.parametrize(("attempt", "delay"), [(1, FIRST_DELAY_MS), (2, 2 * FIRST_DELAY_MS), (50, LONGEST_DELAY_MS)])
def test_failures_are_tried_again_less_and_less_often(attempt: int, delay: int) -> None:
    assert delay_ms(attempt) == delay
