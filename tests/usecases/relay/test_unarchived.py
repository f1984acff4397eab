"""What the relay tells of matches that wait to be archived."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.obligations import archive_name, tally_name
from promontory.relay.unarchived import Unarchived
from promontory.runtime.clock import now_ms

BUCKETS = ["tc:000", "tc:001", "pc:000"]


def shown(name: str, game: str) -> float:
    """Return what a gauge shows."""
    return REGISTRY.get_sample_value(f"promontory_{name}", {"game": game}) or 0.0


@pytest.fixture
async def log() -> MemoryEventLog:
    """A log in which two matches of Transcontinental are to be archived, the first of them ended an hour ago."""
    log = MemoryEventLog(clock=now_ms)
    await log.owe("tc:000", archive_name("tc-000-a", now_ms() - 3_600_000), delay_ms=-1000)
    await log.owe("tc:001", archive_name("tc-001-a", now_ms()), delay_ms=60_000)
    await log.owe("pc:000", tally_name("pc-000-a"), delay_ms=0)
    return log


async def test_it_counts_them_and_tells_the_age_of_the_first(log: MemoryEventLog) -> None:
    """[style 8] By game; other obligations do not count."""
    await Unarchived(log, BUCKETS).measure()
    assert (shown("matches_to_archive", "transcontinental"), shown("matches_to_archive", "pacific")) == (2, 0)
    assert shown("oldest_match_to_archive_seconds", "transcontinental") == pytest.approx(3600, abs=60)
    assert shown("oldest_match_to_archive_seconds", "pacific") == 0
