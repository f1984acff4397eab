"""Watching matches: one hub follows the log's feed, and every watcher gets each commit once and in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum

import msgspec
import structlog

from promontory.eventlog.port import MANY_NOTES, EventLog, EventLogUnavailable, FeedNote, LogCorrupt
from promontory.games.kernel import Seat
from promontory.rules.domain import Match, Step
from promontory.rules.gallery import Gallery, is_late
from promontory.rules.lane import BUFFERED_STEPS, Lane
from promontory.rules.matches import Matches
from promontory.rules.resuming import Resume, ResumeTokens
from promontory.rules.validation import check_reached
from promontory.runtime import clock, metrics
from promontory.runtime.alarm import Alarm
from promontory.runtime.errors import Kind, Refusal

log = structlog.get_logger()

MOST_CONFLATIONS = 3
"""How often a stream passes over commits that its reader was too slow for; then it ends."""
FEED_BLOCK_MS = 5_000
"""How long one read of the feed waits for news."""

Admit = Callable[[Match], None]
"""Raises the refusal that keeps somebody from watching a match, if there is one."""


class EndReason(StrEnum):
    """Why a stream ended."""

    MATCH_CLOSED = "match_closed"
    SERVER_DRAINING = "server_draining"
    MAX_AGE = "max_age"
    SLOW_READER = "slow_reader"


class Snapshot(msgspec.Struct, frozen=True):
    """The match where the watching begins, or goes on.

    `skipped` commits up to it were passed over, because the reader was slow; `rewound` tells that the log no longer
    holds what was told last.
    """

    match: Match
    skipped: int = 0
    rewound: bool = False


class Quiet(msgspec.Struct, frozen=True):
    """Nothing happened for a while; `match` is the last that was told.

    `absences` are the seats whose players are to act and gone, and when each can be claimed, in ms since the epoch.
    """

    match: Match
    absences: Mapping[Seat, int] = {}


class End(msgspec.Struct, frozen=True):
    """The stream's last message; `match` is the last that was told."""

    reason: EndReason
    match: Match


Update = Snapshot | Step | Quiet | End


class Pace(msgspec.Struct, frozen=True):
    """How long a stream may be quiet before a heartbeat, how old it may become, and how often heads are compared.

    After some news `gather_seconds` go by before the feed is read again, after much `long_gather_seconds`, so that one
    read brings several: what this process appends is told at once, without the feed. After a failure the feed is read
    again in `retry_seconds`.
    """

    heartbeat_seconds: float
    max_stream_seconds: float
    sweep_seconds: float = 10.0
    gather_seconds: float = 0.01
    long_gather_seconds: float = 0.02
    retry_seconds: float = 1.0


