"""Watching: a snapshot, every commit once and in order, heartbeats, one end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import EventLogUnavailable, FeedNote
from promontory.games.transcontinental.commands import Resign
from promontory.rules.domain import Match, Step
from promontory.rules.watch import BUFFERED_STEPS, End, EndReason, Hub, Pace, Quiet, Snapshot, Update
from promontory.runtime import metrics
from promontory.runtime.errors import Refusal
from tests.support.refereeing import GAME, Bench, next_command
from tests.support.waiting import eventually

CALM = Pace(heartbeat_seconds=30, max_stream_seconds=60, sweep_seconds=30)
BUCKETS = [f"tc:{number:03x}" for number in range(64)]


@asynccontextmanager
async def hub_of(bench: Bench, pace: Pace = CALM) -> AsyncIterator[Hub]:
    """Run a hub beside `bench`, as its process does."""
    hub = Hub(bench.matches, BUCKETS, game=GAME, pace=pace)
    tasks = [asyncio.create_task(hub.follow_feed()), asyncio.create_task(hub.sweep())]
    yield hub
    [task.cancel() for task in tasks]
    await asyncio.gather(*tasks, return_exceptions=True)


def anyone(match: Match) -> None:
    """Admit everybody."""


class Watcher:
    """Watches a match in a task of its own, and keeps what it is told."""

    def __init__(self, hub: Hub, match: Match, *, after: int | None = None) -> None:
        self.told: list[Update] = []
        self._updates = hub.follow(match.match_id, after=after, admit=anyone)
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

    async def end(self) -> list[Update]:
        """Wait for the end of the stream, and return all updates."""
        await asyncio.wait_for(self._task, 10)
        return self.told

    async def leave(self) -> None:
        """Stop watching."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def versions(told: Sequence[Update]) -> list[int]:
    return [update.version for update in told if isinstance(update, Step)]


async def test_a_watcher_gets_a_snapshot_every_commit_and_one_end() -> None:
    """[WatchMatch] A snapshot, then every commit by number, and one typed end."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=4)
    async with hub_of(bench) as hub:
        watcher = Watcher(hub, match)
        await watcher.until(1)
        closed = (await bench.submit(await bench.play(match, until=15), Resign(0))).step.match
        told = await watcher.end()
    assert told[0] == Snapshot(match)
    assert told[1:-1] == (await bench.steps(closed))[4:]
    assert told[-1] == End(EndReason.MATCH_CLOSED, 16)


async def test_commits_of_another_process_arrive_through_the_feed() -> None:
    """[event_log 2.6] A note of the feed has the missing commits read from the log."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench.replica()) as hub:
        watcher = Watcher(hub, match)
        await watcher.until(1)
        await bench.play(match, until=30)
        told = await watcher.until(30)
        await watcher.leave()
    assert versions(told) == list(range(2, 31))


class DeafLog(MemoryEventLog):
    """A log whose feed tells nothing."""

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> tuple[Mapping[str, str], Sequence[FeedNote]]:
        """Tell nothing; see `EventLog.feed`."""
        await asyncio.Event().wait()
        return cursors, ()


async def test_commits_that_the_feed_does_not_tell_are_found_by_the_sweep() -> None:
    """[event_log 2.6] The feed is a hint; a sweep compares heads of watched matches."""
    bench = Bench(DeafLog())
    match = await bench.create()
    async with hub_of(bench.replica(), Pace(30, 60, sweep_seconds=0.02)) as hub:
        watcher = Watcher(hub, match)
        await watcher.until(1)
        await bench.play(match, until=5)
        told = await watcher.until(5)
        await watcher.leave()
    assert versions(told) == [2, 3, 4, 5]


class MoodyLog(MemoryEventLog):
    """A log whose feed fails once."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 1

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> Any:
        """Fail, or answer; see `EventLog.feed`."""
        if self.failures:
            self.failures -= 1
            raise EventLogUnavailable("not now")
        return await super().feed(cursors, block_ms=block_ms)


async def test_a_feed_that_failed_is_followed_again() -> None:
    """A server that is down for a moment costs a watcher a moment."""
    bench = Bench(MoodyLog())
    match = await bench.create()
    async with hub_of(bench.replica()) as hub:
        watcher = Watcher(hub, match)
        await watcher.until(1)
        await bench.play(match, until=3)
        told = await watcher.until(3)
        await watcher.leave()
    assert versions(told) == [2, 3]


@pytest.mark.parametrize("after", [1, 3, 9, 10])
async def test_a_stream_resumes_after_any_version_without_a_gap(after: int) -> None:
    """[WatchMatch] Resumes after any version on any replica, without gaps; then there is no snapshot."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=10)
    async with hub_of(bench.replica()) as hub:
        watcher = Watcher(hub, match, after=after)
        closed = (await bench.submit(match, Resign(0))).step.match
        told = await watcher.end()
    assert told[:-1] == (await bench.steps(closed))[after:]
    assert told[-1] == End(EndReason.MATCH_CLOSED, 11)


