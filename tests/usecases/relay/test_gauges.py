"""What the relay measures at intervals."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from promontory.eventlog.functions import LibraryMissing
from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_server import Vitals, vitals
from promontory.relay.gauges import LogFunctions, LogServer, measure

HEALTHY = {
    "used_memory": 5_000,
    "maxmemory": 10_000,
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "aof_last_bgrewrite_status": "ok",
}


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (HEALTHY, Vitals(5_000, 10_000, persists=True)),
        (HEALTHY | {"maxmemory": 0}, Vitals(5_000, 0, persists=True)),
        (HEALTHY | {"aof_last_write_status": "err"}, Vitals(5_000, 10_000, persists=False)),
        (HEALTHY | {"aof_last_bgrewrite_status": "err"}, Vitals(5_000, 10_000, persists=False)),
        (HEALTHY | {"aof_enabled": 0}, Vitals(5_000, 10_000, persists=False)),
    ],
    ids=["healthy", "no limit", "a write failed", "a rewrite failed", "no file"],
)
def test_a_server_s_answer_tells_how_it_is(facts: dict[str, object], found: Vitals) -> None:
    """[event_log R12] [event_log R13] A full disk and a full memory are seen before players see them."""
    assert vitals(facts) == found


async def test_the_gauges_show_how_the_log_s_server_is() -> None:
    async def answer() -> Vitals:
        return vitals(HEALTHY)

    await LogServer(answer).measure()
    names = ("memory_bytes", "memory_limit_bytes", "persists")
    assert [REGISTRY.get_sample_value(f"promontory_log_{name}") for name in names] == [5_000, 10_000, 1]


async def test_measuring_goes_on_when_the_log_is_away_and_ends_when_told() -> None:
    stopping = asyncio.Event()

    async def away() -> Vitals:
        stopping.set()
        raise EventLogUnavailable("no answer")

    await asyncio.wait_for(measure([LogServer(away)], stopping), 5)


async def test_a_primary_without_functions_is_told_of_until_it_has_them() -> None:
    """[event_log P49] Nothing gives them to a node that joins a cluster."""
    outcomes = iter((LibraryMissing("eventlog_1", "127.0.0.1:7003"), None))

    async def verify() -> None:
        if error := next(outcomes):
            raise error

    functions, shown = LogFunctions(verify), []
    with capture_logs() as logs:
        await functions.measure()
        shown.append(REGISTRY.get_sample_value("promontory_log_functions_missing"))
        await functions.measure()
        shown.append(REGISTRY.get_sample_value("promontory_log_functions_missing"))
    assert shown == [1, 0]
    assert [(each["event"], "127.0.0.1:7003" in each["cause"]) for each in logs] == [("functions_missing", True)]
