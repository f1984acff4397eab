"""Players for whole matches: each plays through the SDK and writes down what the platform acknowledged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from random import Random
from typing import Any

import msgspec

from promontory import AsyncClient, MatchSummary, PromontoryError, Unavailable, VersionConflict
from promontory.bots.registry import policy
from promontory.client.seats import Seat, new_request_id
from promontory.local.platform import Platform
from promontory.runtime import clock

PATIENCE_SECONDS = 60.0
GAME = "transcontinental"


class Acknowledged(msgspec.Struct, frozen=True):
    """A submission the platform has answered, after `seconds`: it made `version` of `match_id` under `command_id`."""

    match_id: str
    version: int
    command_id: str
    seconds: float


class Journal:
    """What all players of a test saw: moves acknowledged and failed for good, matches that ended, waits for a turn."""

    def __init__(self) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.failed: list[PromontoryError] = []
        self.ended: dict[str, MatchSummary] = {}
        self.pauses: list[float] = []

    def faults(self, match_id: str, exported: bytes) -> Sequence[str]:
        """Return what is wrong with the log of a match: acknowledged commits lost, or commands applied twice."""
        command_ids = [line["command_id"] for line in map(json.loads, exported.splitlines()) if "command_id" in line]
        lost = [
            f"lost: {each}"
            for each in self.acknowledged
            if each.match_id == match_id and command_ids[each.version - 1 : each.version] != [each.command_id]
        ]
        twice = [f"twice: {each}" for each in sorted(set(command_ids)) if command_ids.count(each) > 1]
        return lost + twice


def client_of(platform: Platform, player: str, *, replica: int = 0) -> AsyncClient:
    """Return a patient client of `player`, which calls the replicas of that number that there are; 0: the first."""
    found = platform.endpoints
    if replica:
        processes = {name: f"{name}-{replica}" for name in found}
        found = {name: platform.ready[process].grpc for name, process in processes.items() if process in platform.ready}
    return AsyncClient(found, token=platform.keys.player_token(player), retry_seconds=PATIENCE_SECONDS)


async def play_match(client: AsyncClient, pool: str, journal: Journal, *, policy_name: str = "greedy") -> MatchSummary:
    """Enter `pool`, play one match to its end, and return how it ended."""
    return await play_seat(await client.play(pool), journal, policy_name=policy_name)


async def play_seat(seat: Seat, journal: Journal, *, policy_name: str = "greedy") -> MatchSummary:
    """Play a seat to the end of its match and return how it ended."""
    choose, rng = policy(await seat.rules(), policy_name), Random(1)
    waiting_since = clock.monotonic()
    async for update in seat:
        if update.your_turn:
            journal.pauses.append(clock.monotonic() - waiting_since)
            await _play(seat, choose(update.view, rng), update.version, journal)
            waiting_since = clock.monotonic()
    journal.ended[seat.match_id] = update.match
    return update.match


async def _play(seat: Seat, command: Any, version: int, journal: Journal) -> None:
    request_id, started = new_request_id(), clock.monotonic()
    try:
        update = await seat.submit(command, request_id=request_id, expected_version=version)
    except (VersionConflict, Unavailable) as error:
        journal.failed.append(error)
        return  # the stream says what became of it
    seconds = clock.monotonic() - started
    journal.acknowledged.append(Acknowledged(seat.match_id, update.version, f"{seat.seat}:{request_id}", seconds))


async def play_while(
    work: Coroutine[Any, Any, object], platform: Platform, *, pool: str, players: int, replicas: int = 1
) -> Journal:
    """Let `players` players play match after match in `pool` until `work` is done; return what they wrote down.

    They call `replicas` replicas of the services in turn. Raises what `work` raises, at once.
    """
    journal, busy = Journal(), asyncio.create_task(work)
    clients = [client_of(platform, f"player-{number}", replica=number % replicas) for number in range(players)]
    tasks = [busy, *(asyncio.create_task(_play_until(busy, client, pool, journal)) for client in clients)]
    try:
        await asyncio.gather(*tasks)
    finally:
        [task.cancel() for task in tasks]
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(client.close() for client in clients))
    return journal


async def _play_until(busy: asyncio.Task[object], client: AsyncClient, pool: str, journal: Journal) -> None:
    while not busy.done():
        await play_match(client, pool, journal)
