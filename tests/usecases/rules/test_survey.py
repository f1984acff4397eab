"""What open matches are pinned to, and that somebody is told of those that cannot be served."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, EventLogUnavailable, Proposed, StoredEvent
from promontory.games.pacific.cards import shipped_deck
from promontory.rules import survey
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.survey import Pinned, Survey, open_matches
from tests.support.own_decks import digest, own_deck
from tests.support.refereeing import Bench, ruleset
from tests.support.waiting import eventually

TABLE = Setup(tuple(map(SeatSetup, ("ada", "ben", "cyd"))))
OWN, SHIPPED = digest(own_deck()), digest(shipped_deck())


@pytest.fixture
async def log() -> MemoryEventLog:
    """A log with three open matches of Pacific, one of them with an own deck, and one that is over."""
    log = MemoryEventLog()
    bench, own = Bench(log, game="pacific"), Bench(log, game="pacific", data=(own_deck(),))
    for number in range(3):
        over = await bench.create(TABLE, request_id=f"shipped {number}")
    await bench.submit(over, bench.ruleset.game.resign(0))
    await bench.submit(await bench.matches.fresh(over.match_id), bench.ruleset.game.resign(1))
    await own.create(TABLE, request_id="own")
    return log


def counted(found: Pinned) -> tuple[str, str, int, bool]:
    """Return what was found, but for the example."""
    return found.rules_version, found.data_hash, found.matches, found.served


async def test_open_matches_are_counted_by_rules_and_data(log: MemoryEventLog) -> None:
    """[event_log 2.13] Those that are over are not."""
    told: list[int] = []
    found = await open_matches(log, ruleset("pacific", (own_deck(),)), progress=told.append)
    expected = [("pacific/1", OWN.hex(), 1, True), ("pacific/1", SHIPPED.hex(), 2, True)]
    assert sorted(map(counted, found)) == sorted(expected)
    assert told == [3]


async def test_what_cannot_be_served_here_is_told_with_an_example(log: MemoryEventLog) -> None:
    """[RULES_VERSION_UNKNOWN] Before a player runs into it."""
    found = {each.data_hash: each for each in await open_matches(log, ruleset("pacific"))}
    assert (found[OWN.hex()].served, found[SHIPPED.hex()].served) == (False, True)
    assert found[OWN.hex()].example.startswith("pc-")


async def test_a_stream_that_is_no_match_counts_for_nothing(log: MemoryEventLog) -> None:
    """What is wrong with it is found where it is read."""
    await log.append("pc-000-strange", Proposed((StoredEvent("strange", b"?"),), "x", ""), expected=START)
    assert sum(each.matches for each in await open_matches(log, ruleset("pacific"))) == 3


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What is logged."""
    monkeypatch.setattr(survey, "log", structlog.get_logger())  # one that has not been used with other settings
    with capture_logs() as lines:
        yield lines


async def survey_once(log: MemoryEventLog, warnings: list[Any]) -> list[str]:
    """Run a survey until it has warned of something, and return what it said."""

    async def warned() -> bool:
        return bool(warnings)

    task = asyncio.create_task(Survey(log, ruleset("pacific"), every_seconds=3600).run())
    await eventually(warned)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return [line["event"] for line in warnings]


async def test_a_service_warns_of_matches_that_it_cannot_serve_and_counts_all(
    log: MemoryEventLog, warnings: list[Any]
) -> None:
    """At its start, in the background; an alert can stand on the count."""
    assert await survey_once(log, warnings) == ["matches_unserved"]
    labels = {"game": "pacific", "rules_version": "pacific/1", "data": OWN.hex()[:12]}
    assert REGISTRY.get_sample_value("promontory_open_matches", labels) == 1
    assert REGISTRY.get_sample_value("promontory_open_matches", {**labels, "data": SHIPPED.hex()[:12]}) == 2


class SilentLog(MemoryEventLog):
    """A log that does not answer."""

    def openings(self, code: str) -> object:  # type: ignore[override]
        raise EventLogUnavailable("gone")


async def test_a_survey_that_fails_is_made_again_later(warnings: list[Any]) -> None:
    """The service goes on."""
    assert await survey_once(SilentLog(), warnings) == ["survey_failed"]
