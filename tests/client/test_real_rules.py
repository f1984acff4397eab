"""The SDK and the rules service as they meet in production: replicas come and go, players do not notice."""

from __future__ import annotations

import asyncio
from random import Random

from promontory import AsyncClient, Update, VersionConflict, game
from promontory.bots.registry import policy
from promontory.client.seats import Seat
from promontory.eventlog.memory import MemoryEventLog
from tests.client.hall import open_hall, replica, running
from tests.client.services import POOL
from tests.support.serving import Keys
from tests.support.waiting import eventually

GREEDY = policy(game("transcontinental"), "greedy")


async def play(seated: Seat, updates: list[Update]) -> None:
    """Play a seat to the end, noting all updates."""
    async for update in seated:
        updates.append(update)
        if update.your_turn:
            await submit(seated, update)


async def submit(seated: Seat, update: Update) -> None:
    try:
        await seated.submit(GREEDY(update.view, Random(1)), expected_version=update.version)
    except VersionConflict:
        assert update.version < (await seated.look()).version


async def seats(ada: AsyncClient, bob: AsyncClient) -> tuple[Seat, Seat]:
    return await asyncio.gather(ada.play(POOL), bob.play(POOL))


async def test_players_play_on_from_replica_to_replica(keys: Keys) -> None:
    """Each replica drains and stops; the next one goes on from the log alone."""
    log = MemoryEventLog()
    updates: tuple[list[Update], list[Update]] = ([], [])
    async with open_hall(keys, log=log) as hall:
        ada, bob = hall.client("ada"), hall.client("bob")
        pair = await seats(ada, bob)
        playing = asyncio.gather(*(play(seated, noted) for seated, noted in zip(pair, updates, strict=True)))
        await eventually(lambda: _reached(updates[0], 10))
    async with running(replica(keys, log), keys, listen=hall.address):
        await eventually(lambda: _reached(updates[0], 25))
    async with running(replica(keys, log), keys, listen=hall.address), ada, bob:
        await playing
        exported = await ada.export_match("transcontinental", pair[0].match_id)
    last = updates[0][-1]
    assert [update.version for update in updates[0]] == list(range(updates[0][0].version, last.version + 1))
    assert updates[1][-1].match.outcome == last.match.outcome is not None
    assert len(exported.splitlines()) > last.version


async def _reached(updates: list[Update], version: int) -> bool:
    return bool(updates) and updates[-1].version >= version


async def test_what_the_stream_told_is_what_the_log_holds(keys: Keys) -> None:
    async with open_hall(keys) as hall, hall.client("ada") as ada, hall.client("bob") as bob:
        pair = await seats(ada, bob)
        noted: tuple[list[Update], list[Update]] = ([], [])
        await asyncio.gather(*(play(seated, updates) for seated, updates in zip(pair, noted, strict=True)))
        match_id = pair[0].match_id
        commits = {commit.version: commit async for commit in ada.match_events("transcontinental", match_id)}
        looked = await pair[0].look(version=noted[0][5].version)
    assert len(commits) == noted[0][-1].version
    assert looked.view == noted[0][5].view
    told = [update for update in noted[0] if update.events]
    assert [len(commits[update.version].events) for update in told] == [len(update.events) for update in told]
