"""Any process may be killed at any moment: nothing acknowledged is lost, nothing applied twice, every match ends."""

from __future__ import annotations

import asyncio

import pytest

from promontory import AsyncClient
from promontory.local.platform import Platform
from promontory.rules.audit import audit, shipped_rulesets
from tests.support.players import GAME, client_of, play_while
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
PLAYERS = 7
SECONDS_BETWEEN_KILLS = 0.7
VICTIMS = ("transcontinental", "relay", "worker-0", "scoring", "matchmaking", "server", "transcontinental")


@pytest.mark.timeout(240)
async def test_a_kill_of_each_process_under_load_loses_nothing(platform: Platform) -> None:
    """Players and house bots play on while each kind of process, the server too, is killed -9 and started again."""
    kills = asyncio.create_task(_kill_in_turn(platform))
    journal = await play_while(kills, platform, pool=POOL, players=PLAYERS)

    async with client_of(platform, "arbiter") as arbiter:
        logs = {match_id: await arbiter.export_match(GAME, match_id) for match_id in journal.ended}
        assert [fault for match_id, log in logs.items() for fault in journal.faults(match_id, log)] == []
        assert [match_id for match_id, log in logs.items() if not audit(log, shipped_rulesets()).ok] == []
        await eventually(lambda: _tallied(arbiter, len(logs)), seconds=60)


async def _tallied(client: AsyncClient, matches: int) -> bool:
    return sum([entry.rating.matches async for entry in client.leaderboard(POOL)]) == 2 * matches


async def _kill_in_turn(platform: Platform) -> None:
    for name in VICTIMS:
        await asyncio.sleep(SECONDS_BETWEEN_KILLS)
        await _crash(platform, name)


async def _crash(platform: Platform, name: str) -> None:
    if name == "server":
        assert platform.server is not None
        platform.server.kill()
        platform.server.start()  # in this thread, whose end would be the server's
    else:
        platform.processes[name].kill()
        await asyncio.to_thread(platform.revive, name)
