"""Players for whole matches: each plays through the SDK and writes down what the platform acknowledged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from itertools import cycle, islice
from random import Random
from typing import Any

import msgspec

from promontory import AsyncClient, MatchSummary, PromontoryError, Unavailable, VersionConflict
from promontory.bots.registry import policy
from promontory.client.matches import Update
from promontory.client.seats import Seat, new_request_id
from promontory.local.platform import Platform
from promontory.runtime import clock
from tests.support.pools import pools

PATIENCE_SECONDS = 60.0
GAME = "transcontinental"
QUICK = {GAME: "greedy"}
"""The policies that end a match soon, for games that random play does not."""
MOST_COMMANDS = 30
"""How many commands a player gives who is only there to keep the platform busy, before resigning."""


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


async def play_match(
    client: AsyncClient, pool: str, journal: Journal, *, most: int | None = None, thinking_seconds: float = 0
) -> MatchSummary:
    """Enter `pool`, play one match to its end, or resign after `most` commands, and return how it ended."""
    return await play_seat(await client.play(pool), journal, most=most, thinking_seconds=thinking_seconds)


async def play_seat(
    seat: Seat, journal: Journal, *, most: int | None = None, thinking_seconds: float = 0
) -> MatchSummary:
    """Play a seat to the end of its match, or resign it after `most` commands, and return how the match ended.

    A player who takes `thinking_seconds` for each command plays on while a test does something else.
    """
    game = await seat.rules()
    choose, rng = policy(game, QUICK.get(seat.game, "random")), Random(1)
    waiting_since, given = clock.monotonic(), 0
    async for update in seat:
        if update.your_turn:
            journal.pauses.append(clock.monotonic() - waiting_since)
            await asyncio.sleep(thinking_seconds)
            command = game.resign(seat.seat) if given == most else choose(update.view, rng)
            given += await _play(seat, command, update, journal)
            waiting_since = clock.monotonic()
    journal.ended[seat.match_id] = update.match
    return update.match


async def _play(seat: Seat, command: Any, seen: Update, journal: Journal) -> bool:
    """Submit `command`, and return whether it was accepted; if not, the stream says what became of the match."""
    request_id, started = new_request_id(), clock.monotonic()
    try:
        update = await seat.submit(command, request_id=request_id, expected_version=seen.version)
    except (VersionConflict, Unavailable) as error:
        if isinstance(error, Unavailable) or len(seen.match.seats_to_act) == 1:  # else another seat was quicker
            journal.failed.append(error)
        return False
    seconds = clock.monotonic() - started
    journal.acknowledged.append(Acknowledged(seat.match_id, update.version, f"{seat.seat}:{request_id}", seconds))
    return True


async def play_while(
    work: Coroutine[Any, Any, object],
    platform: Platform,
    *,
    players: int,
    replicas: int = 1,
    thinking_seconds: float = 0,
) -> Journal:
    """Let `players` players play match after match until `work` is done; return what they wrote down.

    They play in `pools()` in turn, take `thinking_seconds` for each command, and call `replicas` replicas of the
    services in turn, so that in each pool there are players of every replica. Raises what `work` raises, at once.
    """
    journal, busy = Journal(), asyncio.create_task(work)
    clients = [client_of(platform, f"player-{number}", replica=number % replicas) for number in range(players)]
    waiting = islice(cycle(each for each in pools() for _ in range(replicas)), players)
    play = partial(play_match, journal=journal, most=MOST_COMMANDS, thinking_seconds=thinking_seconds)
    playing = map(partial(_play_until, busy, play), clients, waiting)
    tasks = [busy, *map(asyncio.create_task, playing)]
    try:
        await asyncio.gather(*tasks)
    finally:
        [task.cancel() for task in tasks]
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(client.close() for client in clients))
    return journal


async def _play_until(
    busy: asyncio.Task[object], play: Callable[[AsyncClient, str], Awaitable[object]], client: AsyncClient, pool: str
) -> None:
    while not busy.done():
        await play(client, pool)