async def test_a_stream_that_resumes_at_the_end_only_ends() -> None:
    """Everything was sent: nothing more will come."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), Resign(0))).step.match
    async with hub_of(bench) as hub:
        assert await Watcher(hub, match, after=2).end() == [End(EndReason.MATCH_CLOSED, 2)]


async def test_a_closed_match_is_shown_and_the_stream_ends() -> None:
    """A snapshot, and the end."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), Resign(0))).step.match
    async with hub_of(bench) as hub:
        assert await Watcher(hub, match).end() == [Snapshot(match), End(EndReason.MATCH_CLOSED, 2)]


async def test_resuming_after_a_version_still_to_come_is_refused() -> None:
    """[VERSION_OUT_OF_RANGE] The version lies in the future of the match."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        with pytest.raises(Refusal) as refusal:
            await Watcher(hub, match, after=2).end()
    assert refusal.value.reason == "VERSION_OUT_OF_RANGE"


async def test_a_quiet_stream_has_heartbeats() -> None:
    """[Heartbeat] Sent on a quiet stream so that both sides know it is alive."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench, Pace(0.01, 60)) as hub:
        watcher = Watcher(hub, match)
        told = await watcher.until(4)
        await watcher.leave()
    assert told[1:4] == [Quiet(1)] * 3


async def test_draining_ends_every_stream_with_where_to_resume_and_takes_no_new_one() -> None:
    """[SERVER_DRAINING] Watch again after the last version received, on any replica."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=3)
    async with hub_of(bench) as hub:
        watchers = [Watcher(hub, match) for _ in range(5)]
        [await watcher.until(1) for watcher in watchers]
        await hub.drain()
        told = [(await watcher.end())[-1] for watcher in watchers]
        with pytest.raises(Refusal) as refusal:
            await Watcher(hub, match).end()
    assert told == [End(EndReason.SERVER_DRAINING, 3)] * 5
    assert refusal.value.reason == "SERVER_DRAINING"


async def test_a_stream_of_the_greatest_age_ends() -> None:
    """[MAX_AGE] Streams end by themselves, so that load can move."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench, Pace(30, 0.02)) as hub:
        told = await Watcher(hub, match).end()
    assert told == [Snapshot(match), End(EndReason.MAX_AGE, 1)]


async def test_a_reader_that_falls_too_far_behind_is_sent_off() -> None:
    """[SLOW_READER] Watch again, without a version for a fresh snapshot."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        updates = hub.follow(match.match_id, after=None, admit=anyone)
        assert await anext(updates) == Snapshot(match)
        for _ in range(BUFFERED_STEPS + 1):
            match = (await bench.submit(match, next_command(match))).step.match
        assert [update async for update in updates] == [End(EndReason.SLOW_READER, 1)]


async def test_a_reader_just_not_too_far_behind_gets_everything() -> None:
    """As many commits as are buffered are no reason to send anybody off."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        updates = hub.follow(match.match_id, after=None, admit=anyone)
        await anext(updates)
        for _ in range(BUFFERED_STEPS):
            match = (await bench.submit(match, next_command(match))).step.match
        told = [await anext(updates) for _ in range(BUFFERED_STEPS)]
        await updates.aclose()
    assert versions(told) == list(range(2, BUFFERED_STEPS + 2))


async def test_somebody_who_may_not_watch_learns_nothing() -> None:
    """Admission comes before the first message."""
    bench = Bench()
    match = await bench.create()

    def nobody(_: Match) -> None:
        raise PermissionError

    async with hub_of(bench) as hub:
        with pytest.raises(PermissionError):
            await anext(hub.follow(match.match_id, after=None, admit=nobody))
    assert hub._watched == {}


async def test_who_leaves_leaves_nothing_behind() -> None:
    """A cancelled watcher propagates its cancellation, and the match is no longer watched."""
    bench = Bench()
    match = await bench.create()
    gauge = metrics.WATCHERS.labels(game=GAME)
    before = gauge._value.get()
    async with hub_of(bench) as hub:
        watchers = [Watcher(hub, match) for _ in range(3)]
        [await watcher.until(1) for watcher in watchers]
        assert gauge._value.get() == before + 3
        await asyncio.gather(*(watcher.leave() for watcher in watchers))
        assert (gauge._value.get(), hub._watched) == (before, {})


async def test_many_watchers_of_one_match_share_its_steps() -> None:
    """[event_log 2.6] One read serves all, and what is made of a commit for an audience is made once."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench.replica()) as hub:
        watchers = [Watcher(hub, match) for _ in range(10)]
        [await watcher.until(1) for watcher in watchers]
        await bench.play(match, until=8)
        told = [await watcher.until(8) for watcher in watchers]
        await asyncio.gather(*(watcher.leave() for watcher in watchers))
    assert {id(step) for each in told for step in each[1:]} == {id(step) for step in told[0][1:]}
