"""A hub beside a referee, and those who watch what it tells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

from promontory.rules.domain import Match, Step
from promontory.rules.resuming import Resume, ResumeTokens
from promontory.rules.watch import Hub, Pace, Quiet, Update
from tests.support.refereeing import GAME, Bench
from tests.support.waiting import eventually

CALM = Pace(heartbeat_seconds=30, max_stream_seconds=60, sweep_seconds=30)
BUCKETS = [f"tc:{number:03x}" for number in range(64)]
TOKENS = ResumeTokens(b"k" * 32)


@asynccontextmanager
async def hub_of(bench: Bench, pace: Pace = CALM) -> AsyncIterator[Hub]:
    """Run a hub beside `bench`, as its process does."""
    hub = Hub(bench.matches, BUCKETS, game=GAME, pace=pace, tokens=TOKENS)
    tasks = [asyncio.create_task(hub.follow_feed()), asyncio.create_task(hub.sweep())]
    yield hub
    [task.cancel() for task in tasks]
    await asyncio.gather(*tasks, return_exceptions=True)


def anyone(match: Match) -> None:
    """Admit everybody."""


class Watcher:
    """Watches a match in a task of its own, and keeps what it is told."""

    def __init__(self, hub: Hub, match: Match, seat: int | None = None, *, resume: Resume | None = None) -> None:
        self.told: list[Update] = []
        self._updates = hub.follow(match.match_id, seat, resume=resume, admit=anyone)
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async with aclosing(self._updates) as updates:
            async for update in updates:
                self.told.append(update)

    async def until(self, count: int) -> list[Update]:
        """Wait until `count` updates came, and return all."""

        async def enough() -> bool:
            return len(self.told) >= count

        await eventually(enough)
        return self.told

    async def until_version(self, version: int) -> None:
        """Wait until the commit with this number came."""

        async def has_come() -> bool:
            return version in versions(self.told)

        await eventually(has_come)

    async def until_quiet(self, version: int) -> None:
        """Wait until a heartbeat came after the commit with this number."""

        async def is_quiet() -> bool:
            return any(isinstance(told, Quiet) and told.match.version == version for told in self.told)

        await eventually(is_quiet)

    async def end(self) -> list[Update]:
        """Wait for the end of the stream, and return all updates."""
        await asyncio.wait_for(self._task, 10)
        return self.told

    async def leave(self) -> None:
        """Stop watching."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def versions(told: Sequence[Update]) -> list[int]:
    """Return the numbers of the commits that were told."""
    return [update.version for update in told if isinstance(update, Step)]
