"""Watching matches: one hub follows the log's feed, and every watcher gets each commit once and in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from enum import StrEnum
from itertools import islice

import msgspec
import structlog

from promontory.eventlog.port import EventLog, EventLogUnavailable, FeedNote, LogCorrupt
from promontory.rules.domain import Match, Step
from promontory.rules.matches import Matches
from promontory.rules.validation import check_reached
from promontory.runtime import clock, metrics
from promontory.runtime.errors import Kind, Refusal

log = structlog.get_logger()

BUFFERED_STEPS = 64
"""How many commits a watcher may fall behind before its stream ends."""

TOLD_STEPS = 4
"""Of how many commits the messages made for watchers are kept for others; slower ones have them made again."""

FEED_BLOCK_MS = 5_000
RETRY_SECONDS = 1.0

Admit = Callable[[Match], None]
"""Raises the refusal that keeps somebody from watching a match, if there is one."""


class EndReason(StrEnum):
    """Why a stream ended."""

    MATCH_CLOSED = "match_closed"
    SERVER_DRAINING = "server_draining"
    MAX_AGE = "max_age"
    SLOW_READER = "slow_reader"


class Snapshot(msgspec.Struct, frozen=True):
    """The match where the watching begins."""

    match: Match


class Quiet(msgspec.Struct, frozen=True):
    """Nothing happened for a while; `version` is the last one known."""

    version: int


class End(msgspec.Struct, frozen=True):
    """The stream's last message; `version` is the last one delivered."""

    reason: EndReason
    version: int


Update = Snapshot | Step | Quiet | End


class Pace(msgspec.Struct, frozen=True):
    """How long a stream may be quiet before a heartbeat, how old it may become, and how often heads are compared."""

    heartbeat_seconds: float
    max_stream_seconds: float
    sweep_seconds: float = 10.0


