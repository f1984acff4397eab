"""Earlier versions are read from folds kept on the way, and never told wrong by them."""

from __future__ import annotations

from typing import Any

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import LogCorrupt
from promontory.rules import milestones
from promontory.rules.domain import Match
from promontory.rules.matches import READ_AT_ONCE
from promontory.rules.milestones import Milestones
from tests.support.conduct import table
from tests.support.refereeing import Bench


class CountingLog(MemoryEventLog):
    """A log that counts the commits it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    async def read(self, stream: str, **options: Any) -> Any:
        """Read; see `EventLog.read`."""
        found = await super().read(stream, **options)
        self.given += len(found)
        return found


async def long_match(log: CountingLog) -> tuple[Bench, Match]:
    """Return a match of more than two milestones, and its referee."""
    bench = Bench(log, game="pacific")
    return bench, await bench.play(await bench.create(table(5)))


async def test_every_version_is_as_a_fold_from_the_beginning_has_it() -> None:
    """In any order."""
    bench, match = await long_match(CountingLog())
    found = Milestones(bench.matches)
    assert match.version > 2 * READ_AT_ONCE
    for version in (match.version, 1, READ_AT_ONCE, 2 * READ_AT_ONCE + 1, READ_AT_ONCE - 1, match.version - 1):
        assert await found.at(match.match_id, version) == await bench.matches.at(match.match_id, version)


async def test_whoever_comes_after_reads_no_more_than_from_the_last_milestone() -> None:
    """A match is folded from its beginning once."""
    log = CountingLog()
    bench, match = await long_match(log)
    found = Milestones(bench.matches)
    await found.at(match.match_id, match.version)
    before = log.given
    await found.at(match.match_id, 2 * READ_AT_ONCE + 3)
    await found.at(match.match_id, READ_AT_ONCE)
    assert log.given == before + 3


async def test_who_looks_back_right_after_a_match_was_opened_reads_it_no_second_time() -> None:
    """[GetMatch] A match that no process has in memory is opened at its last version first."""
    log = CountingLog()
    _, match = await long_match(log)
    opened = Bench(log, game="pacific").matches
    found = Milestones(opened)
    await opened.fresh(match.match_id)
    before = log.given
    assert (await found.at(match.match_id, 2 * READ_AT_ONCE + 3)).version == 2 * READ_AT_ONCE + 3
    assert log.given == before + 3


async def test_pages_go_on_where_the_page_before_ended() -> None:
    """[ListMatchEvents] Listing a whole match reads it about once, not once for each page."""
    log = CountingLog()
    bench, match = await long_match(log)
    found, before = Milestones(bench.matches), log.given
    pages = [await found.steps(match.match_id, after=after, last=after + 32) for after in range(0, 128, 32)]
    assert [step.version for page in pages for step in page] == list(range(1, 129))
    assert log.given - before < 2.5 * match.version


async def test_no_more_folds_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was used least goes first, and is made again when it is wanted."""
    monkeypatch.setattr(milestones, "KEPT", 1)
    bench, match = await long_match(CountingLog())
    found = Milestones(bench.matches)
    await found.at(match.match_id, match.version)
    assert (await found.at(match.match_id, READ_AT_ONCE)).version == READ_AT_ONCE


async def test_a_log_that_went_back_is_read_from_its_beginning() -> None:
    """What it says now is what counts."""
    bench, match = await long_match(CountingLog())
    other, another = await long_match(CountingLog())
    found = Milestones(bench.matches)
    await found.at(match.match_id, match.version)
    bench.matches.log = other.log
    assert await found.at(match.match_id, READ_AT_ONCE + 5) == await other.matches.at(match.match_id, READ_AT_ONCE + 5)
    assert another.match_id == match.match_id


async def test_a_version_that_there_is_not_is_corrupt() -> None:
    """Callers look first how far the match is."""
    bench, match = await long_match(CountingLog())
    with pytest.raises(LogCorrupt):
        await Milestones(bench.matches).at(match.match_id, match.version + 1)
