"""Archived matches by the same calls as before: no use case of the rules or of scoring can tell."""

from __future__ import annotations

import pytest

from promontory.archive.segment import unpack
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import (
    START,
    ArchiveMissing,
    ArchiveUnavailable,
    Head,
    LogCorrupt,
    StreamArchived,
    StreamStatus,
)
from promontory.games.kernel import Rejected
from promontory.rules.domain import Match, Setup
from promontory.rules.usecases import Listing
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Refusal, as_refusal
from promontory.scoring.ladders import Ladders
from promontory.scoring.usecases import TallyMatch
from tests.support.archiving import OTHERS, Depot
from tests.support.closed_matches import POOL
from tests.support.refereeing import ADA, AGAINST_THE_HOUSE, EVE, MATCHMAKING, TWO_PLAYERS, Bench, next_command


async def _just_given_up(depot: Depot) -> None:
    """The log keeps the head for a week."""


async def _after_a_week(depot: Depot) -> None:
    """The log has forgotten the match; the index has not."""
    depot.log = MemoryEventLog(clock=now_ms)


@pytest.fixture(params=[_just_given_up, _after_a_week], ids=["just given up", "after a week"])
async def depot(request: pytest.FixtureRequest) -> Depot:
    """A depot in which one match was archived, `match`."""
    made = Depot()
    await made.archived()
    await request.param(made)
    return made


@pytest.fixture
async def match(depot: Depot) -> Match:
    """The archived match as it ended."""
    (match_id,) = depot.archive.files
    return await depot.bench.matches.fresh(match_id)


@pytest.fixture
async def live() -> tuple[Bench, Match]:
    """The same match, in a log that gave nothing up."""
    depot = Depot()
    match = await depot.closed()
    return depot.bench, match


async def test_a_match_is_shown_at_every_version(depot: Depot, match: Match, live: tuple[Bench, Match]) -> None:
    """[GetMatch]."""
    versions = [*range(1, match.version + 1), None]
    shown = [await depot.bench.referee.look(EVE, match.match_id, None, version=version) for version in versions]
    expected = [await live[0].referee.look(EVE, match.match_id, None, version=version) for version in versions]
    assert [each.state for each in shown] == [each.state for each in expected]
    assert shown[-1].result == live[1].result


async def test_its_commits_are_listed_in_pages(depot: Depot, match: Match) -> None:
    """[ListMatchEvents]."""
    first = await depot.bench.referee.page(EVE, Listing(match.match_id, None, size=3))
    second = await depot.bench.referee.page(EVE, Listing(match.match_id, None, 3, first.next_token))
    assert [step.version for step in (*first.steps, *second.steps)] == [*range(1, match.version + 1)]
    assert (first.full, second.next_token) == (True, "")


async def test_its_whole_log_is_exported_to_the_byte(depot: Depot, match: Match) -> None:
    """[ExportMatch]."""
    kept = unpack(match.match_id, depot.archive.files[match.match_id])
    assert await depot.bench.referee.whole_log(match.match_id) == kept.commits


async def test_a_repeated_submission_gets_its_first_answer(depot: Depot, match: Match) -> None:
    """[SubmitCommand] Forever."""
    answer = await depot.bench.referee.resign(ADA, match.match_id, 0, request_id="enough")
    assert (answer.duplicate, answer.step.version) == (True, match.version)


async def test_a_new_submission_is_told_that_the_match_is_over(depot: Depot, match: Match) -> None:
    """[MATCH_OVER]."""
    with pytest.raises(Rejected, match="MATCH_OVER"):
        await depot.bench.referee.resign(ADA, match.match_id, 0, request_id="once more")


async def test_a_request_id_with_other_content_is_refused(depot: Depot, match: Match) -> None:
    """[REQUEST_ID_REUSED] What stands for a command's content is archived with it."""
    opened = (await depot.bench.matches.history(match.match_id, last=1))[0].match
    with pytest.raises(Exception, match="belongs to commit") as refused:
        await depot.bench.submit(opened, next_command(opened), request_id="enough")
    assert as_refusal(refused.value).reason == "REQUEST_ID_REUSED"


async def test_a_repeated_creation_finds_the_match_it_made(depot: Depot, match: Match) -> None:
    """[CreateMatch] It deals nothing anew, even when the log does not know the match any more."""
    created = await depot.bench.referee.create(MATCHMAKING, "creation", TWO_PLAYERS)
    assert (created.match_id, created.version) == (match.match_id, match.version)
    with pytest.raises(Exception, match="belongs to commit") as refused:
        await depot.bench.referee.create(MATCHMAKING, "creation", Setup(TWO_PLAYERS.seats, draw_start=True))
    assert as_refusal(refused.value).reason == "REQUEST_ID_REUSED"


