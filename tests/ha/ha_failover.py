"""A primary dies or hands over under play: every match is finished, every log verifies, nothing is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from promontory.eventlog.port import bucket_of
from promontory.local.platform import Platform
from promontory.runtime.embedded import EmbeddedServer
from tests.support import oracles
from tests.support.players import Journal, play_while
from tests.support.pools import POOLS_FILE, pools
from tests.support.process_logs import log_faults
from tests.support.standing_by import Group, cluster, sentinel_group

PLAYERS = 8
PLAYED_SECONDS = 4.0
AWAY_SECONDS = 5.0
FORGOTTEN_SECONDS = 0.5
THINKING_SECONDS = {"Sentinel without guard, last commits lost": 0.3}
"""How long players think, where nobody may take a ticket meanwhile: tickets are lost in earnest [high-availability]."""
SETTINGS = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE), "PROMONTORY_DRAIN_SECONDS": "5"}

Make = Callable[[Path], AbstractContextManager[Group]]
Fault = Callable[[Group, int], Awaitable[None]]

pytestmark = pytest.mark.timeout(300)


async def _comes_back(group: Group, victim: int) -> None:
    """The primary is killed, and started again once another has taken its place."""
    group.kill(victim)
    await asyncio.sleep(AWAY_SECONDS)
    group.restart(victim)


async def _stays_away(group: Group, victim: int) -> None:
    """The primary is killed."""
    group.kill(victim)
    await asyncio.sleep(AWAY_SECONDS)


async def _forgets(group: Group, victim: int) -> None:
    """The primary is killed, and its replicas have not got what it acknowledged in the last moments."""
    with group.cut_off(victim):
        await asyncio.sleep(FORGOTTEN_SECONDS)
        group.kill(victim)
    await asyncio.sleep(AWAY_SECONDS)


async def _hands_over(group: Group, victim: int) -> None:
    """The primary gives its place to a replica, as before a restart."""
    group.hand_over(victim)
    await asyncio.sleep(1)


CASES: dict[str, tuple[Make, Fault]] = {
    "Sentinel, primary killed": (sentinel_group, _stays_away),
    "Sentinel, primary killed and back": (sentinel_group, _comes_back),
    "Sentinel, coordinated": (sentinel_group, _hands_over),
    "Sentinel without guard, last commits lost": (partial(sentinel_group, guarded=False), _forgets),
    "cluster, primary killed": (partial(cluster, guarded=False), _stays_away),
    "cluster with guard, primary killed and back": (cluster, _comes_back),
    "cluster, coordinated": (cluster, _hands_over),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_primary_goes_under_play(case: str, tmp_path: Path) -> None:
    """[event_log R7] [event_log R9] Its matches go on at the replica that takes its place."""
    make, fault = CASES[case]
    with make(tmp_path / "servers") as group, _platform(group, tmp_path) as platform:
        victims: list[int] = []
        thinking = THINKING_SECONDS.get(case, 0)
        work = _befall(group, fault, victims)
        journal = await play_while(work, platform, players=PLAYERS, thinking_seconds=thinking)
        _print_figures(case, journal)
        faults = await oracles.faults(platform, journal, pools=pools())
        assert [*faults, *_unexplained(log_faults(platform.directory / "logs"))] == []
        assert not set(victims) & set(group.owners())


def _unexplained(lines: Sequence[str]) -> Sequence[str]:
    """Leave out that the loader warns in plain words, and that Celery notes how often it had to connect again."""
    return [line for line in lines if "replicas_not_required" not in line and "Frequent restarts" not in line]


@contextmanager
def _platform(group: Group, tmp_path: Path) -> Iterator[Platform]:
    """Every process. The broker is the Sentinels' primary too, and beside a cluster a server of its own."""
    with EmbeddedServer(tmp_path / "broker") as broker:
        settings = SETTINGS if group.sentinels else {**SETTINGS, "PROMONTORY_BROKER_URL": broker.url}
        with Platform(tmp_path, redis_url=group.url, settings=settings) as running:
            yield running


async def _befall(group: Group, fault: Fault, victims: list[int]) -> None:
    """Let a fault befall the primary that most of the open matches are on."""
    await asyncio.sleep(PLAYED_SECONDS)
    found = await oracles.kept(group.url)
    owners = Counter(group.owner(f"{{{bucket_of(match_id)}}}:feed") for match_id in found.open_matches)
    victims.append(owners.most_common(1)[0][0])
    await fault(group, victims[0])
    await asyncio.sleep(PLAYED_SECONDS)


def _print_figures(case: str, journal: Journal) -> None:
    waits = sorted(each.seconds for each in journal.acknowledged)
    print(  # noqa: T201 - a drill's report
        f"\n  {case}: {len(waits)} moves acknowledged, {len(journal.failed)} given up; answer p50 "
        f"{waits[len(waits) // 2]:.3f} s, longest {waits[-1]:.1f} s; longest wait of a seat {max(journal.pauses):.1f} s"
    )
