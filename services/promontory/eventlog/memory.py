"""The event log in memory: the reference for what every adapter does, and the log of tests and short-lived play."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from promontory.eventlog.owing import Owing
from promontory.eventlog.port import (
    START,
    Appended,
    Backlog,
    Claimed,
    CommandIdReused,
    Commit,
    FeedNote,
    Head,
    LogCorrupt,
    Opening,
    Position,
    Proposed,
    StreamArchived,
    StreamClosed,
    StreamStatus,
    VersionConflict,
    bucket_of,
    chain,
    check_cursors,
    validate,
)
from promontory.eventlog.pruning import Pruning, Surrender

END = "$"


class _Stream:
    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self.made_by: dict[str, tuple[str, int]] = {}
        self.status = StreamStatus.OPEN
        self.before = START

    @property
    def position(self) -> Position:
        return self.commits[-1].position if self.commits else self.before

    def position_at(self, version: int) -> Position | None:
        if version == 0:
            return START
        return self.commits[version - 1].position if version <= len(self.commits) else None

    def give_up(self) -> None:
        self.before, self.status = self.position, StreamStatus.ARCHIVED
        self.commits, self.made_by = [], {}


class _Bucket:
    def __init__(self) -> None:
        self.feed: list[FeedNote] = []
        self.due: dict[str, int] = {}
        self.attempts: dict[str, int] = defaultdict(int)

    def forget(self, name: str) -> None:
        self.due.pop(name, None)
        self.attempts.pop(name, None)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class MemoryEventLog:
    """A `PrunableLog` with its `Owings` that lives and dies with its process.

    `clock` gives the time in ms; without one, times count from an arbitrary start instead of the epoch.
    """

    def __init__(self, *, clock: Callable[[], int] = _monotonic_ms) -> None:
        self._clock = clock
        self._streams: dict[str, _Stream] = defaultdict(_Stream)
        self._buckets: dict[str, _Bucket] = defaultdict(_Bucket)
        self._grown = asyncio.Condition()

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing; see `EventLog.append`."""
        validate(proposed)
        earlier = self._earlier(stream, proposed)
        if earlier is not None:
            return Appended(earlier, duplicate=True)
        commit = self._commit(stream, proposed, expected)
        self._oblige(self._buckets[bucket_of(stream)], proposed)
        soonest = min((delay for delay in proposed.due.values() if delay is not None), default=None)
        self._buckets[bucket_of(stream)].feed.append(FeedNote(stream, commit.version, soonest))
        async with self._grown:
            self._grown.notify_all()
        return Appended(commit.version, duplicate=False, head=commit.head)

    def _earlier(self, stream: str, proposed: Proposed) -> int | None:
        fingerprint, version = self._streams[stream].made_by.get(proposed.command_id, ("", 0))
        if version and fingerprint != proposed.fingerprint:
            raise CommandIdReused(version)
        return version or None

    def _commit(self, stream: str, proposed: Proposed, expected: Position) -> Commit:
        record = self._streams[stream]
        version = record.position.version
        if record.status is not StreamStatus.OPEN:
            raise StreamClosed(version)
        if record.position != expected:
            raise VersionConflict(version)
        head = chain(stream, expected.head, version + 1, proposed)
        commit = Commit(version + 1, proposed.events, proposed.command_id, proposed.meta, head)
        record.commits.append(commit)
        record.made_by[proposed.command_id] = (proposed.fingerprint, commit.version)
        record.status = StreamStatus.CLOSED if proposed.closes else StreamStatus.OPEN
        return commit

    def _oblige(self, bucket: _Bucket, proposed: Proposed) -> None:
        now = self._clock()
        for name, delay in proposed.due.items():
            bucket.forget(name)
            if delay is not None:
                bucket.due[name] = now + delay

    async def read(self, stream: str, *, after: Position = START, limit: int | None = None) -> Sequence[Commit]:
        """Return the commits after `after`, oldest first; see `EventLog.read`."""
        record = self._streams.get(stream, _Stream())
        if record.status is StreamStatus.ARCHIVED:
            if record.position == after:
                return ()
            raise StreamArchived(stream)
        if record.position_at(after.version) != after:
            raise LogCorrupt(stream, after.version, "the stream does not hold the position read from")
        following = record.commits[after.version :]
        return tuple(following if limit is None else following[:limit])

    async def head(self, stream: str) -> Head | None:
        """Return the stream's end, or None if it has no commit."""
        record = self._streams.get(stream, _Stream())
        return None if record.position == START else Head(record.position, record.status)

    async def openings(self, code: str) -> AsyncIterator[Sequence[Opening]]:
        """Yield the open streams whose ids begin with `code`, as one page; see `EventLog.openings`."""
        begun = [(name, record) for name, record in self._streams.items() if record.commits]
        yield [
            Opening(name, record.commits[0].events[0])
            for name, record in begun
            if name.startswith(f"{code}-") and record.status is StreamStatus.OPEN
        ]

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of the commit `command_id` made, or None."""
        return self._streams.get(stream, _Stream()).made_by.get(command_id)

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> tuple[Mapping[str, str], Sequence[FeedNote]]:
        """Return new cursors and the notes after `cursors`; see `EventLog.feed`."""
        check_cursors(cursors)
        start = {bucket: self._index(bucket, cursor) for bucket, cursor in cursors.items()}
        async with self._grown:
            try:
                async with asyncio.timeout(block_ms / 1000):
                    await self._grown.wait_for(lambda: any(self._after(start)))
            except TimeoutError:
                pass
        notes = self._after(start)
        return {bucket: str(len(self._buckets[bucket].feed)) for bucket in cursors}, notes

    def _index(self, bucket: str, cursor: str) -> int:
        return len(self._buckets[bucket].feed) if cursor == END else int(cursor)

    def _after(self, start: Mapping[str, int]) -> Sequence[FeedNote]:
        return [note for bucket, index in start.items() for note in self._buckets[bucket].feed[index:]]

    async def claim(self, bucket: str, *, limit: int, lease_ms: int, max_attempts: int) -> Sequence[Claimed]:
        """Hand out obligations that are due, under a lease; see `EventLog.claim`. The one clock cannot skew."""
        now, record = self._clock(), self._buckets[bucket]
        names = sorted((due, name) for name, due in record.due.items() if due <= now)[:limit]
        for _, name in names:
            record.due[name] = now + lease_ms
            record.attempts[name] += 1
        return [self._claimed(record, name, max_attempts) for _, name in names]

    def _claimed(self, record: _Bucket, name: str, max_attempts: int) -> Claimed:
        attempt = record.attempts[name]
        return Claimed(name, attempt, exhausted=attempt > max_attempts)

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`; nothing happens if it is gone."""
        self._buckets[bucket].forget(name)

    async def oldest_due(self, bucket: str) -> int | None:
        """Return the earliest due time of the bucket's obligations in ms by the log's clock, or None."""
        return min(self._buckets[bucket].due.values(), default=None)

    async def backlogs(self, buckets: Sequence[str]) -> Mapping[str, Backlog]:
        """Return the backlog of each of `buckets` that has an obligation; see `EventLog.backlogs`."""
        now = self._clock()
        times = {bucket: tuple(self._buckets[bucket].due.values()) for bucket in buckets}
        return {bucket: Backlog(sum(time <= now for time in due), min(due)) for bucket, due in times.items() if due}

    async def command_ids(self, stream: str) -> Mapping[str, tuple[str, int]]:
        """Return the fingerprint and the version of every commit's command id; see `PrunableLog.command_ids`."""
        return dict(self._streams.get(stream, _Stream()).made_by)

    async def prune(self, stream: str, surrender: Surrender) -> Pruning:
        """Give up the commits of `stream`; see `PrunableLog.prune`. The head is kept as long as the log."""
        record, bucket = self._streams.get(stream, _Stream()), self._buckets[bucket_of(stream)]
        if any(name in bucket.due for name in surrender.after):
            return Pruning.OWED
        if record.position != START:
            if record.status is StreamStatus.OPEN:
                return Pruning.OPEN
            if record.position != surrender.position:
                return Pruning.CONFLICT
            record.give_up()
        bucket.forget(surrender.meets)
        return Pruning.DONE

    async def owe(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Set the obligation `name` unless it is there; see `PrunableLog.owe`."""
        self._buckets[bucket].due.setdefault(name, self._clock() + delay_ms)

    async def postpone(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Have the obligation `name` due later, if it is there; see `PrunableLog.postpone`."""
        if name in self._buckets[bucket].due:
            self._buckets[bucket].due[name] = self._clock() + delay_ms

    async def owed(self, bucket: str) -> Sequence[str]:
        """Return the names of all obligations of `bucket`, the earliest due first."""
        due = self._buckets[bucket].due
        return sorted(due, key=due.__getitem__)

    async def owings(self, bucket: str) -> Sequence[Owing]:
        """Return the obligations of `bucket`, the earliest due first; see `Owings.owings`."""
        record = self._buckets[bucket]
        return [Owing(name, record.due[name], record.attempts[name]) for name in await self.owed(bucket)]

    async def renew(self, bucket: str, name: str) -> None:
        """Have the obligation `name` due now and its attempts forgotten; see `Owings.renew`."""
        self._buckets[bucket].attempts.pop(name, None)
        await self.postpone(bucket, name, delay_ms=0)

    async def closed_streams(self) -> AsyncIterator[str]:
        """Yield every closed stream whose commits are in the log; see `PrunableLog.closed_streams`."""
        for stream in [name for name, record in self._streams.items() if record.status is StreamStatus.CLOSED]:
            yield stream
