"""Watching: a snapshot, every commit once and in order, heartbeats, one end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import EventLog, EventLogUnavailable, FeedNote
from promontory.games.transcontinental.commands import Resign
from promontory.rules.domain import Match, Step
from promontory.rules.lane import BUFFERED_STEPS
from promontory.rules.resuming import Resume
from promontory.rules.watch import MOST_CONFLATIONS, End, EndReason, Pace, Quiet, Snapshot
from promontory.runtime import metrics
from promontory.runtime.errors import Kind, Refusal
from tests.support.refereeing import GAME, Bench, next_command
from tests.support.watching import Watcher, anyone, hub_of, versions


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
    assert told[-1] == End(EndReason.MATCH_CLOSED, closed)


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
        watcher = Watcher(hub, match, resume=Resume(after))
        closed = (await bench.submit(match, Resign(0))).step.match
        told = await watcher.end()
    assert [update for update in told[:-1] if isinstance(update, Step)] == (await bench.steps(closed))[after:]
    assert told[-1] == End(EndReason.MATCH_CLOSED, closed)


async def test_a_stream_that_resumes_where_nothing_happened_since_says_so_at_once() -> None:
    """[Heartbeat] The client knows that it is back, and up to date."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=10)
    async with hub_of(bench) as hub:
        watcher = Watcher(hub, match, resume=Resume(10))
        assert await watcher.until(1) == [Quiet(match)]
        await watcher.leave()


async def test_a_stream_that_resumes_at_the_end_only_ends() -> None:
    """Everything was sent: nothing more will come."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), Resign(0))).step.match
    async with hub_of(bench) as hub:
        assert await Watcher(hub, match, resume=Resume(2)).end() == [End(EndReason.MATCH_CLOSED, match)]


async def test_a_closed_match_is_shown_and_the_stream_ends() -> None:
    """A snapshot, and the end."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), Resign(0))).step.match
    async with hub_of(bench) as hub:
        assert await Watcher(hub, match).end() == [Snapshot(match), End(EndReason.MATCH_CLOSED, match)]


async def test_resuming_after_a_version_still_to_come_is_refused() -> None:
    """[VERSION_OUT_OF_RANGE] The version lies in the future of the match."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        with pytest.raises(Refusal) as refusal:
            await Watcher(hub, match, resume=Resume(2)).end()
    assert refusal.value.reason == "VERSION_OUT_OF_RANGE"


async def test_a_quiet_stream_has_heartbeats() -> None:
    """[Heartbeat] Sent on a quiet stream so that both sides know it is alive."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench, Pace(0.01, 60)) as hub:
        watcher = Watcher(hub, match)
        told = await watcher.until(4)
        await watcher.leave()
    assert told[1:4] == [Quiet(match)] * 3


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
    assert told == [End(EndReason.SERVER_DRAINING, match)] * 5
    assert refusal.value.reason == "SERVER_DRAINING"


async def test_a_stream_of_the_greatest_age_ends() -> None:
    """[MAX_AGE] Streams end by themselves, so that load can move."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench, Pace(30, 0.02)) as hub:
        told = await Watcher(hub, match).end()
    assert told == [Snapshot(match), End(EndReason.MAX_AGE, match)]


async def ahead(bench: Bench, match: Match, *, by: int) -> Match:
    """Play `by` commits and return the match."""
    for _ in range(by):
        match = (await bench.submit(match, next_command(match))).step.match
    return match


async def test_a_reader_that_falls_too_far_behind_is_shown_where_the_match_stands_and_then_sent_off() -> None:
    """[event_log 2.6] Beyond 64 commits they are conflated to one fresh view, after 3 of these the stream ends."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        updates = hub.follow(match.match_id, None, resume=None, admit=anyone)
        assert await anext(updates) == Snapshot(match)
        for _ in range(MOST_CONFLATIONS):
            match = await ahead(bench, match, by=BUFFERED_STEPS + 1)
            assert await anext(updates) == Snapshot(match, skipped=BUFFERED_STEPS + 1)
        await ahead(bench, match, by=BUFFERED_STEPS + 1)
        assert await anext(updates) == End(EndReason.SLOW_READER, match)
        with pytest.raises(Refusal) as refusal:
            await anext(updates)
    assert (refusal.value.kind, refusal.value.reason) == (Kind.TOO_MANY, "SLOW_READER")


async def test_a_reader_just_not_too_far_behind_gets_everything() -> None:
    """As many commits as are buffered are no reason to pass over any."""
    bench = Bench()
    match = await bench.create()
    async with hub_of(bench) as hub:
        updates = hub.follow(match.match_id, None, resume=None, admit=anyone)
        await anext(updates)
        await ahead(bench, match, by=BUFFERED_STEPS)
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
            await anext(hub.follow(match.match_id, None, resume=None, admit=nobody))
    assert hub._lanes == {}


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
        assert (gauge._value.get(), hub._lanes) == (before, {})


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


async def test_a_reader_who_resumes_far_behind_gets_everything_however_slow() -> None:
    """[WatchMatch] What was missed comes from the log, a part at a time, and nothing of it is passed over."""
    bench = Bench()
    match = await ahead(bench, await bench.create(), by=3 * BUFFERED_STEPS)
    async with hub_of(bench.replica()) as hub:
        updates = hub.follow(match.match_id, None, resume=Resume(1), admit=anyone)
        told = [await anext(updates)]
        match = await ahead(bench, match, by=2 * BUFFERED_STEPS)
        told += [await anext(updates) for _ in range(match.version - 2)]
        await updates.aclose()
    assert versions(told) == list(range(2, match.version + 1))


@pytest.mark.parametrize("missed", [1, 5, BUFFERED_STEPS])
async def test_readers_who_resume_a_little_behind_are_served_by_one_read(missed: int) -> None:
    """[R24] When a process died, all its watchers come at once: the first has the log read for the others."""
    bench = Bench()
    match = await ahead(bench, await bench.create(), by=100)
    log = CountingLog(bench.log)
    async with hub_of(Bench(log)) as hub:
        watchers = [Watcher(hub, match, resume=Resume(match.version - missed)) for _ in range(5)]
        told = [await watcher.until(missed) for watcher in watchers]
        await asyncio.gather(*(watcher.leave() for watcher in watchers))
    assert {tuple(versions(each)) for each in told} == {tuple(range(102 - missed, 102))}
    assert log.commits_read < 300


class CountingLog:
    """A log that counts the commits it is asked for."""

    def __init__(self, log: EventLog) -> None:
        self._log, self.commits_read = log, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def read(self, stream: str, **options: Any) -> Any:
        """Read; see `EventLog.read`."""
        commits = await self._log.read(stream, **options)
        self.commits_read += len(commits)
        return commits
