"""Kills, upgrades, replicas and restarts under load: nothing is lost, every match goes on, no player's move fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.samples import Sample

from promontory import __version__
from promontory.local.platform import GAME_NAMES, SERVER, Platform
from promontory.local.scrape import scrape
from tests.e2e.test_bot_command import promontory
from tests.support import havoc, oracles
from tests.support.players import Journal, play_while
from tests.support.pools import pools
from tests.support.process_logs import log_faults
from tests.support.releases import NEXT, next_release
from tests.support.waiting import eventually

PLAYERS = 8
THINKING_SECONDS = 0.05
FIRST = ("scoring", *GAME_NAMES, "matchmaking", "relay", "worker-0")
SECOND = ("scoring-1", *(f"{game}-1" for game in GAME_NAMES), "matchmaking-1", "relay-1", "worker-1")
SECONDS_BETWEEN_KILLS = 0.3
VICTIMS = (*GAME_NAMES, "relay", "worker-0", "scoring", "matchmaking", SERVER, *GAME_NAMES)
WORK = {
    "scoring": ("promontory_tallies_total", {"outcome": "tallied"}),
    **dict.fromkeys(GAME_NAMES, ("promontory_commands_total", {"outcome": "accepted"})),
    "matchmaking": ("promontory_tickets_total", {"event": "assigned"}),
    "relay": ("promontory_obligations_total", {"outcome": "published"}),
    "worker": ("promontory_tasks_total", {"outcome": "done"}),
}


async def played_during(work: Coroutine[Any, Any, None], platform: Platform, *, replicas: int = 1) -> Journal:
    """Let everybody play until `work` is done, without haste: what starts again needs the processors too."""
    return await play_while(work, platform, players=PLAYERS, replicas=replicas, thinking_seconds=THINKING_SECONDS)


@pytest.mark.timeout(240)
async def test_a_kill_of_each_process_under_load_loses_nothing(platform: Platform) -> None:
    """[event_log R1] [event_log R3] Players and house bots play on while each is killed -9 and started again."""
    journal = await played_during(_kill_in_turn(platform), platform)
    assert await oracles.faults(platform, journal, pools=pools()) == []
    assert log_faults(platform.directory / "logs") == []


async def _kill_in_turn(platform: Platform) -> None:
    for name in VICTIMS:
        await asyncio.sleep(SECONDS_BETWEEN_KILLS)
        await havoc.crash(platform, name)


@pytest.mark.timeout(240)
async def test_a_rolling_restart_under_load_fails_no_move(platform: Platform) -> None:
    """[event_log R2] Every process drains, stops and comes again; streams are taken up where they broke."""
    journal = await played_during(_restart_all(platform), platform)
    assert journal.failed == []
    assert await oracles.faults(platform, journal, pools=pools()) == []
    assert log_faults(platform.directory / "logs") == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize("is_crash", [False, True], ids=["stopped", "killed"])
async def test_matches_and_tickets_go_on_when_the_whole_platform_is_started_again(
    platform: Platform, *, is_crash: bool
) -> None:
    """[event_log 2.7] All processes and the server end, in order or at once; the directory holds all that counts."""
    journal = await played_during(_restart_whole(platform, is_crash=is_crash), platform)
    assert await oracles.faults(platform, journal, pools=pools()) == []
    assert log_faults(platform.directory / "logs") == []


@pytest.mark.timeout(360)
async def test_two_releases_serve_the_same_matches_and_one_is_upgraded_to_the_other(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[event_log 2.13, 2.14] Players meet across replicas, each has its share in the work, then the old ones go."""
    monkeypatch.setenv("PYTHONPATH", str(next_release(tmp_path)))
    await _load_functions(platform)
    await havoc.add(platform, *SECOND)
    journal = await played_during(_upgrade(platform), platform, replicas=2)
    assert await _releases(platform) == dict.fromkeys(platform.processes, NEXT)
    assert journal.failed == []
    assert await oracles.faults(platform, journal, pools=pools()) == []
    assert log_faults(platform.directory / "logs") == []


async def _upgrade(platform: Platform) -> None:
    """Let both releases work side by side, and then restart all of the old one as the next."""
    assert set((await _releases(platform)).values()) == {__version__, NEXT}
    await eventually(lambda: _have_worked(platform), seconds=90)
    for name in (*FIRST, "admin"):
        await havoc.restart(platform, name)


async def _load_functions(platform: Platform) -> None:
    """Load the functions of the release that processes import now, as the first step of an upgrade."""
    code, _, err = await promontory("load-functions", PROMONTORY_REDIS_URL=platform.redis_url)
    assert code == 0, err


async def _releases(platform: Platform) -> dict[str, str]:
    """Return the release of every process by its name."""
    shown = [(await scrape([platform.ready[name].metrics])).samples for name in platform.processes]
    releases = [_label(samples, "promontory_build_info", "version") for samples in shown]
    return dict(zip(platform.processes, releases, strict=True))


def _label(samples: Sequence[Sample], metric: str, name: str) -> str:
    (found,) = [sample.labels[name] for sample in samples if sample.name == metric]
    return found


async def _restart_all(platform: Platform) -> None:
    for name in FIRST:
        await havoc.restart(platform, name)


async def _restart_whole(platform: Platform, *, is_crash: bool) -> None:
    await eventually(lambda: _in_flight(platform))
    if is_crash:
        havoc.kill(platform, *platform.processes, SERVER)
    await asyncio.to_thread(platform.stop)
    platform.start()  # in this thread, whose end would be the server's


async def _in_flight(platform: Platform) -> bool:
    found = await oracles.kept(platform.redis_url)
    return {oracles.game_of(match_id) for match_id in found.open_matches} == set(GAME_NAMES)


async def _have_worked(platform: Platform) -> bool:
    for name in FIRST + SECOND:
        if not await _has_worked(platform, name):
            return False
    return True


async def _has_worked(platform: Platform, name: str) -> bool:
    metric, labels = WORK[name.partition("-")[0]]
    return (await scrape([platform.ready[name].metrics])).total(metric, **labels) > 0