class Hub:
    """Lets any number of watchers follow matches; each commit is read once, whoever watches.

    The feed only hints that something happened. What watchers get comes from the log, and a sweep finds what the feed
    did not tell.
    """

    def __init__(
        self, matches: Matches, buckets: Sequence[str], *, game: str, pace: Pace, tokens: ResumeTokens
    ) -> None:
        self.tokens, self._pace = tokens, pace
        self._matches, self._gallery, self._buckets = matches, Gallery(matches), buckets
        self._lanes: dict[tuple[str, bool], Lane] = {}
        self._open = metrics.WATCHERS.labels(game=game)
        self._draining = asyncio.Event()
        matches.listen(self._appended)

    @property
    def heartbeat_seconds(self) -> float:
        """How long a stream is quiet before it has a heartbeat."""
        return self._pace.heartbeat_seconds

    @property
    def max_stream_seconds(self) -> float:
        """How old a stream becomes at most."""
        return self._pace.max_stream_seconds

    async def drained(self) -> None:
        """Return once all streams are to end."""
        await self._draining.wait()

    @property
    def _log(self) -> EventLog:
        return self._matches.log

    async def follow_feed(self) -> None:
        """Follow the buckets' feeds until cancelled."""
        cursors = dict.fromkeys(self._buckets, "$")
        block_ms = 0
        while True:
            try:
                following, notes = await self._log.feed(cursors, block_ms=block_ms)
                cursors = dict(following)
                await (self._refresh(notes) if block_ms else self._sweep())
                block_ms = FEED_BLOCK_MS
                if notes:
                    is_much, pace = len(notes) >= MANY_NOTES, self._pace
                    await asyncio.sleep(pace.long_gather_seconds if is_much else pace.gather_seconds)
            except EventLogUnavailable as error:
                log.warning("feed_unavailable", cause=str(error))
                await asyncio.sleep(self._pace.retry_seconds)

    async def sweep(self) -> None:
        """Compare the watched matches with their logs again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._pace.sweep_seconds)
            await self._sweep()

    async def _sweep(self) -> None:
        for lane in tuple(self._lanes.values()):
            await self._pull(lane, self._compare(lane))

    async def _compare(self, lane: Lane) -> None:
        head = await self._log.head(lane.match_id)
        if head is not None and head.position != lane.position:
            await lane.pull()

    async def _refresh(self, notes: Iterable[FeedNote]) -> None:
        news = {note.stream: note.version for note in notes}
        await asyncio.gather(
            *(
                self._pull(lane, lane.pull(at_least=None if late else news[match_id]))
                for (match_id, late), lane in self._lanes_of(news)
            )
        )

    def _lanes_of(self, match_ids: Iterable[str]) -> Iterator[tuple[tuple[str, bool], Lane]]:
        for match_id in match_ids:
            for key in ((match_id, False), (match_id, True)):
                if key in self._lanes:
                    yield key, self._lanes[key]

    async def _pull(self, lane: Lane, pulling: Awaitable[None]) -> None:
        try:
            await pulling
        except EventLogUnavailable as error:
            log.warning("watched_match_unavailable", match_id=lane.match_id, cause=str(error))
        except LogCorrupt:
            log.exception("watched_match_corrupt", match_id=lane.match_id)
        except Refusal as refusal:
            log.info("watched_match_refused", match_id=lane.match_id, reason=refusal.reason)

    def _appended(self, before: Match, step: Step) -> None:
        lane = self._lanes.get((step.match.match_id, False))
        if lane is not None:
            lane.appended(before, step)

    async def drain(self) -> None:
        """End all streams, each with a message that says where to resume, and take no new ones."""
        self._draining.set()
        for lane in self._lanes.values():
            lane.wake()

    async def follow(
        self, match_id: str, seat: Seat | None, *, resume: Resume | None, admit: Admit
    ) -> AsyncGenerator[Update, None]:
        """Yield a match's snapshot, or the steps after where to `resume`, then all that follows, up to one `End`.

        That is as `seat` sees them, or a spectator (None), to whom they may come late. Raises what `admit` raises,
        `MATCH_NOT_FOUND`, `VERSION_OUT_OF_RANGE` and `SERVER_DRAINING`; after the end, `SLOW_READER` if it was one.
        """
        if self._draining.is_set():
            raise Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "the server is stopping; watch on another replica")
        with ExitStack() as stack:
            lane = await self._enter(stack, match_id, late=False)
            admit(lane.match)
            if is_late(lane.match.setup, seat):
                stack.close()
                lane = await self._enter(stack, match_id, late=True)
            watch = _Watch(lane, self._matches, self._pace, self._draining)
            async for update in watch.updates(resume):
                yield update
        if watch.is_slow:
            text = "commits came faster than they were read; watch again"
            raise Refusal(Kind.TOO_MANY, "SLOW_READER", text, metadata={"retrySeconds": 1})

    async def _enter(self, stack: ExitStack, match_id: str, *, late: bool) -> Lane:
        lane = stack.enter_context(self._watching(match_id, late=late))
        await lane.pull()
        return lane

    @contextmanager
    def _watching(self, match_id: str, *, late: bool) -> Iterator[Lane]:
        source = self._gallery if late else self._matches
        lane = self._lanes.setdefault((match_id, late), Lane(match_id, self._matches, source))
        lane.watchers += 1
        self._open.inc()
        try:
            yield lane
        finally:
            self._open.dec()
            lane.watchers -= 1
            if not lane.watchers:
                self._lanes.pop((match_id, late), None)


class _Watch:
    """What one watcher is told: the match, then its changes, up to the end."""

    def __init__(self, lane: Lane, matches: Matches, pace: Pace, draining: asyncio.Event) -> None:
        self._lane, self._matches, self._pace, self._draining = lane, matches, pace, draining
        self._deadline = clock.monotonic() + pace.max_stream_seconds
        self._last, self._rewinds, self._conflations = lane.match, lane.rewinds, 0
        self._quiet = Alarm(self._beat)
        self._change: asyncio.Future[bool] | None = None

    @property
    def is_slow(self) -> bool:
        """Whether the watcher fell behind too often."""
        return self._conflations > MOST_CONFLATIONS

    async def updates(self, resume: Resume | None) -> AsyncIterator[Update]:
        """Yield all that there is to tell; a heartbeat at once if there is nothing yet after where to `resume`."""
        try:
            async for update in self._opening(resume):
                yield update
            while True:
                changes = self._lane.changes
                for update in self._news():
                    yield update
                if reason := self._end():
                    yield End(reason, self._last)
                    return
                if not await self._happens(changes):
                    yield Quiet(self._last)
        finally:
            self._quiet.stop()

    async def _opening(self, resume: Resume | None) -> AsyncIterator[Update]:
        if resume is None or not await self._resumes(resume):
            yield self._snapshot(rewound=resume is not None)
            return
        begun = self._last
        while self._lane.after(self._last.version) is None:
            missing = self._lane.match.version - self._last.version
            for step in await self._matches.following(self._last, limit=min(missing, BUFFERED_STEPS)):
                self._last = step.match
                yield step
        if self._last is begun and not begun.is_closed and not self._lane.after(begun.version):
            yield Quiet(begun)

    async def _resumes(self, resume: Resume) -> bool:
        """Go back to where to `resume`, and tell whether the log still holds what was seen there."""
        if resume.version > self._lane.match.version:
            if resume.knows is None:
                check_reached(resume.version, self._lane.match.version)
            return False
        match = await self._lane.at(resume.version)
        if not resume.fits(match.position):
            return False
        self._last = match
        return True

    def _news(self) -> Iterator[Update]:
        """Yield what came after the last that was told."""
        lane = self._lane
        if lane.rewinds != self._rewinds:
            self._rewinds = lane.rewinds
            yield self._snapshot(rewound=True)
            return
        steps = lane.after(self._last.version)
        if steps is None:
            self._conflations += 1
            if not self.is_slow:
                yield self._snapshot(skipped=lane.match.version - self._last.version)
            return
        for step in steps:
            self._last = step.match
            yield lane.tell(step)

    def _snapshot(self, *, skipped: int = 0, rewound: bool = False) -> Snapshot:
        self._last = self._lane.match
        return Snapshot(self._last, skipped, rewound)

    def _end(self) -> EndReason | None:
        if self.is_slow:
            return EndReason.SLOW_READER
        if self._last.is_closed and self._last.version == self._lane.match.version:
            return EndReason.MATCH_CLOSED
        if self._draining.is_set():
            return EndReason.SERVER_DRAINING
        return EndReason.MAX_AGE if clock.monotonic() >= self._deadline else None

    async def _happens(self, changes: int) -> bool:
        """Wait for one more than so many changes, and tell whether it came before a heartbeat was due."""
        if self._lane.changes > changes:
            return True
        self._quiet.put_off(min(self._pace.heartbeat_seconds, self._deadline - clock.monotonic()))
        self._change = asyncio.get_running_loop().create_future()
        return await self._lane.change(self._change) or clock.monotonic() >= self._deadline

    def _beat(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(False)
