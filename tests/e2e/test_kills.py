"""Any process may be killed at any moment: nothing acknowledged is lost, nothing applied twice, every match ends."""

from __future__ import annotations

import asyncio

import pytest

from promontory.local.platform import GAME_NAMES, SERVER, Platform
from tests.support import havoc, oracles
from tests.support.players import play_while
from tests.support.pools import pools
from tests.support.process_logs import log_faults

PLAYERS = 8
SECONDS_BETWEEN_KILLS = 0.7
VICTIMS = (*GAME_NAMES, "relay", "worker-0", "scoring", "matchmaking", SERVER, *GAME_NAMES)


@pytest.mark.timeout(240)
async def test_a_kill_of_each_process_under_load_loses_nothing(platform: Platform) -> None:
    """[event_log R1] [event_log R3] Players and house bots play on while each is killed -9 and started again."""
    journal = await play_while(_kill_in_turn(platform), platform, pools=pools(), players=PLAYERS)
    assert await oracles.faults(platform, journal, pools=pools()) == []
    assert log_faults(platform.directory / "logs") == []


async def _kill_in_turn(platform: Platform) -> None:
    for name in VICTIMS:
        await asyncio.sleep(SECONDS_BETWEEN_KILLS)
        await havoc.crash(platform, name)