class _Watched:
    """One match that somebody watches: its fold, and its latest steps without gaps."""

    def __init__(self, match_id: str, matches: Matches) -> None:
        self.match_id, self._matches = match_id, matches
        self._match: Match | None = None
        self._steps: deque[Step] = deque(maxlen=BUFFERED_STEPS)
        self._reading = asyncio.Lock()
        self._failure: LogCorrupt | None = None
        self.watchers = 0
        self.changed = asyncio.Event()

    @property
    def version(self) -> int:
        """The last version known, 0 before the first read."""
        return 0 if self._match is None else self._match.version

    @property
    def match(self) -> Match:
        """The match at the last version known; raises what made following it impossible."""
        if self._failure is not None:
            raise self._failure
        assert self._match is not None, "a match is watched only after its first read"  # noqa: S101 - for the checker
        return self._match

    async def pull(self, at_least: int | None = None) -> None:
        """Read what came after the last version known, unless `at_least` that version is known by then."""
        async with self._reading:
            if at_least is not None and self.version >= at_least:
                return
            if self._match is None:
                self._match = await self._matches.fresh(self.match_id)
            else:
                self.take(await self._following(self._match))

    async def _following(self, match: Match) -> Sequence[Step]:
        try:
            return await self._matches.following(match)
        except LogCorrupt as error:
            self._failure = error
            self.wake()
            raise

    def take(self, steps: Iterable[Step]) -> None:
        """Add those of `steps` that come next, and wake the watchers."""
        for step in steps:
            if self._match is not None and step.version == self._match.version + 1:
                self._match = step.match
                self._steps.append(step)
                self._forget_messages()
        self.wake()

    def _forget_messages(self) -> None:
        if len(self._steps) > TOLD_STEPS:
            self._steps[-1 - TOLD_STEPS].told.clear()

    def wake(self) -> None:
        """Wake everybody who waits for a change."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def after(self, version: int) -> Sequence[Step] | None:
        """Return the steps after `version`, or None if they are no longer all here."""
        missing = self.match.version - version
        if missing > len(self._steps):
            return None
        return tuple(islice(self._steps, len(self._steps) - missing, None))


class Hub:
    """Lets any number of watchers follow matches; each commit is read once, whoever watches.

    The feed only hints that something happened. What watchers get comes from the log, and a sweep finds what the feed
    did not tell.
    """

    def __init__(self, matches: Matches, buckets: Sequence[str], *, game: str, pace: Pace) -> None:
        self._matches, self._buckets, self._pace = matches, buckets, pace
        self._watched: dict[str, _Watched] = {}
        self._open = metrics.WATCHERS.labels(game=game)
        self._draining = False
        matches.listen(self._appended)

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
            except EventLogUnavailable as error:
                log.warning("feed_unavailable", cause=str(error))
                await asyncio.sleep(RETRY_SECONDS)

    async def sweep(self) -> None:
        """Compare the watched matches with their logs again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._pace.sweep_seconds)
            await self._sweep()

    async def _sweep(self) -> None:
        for watched in tuple(self._watched.values()):
            await self._compare(watched)

    async def _compare(self, watched: _Watched) -> None:
        try:
            head = await self._log.head(watched.match_id)
        except EventLogUnavailable as error:
            log.warning("watched_match_unavailable", match_id=watched.match_id, cause=str(error))
            return
        if head is not None and head.position.version != watched.version:
            await self._pull(watched, None)

    async def _refresh(self, notes: Iterable[FeedNote]) -> None:
        news = {note.stream: note.version for note in notes if note.stream in self._watched}
        await asyncio.gather(*(self._pull(self._watched[stream], version) for stream, version in news.items()))

    async def _pull(self, watched: _Watched, at_least: int | None) -> None:
        try:
            await watched.pull(at_least)
        except EventLogUnavailable as error:
            log.warning("watched_match_unavailable", match_id=watched.match_id, cause=str(error))
        except LogCorrupt:
            log.exception("watched_match_corrupt", match_id=watched.match_id)
        except Refusal as refusal:
            log.info("watched_match_refused", match_id=watched.match_id, reason=refusal.reason)

    def _appended(self, step: Step) -> None:
        watched = self._watched.get(step.match.match_id)
        if watched is not None:
            watched.take((step,))

    async def drain(self) -> None:
        """End all streams, each with a message that says where to resume, and take no new ones."""
        self._draining = True
        for watched in self._watched.values():
            watched.wake()

    async def follow(self, match_id: str, *, after: int | None, admit: Admit) -> AsyncGenerator[Update, None]:
        """Yield a match's snapshot, or the steps after version `after`, and then all that follows up to one `End`.

        Raises what `admit` raises, `MATCH_NOT_FOUND`, `VERSION_OUT_OF_RANGE`, and `SERVER_DRAINING`.
        """
        if self._draining:
            raise Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "the server is stopping; watch on another replica")
        watched = self._watched.setdefault(match_id, _Watched(match_id, self._matches))
        watched.watchers += 1
        self._open.inc()
        try:
            await watched.pull()
            admit(watched.match)
            async for update in self._updates(watched, after):
                yield update
        finally:
            self._open.dec()
            watched.watchers -= 1
            if not watched.watchers:
                self._watched.pop(match_id, None)

    async def _updates(self, watched: _Watched, after: int | None) -> AsyncIterator[Update]:
        deadline = clock.monotonic() + self._pace.max_stream_seconds
        match = watched.match
        sent = after or match.version
        if after is None:
            yield Snapshot(match)
        else:
            check_reached(after, match.version)
            for step in await self._missed(watched, after):
                yield step
                sent = step.version
        while True:
            changed = watched.changed
            steps = watched.after(sent)
            for step in steps or ():
                yield step
                sent = step.version
            if reason := self._end(watched, sent, deadline, is_slow=steps is None):
                yield End(reason, sent)
                return
            if not steps and not await self._happens(changed, deadline):
                yield Quiet(watched.version)

    async def _missed(self, watched: _Watched, after: int) -> Sequence[Step]:
        buffered = watched.after(after)
        if buffered is not None:
            return buffered
        return (await self._matches.history(watched.match_id, last=watched.version))[after:]

    def _end(self, watched: _Watched, sent: int, deadline: float, *, is_slow: bool) -> EndReason | None:
        if is_slow:
            return EndReason.SLOW_READER
        if watched.match.is_closed and watched.version == sent:
            return EndReason.MATCH_CLOSED
        if self._draining:
            return EndReason.SERVER_DRAINING
        return EndReason.MAX_AGE if clock.monotonic() >= deadline else None

    async def _happens(self, changed: asyncio.Event, deadline: float) -> bool:
        """Wait for a change, and tell whether one happened before a heartbeat was due."""
        seconds = min(self._pace.heartbeat_seconds, deadline - clock.monotonic())
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await changed.wait()
        except TimeoutError:
            return clock.monotonic() >= deadline
        return True
