"""Any process may be killed at any moment: nothing acknowledged is lost, nothing applied twice, every match ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from promontory.rules.audit import audit, shipped_rulesets

from promontory import AsyncClient
from promontory.local.platform import Platform
from tests.support.players import GAME, Journal, client_of, play_pairs
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
PAIRS = 3
COMMITS_BETWEEN_KILLS = 40


@pytest.mark.timeout(240)
async def test_a_kill_of_each_process_under_load_loses_nothing(platform: Platform) -> None:
    """Players' matches go on while each kind of process is killed -9 in turn and started again, the server last."""
    journal = Journal()
    async with _killing(platform, lambda: len(journal.acknowledged)):
        endings = await play_pairs(platform, PAIRS, journal, pool=POOL)

    assert all(match.is_over for match in endings)
    async with client_of(platform, "arbiter") as arbiter:
        logs = {match_id: await arbiter.export_match(GAME, match_id) for match_id in journal.ended}
        assert [fault for match_id, log in logs.items() for fault in journal.faults(match_id, log)] == []
        assert [match_id for match_id, log in logs.items() if not audit(log, shipped_rulesets()).ok] == []
        await eventually(lambda: _tallied(arbiter, len(logs)), seconds=60)


async def _tallied(client: AsyncClient, matches: int) -> bool:
    return sum([entry.rating.matches async for entry in client.leaderboard(POOL)]) == 2 * matches


@asynccontextmanager
async def _killing(platform: Platform, progress: Callable[[], int]) -> AsyncIterator[None]:
    task = asyncio.create_task(_kill_in_turn(platform, progress))
    try:
        yield
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _kill_in_turn(platform: Platform, progress: Callable[[], int]) -> None:
    for name in ("transcontinental", "relay", "worker-0", "scoring", "matchmaking", "server", "transcontinental"):
        goal = progress() + COMMITS_BETWEEN_KILLS

        async def moved_on(goal: int = goal) -> bool:
            return progress() >= goal

        await eventually(moved_on, seconds=90)
        await asyncio.to_thread(_crash, platform, name)


def _crash(platform: Platform, name: str) -> None:
    if name == "server":
        assert platform.server is not None
        platform.server.kill()
        platform.server.start()
    else:
        platform.processes[name].kill()
        platform.revive(name)