async def test_its_end_is_that_of_a_closed_match(depot: Depot, match: Match) -> None:
    assert await depot.readable.head(match.match_id) == Head(match.position, StreamStatus.CLOSED)
    assert await depot.readable.read(match.match_id, after=match.position) == ()


async def test_a_replica_that_remembers_the_match_reads_on(depot: Depot, match: Match) -> None:
    """A fold in memory is caught up from the archive; it is up to date."""
    steps = await depot.bench.matches.history(match.match_id, last=3)
    assert (await depot.bench.matches.following(steps[-1].match))[-1].version == match.version
    assert await depot.bench.matches.following(match) == []


async def test_a_match_that_never_was_is_not_found(depot: Depot) -> None:
    """[MATCH_NOT_FOUND]."""
    with pytest.raises(Refusal) as refused:
        await depot.bench.matches.fresh(OTHERS[1])
    assert refused.value.reason == "MATCH_NOT_FOUND"
    assert await depot.readable.head(OTHERS[1]) is None
    assert await depot.readable.find(OTHERS[1], "create") is None


async def test_a_rated_match_can_be_tallied_again_for_a_rebuild() -> None:
    """[scoring/v1 TallyMatch] A late task finds it counted."""
    depot = Depot()
    match = await depot.closed(AGAINST_THE_HOUSE)
    await TallyMatch(depot.log, Ladders(depot.log))(match.match_id)
    await depot.archive_it(match)
    again = await TallyMatch(depot.readable, Ladders(depot.log))(match.match_id)
    assert (again.fresh, len(again.changes)) == (False, 2)
    assert again.changes[0].finish.player_id == "ada"
    assert match.setup.pool == POOL


# What can go wrong


async def test_a_damaged_file_is_told_and_others_are_read() -> None:
    """[LOG_CORRUPT] [event_log R18]."""
    depot = Depot()
    match, other = await depot.archived(), await depot.closed(request_id="other")
    await depot.archive_it(other)
    raw = bytearray(depot.archive.files[match.match_id])
    raw[len(raw) // 2] ^= 4
    depot.archive.files[match.match_id] = bytes(raw)
    with pytest.raises(LogCorrupt) as corrupt:
        await depot.bench.matches.fresh(match.match_id)
    assert as_refusal(corrupt.value).reason == "LOG_CORRUPT"
    assert (await depot.bench.matches.fresh(other.match_id)).position == other.position


async def test_a_file_that_is_missing_is_told() -> None:
    """[ARCHIVE_MISSING] The log knows better than to say that there is no such match."""
    depot = Depot()
    match = await depot.archived()
    depot.archive.files.clear()
    with pytest.raises(ArchiveMissing) as missing:
        await depot.bench.matches.fresh(match.match_id)
    assert as_refusal(missing.value).reason == "ARCHIVE_MISSING"


async def test_the_file_of_another_history_is_told() -> None:
    """[LOG_CORRUPT] The head that the log kept says which history it gave up."""
    depot, elsewhere = Depot(), Depot()
    match = await depot.archived()
    await elsewhere.archived(AGAINST_THE_HOUSE)
    depot.archive.files.update(elsewhere.archive.files)
    with pytest.raises(LogCorrupt, match="another history"):
        await depot.readable.read(match.match_id)


async def test_an_archive_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """[ARCHIVE_UNAVAILABLE] With a time after which to try again; what is in the log is not touched by it."""
    depot = Depot()
    match, still_there = await depot.archived(), await depot.closed(request_id="other")

    async def away(match_id: str) -> bytes:
        raise ArchiveUnavailable("no answer")

    monkeypatch.setattr(depot.archive, "get", away)
    with pytest.raises(ArchiveUnavailable) as unavailable:
        await depot.bench.matches.fresh(match.match_id)
    refusal = as_refusal(unavailable.value)
    assert (refusal.reason, refusal.retry_seconds) == ("ARCHIVE_UNAVAILABLE", 1)
    assert (await depot.bench.matches.fresh(still_there.match_id)).position == still_there.position


async def test_a_process_without_the_archive_says_so() -> None:
    """[ARCHIVE_UNAVAILABLE] Not that the log is corrupt, nor that there is no such match."""
    depot = Depot()
    match = await depot.archived()
    with pytest.raises(StreamArchived) as archived:
        await Bench(depot.log).matches.fresh(match.match_id)
    assert as_refusal(archived.value).reason == "ARCHIVE_UNAVAILABLE"


async def test_a_match_is_fetched_once_for_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    depot = Depot()
    match = await depot.archived()
    fetched: list[str] = []
    fetch = depot.archive.get

    async def counted(match_id: str) -> bytes | None:
        fetched.append(match_id)
        return await fetch(match_id)

    monkeypatch.setattr(depot.archive, "get", counted)
    readable = depot.readable
    [await readable.read(match.match_id, after=START, limit=limit) for limit in (1, 2, 3)]
    await readable.find(match.match_id, "create")
    assert fetched == [match.match_id]
