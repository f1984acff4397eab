"""Reading archived matches as if they were still in the log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from promontory.archive.port import Archive, ArchiveIndex, is_archivable
from promontory.archive.segment import Segment, unpack
from promontory.eventlog.port import (
    START,
    Appended,
    ArchiveMissing,
    ArchiveUnavailable,
    Backlog,
    Claimed,
    CommandIdReused,
    Commit,
    EventLog,
    FeedNote,
    Head,
    LogCorrupt,
    Opening,
    Position,
    Proposed,
    StreamArchived,
    StreamClosed,
    StreamStatus,
)
from promontory.runtime import metrics
from promontory.runtime.recent import Recent

CACHED = 64
"""How many archived matches a process keeps in memory: who looks at one reads it in many calls."""

_OUTCOMES: dict[type[Exception], str] = {ArchiveUnavailable: "unavailable", LogCorrupt: "corrupt"}


class Shelf:
    """The archive's matches, with the last ones read at hand. They never change."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._at_hand = Recent[str, Segment](CACHED)

    async def get(self, match_id: str) -> Segment | None:
        """Return an archived match, or None. Raises `ArchiveUnavailable`, and `LogCorrupt` if its file is damaged."""
        segment = self._at_hand.get(match_id) or await self._fetch(match_id)
        if segment is not None:
            self._at_hand.keep(match_id, segment)
        return segment

    async def _fetch(self, match_id: str) -> Segment | None:
        try:
            raw = await self._archive.get(match_id)
            segment = None if raw is None else unpack(match_id, raw)
        except Exception as error:
            metrics.ARCHIVE_READS.labels(outcome=metrics.outcome_of(error, _OUTCOMES)).inc()
            raise
        metrics.ARCHIVE_READS.labels(outcome="missing" if segment is None else "read").inc()
        return segment


class ArchivedEventLog:
    """An `EventLog` in which streams that `log` gave up are closed ones like any other.

    The archive is asked only for what has the form of a match, and is not in the log. Every method may also raise
    `ArchiveUnavailable`, and `ArchiveMissing` for a match that the log gave up and the archive does not have.
    """

    def __init__(self, log: EventLog, archive: Archive, index: ArchiveIndex) -> None:
        self._log, self._shelf, self._index = log, Shelf(archive), index

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing; see `EventLog.append`.

        The log forgets a week after it gave a stream up that there was one. So one that is to begin is looked for in
        the index: a creation that is repeated after years finds the match it made.
        """
        if expected == START and is_archivable(stream) and await self._index.holds(stream):
            return await self._repeated(stream, proposed)
        try:
            return await self._log.append(stream, proposed, expected=expected)
        except StreamClosed:
            if await self._archived(stream) is None:
                raise
            return await self._repeated(stream, proposed)

    async def _repeated(self, stream: str, proposed: Proposed) -> Appended:
        segment = await self._shelf.get(stream)
        if segment is None:
            raise ArchiveMissing(stream)
        fingerprint, version = segment.find(proposed.command_id) or ("", 0)
        if not version:
            raise StreamClosed(segment.position.version)
        if fingerprint != proposed.fingerprint:
            raise CommandIdReused(version)
        return Appended(version, duplicate=True)

    async def read(self, stream: str, *, after: Position = START, limit: int | None = None) -> Sequence[Commit]:
        """Return the commits after `after`, oldest first; see `EventLog.read`."""
        try:
            commits = await self._log.read(stream, after=after, limit=limit)
        except (StreamArchived, LogCorrupt):
            # The log may have given the stream up between two of its answers, and then seem torn.
            segment = await self._archived(stream)
            if segment is None:
                raise
            return segment.after(after, limit)
        if commits or after != START:
            return commits
        segment = await self._archived(stream)
        return commits if segment is None else segment.after(after, limit)

    async def head(self, stream: str) -> Head | None:
        """Return the stream's end, or None if it has no commit."""
        head = await self._log.head(stream)
        if head is not None:
            return _as_closed(head)
        segment = await self._archived(stream)
        return None if segment is None else Head(segment.position, StreamStatus.CLOSED)

    def openings(self, code: str) -> AsyncIterator[Sequence[Opening]]:
        """Yield the open streams whose ids begin with `code`, in pages; see `EventLog.openings`."""
        return self._log.openings(code)

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of the commit `command_id` made, or None."""
        found = await self._log.find(stream, command_id)
        if found is not None:
            return found
        segment = await self._archived(stream)
        return None if segment is None else segment.find(command_id)

    async def _archived(self, stream: str) -> Segment | None:
        """Return the stream from the archive, or None if it is in the log, or nowhere."""
        if not is_archivable(stream):
            return None
        head = await self._log.head(stream)
        if head is not None and head.status is not StreamStatus.ARCHIVED:
            return None
        segment = await self._shelf.get(stream)
        if head is None:
            return segment
        if segment is None:
            raise ArchiveMissing(stream)
        if segment.position != head.position:
            raise LogCorrupt(stream, head.position.version, "the archive holds another history than the log gave up")
        return segment

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> tuple[Mapping[str, str], Sequence[FeedNote]]:
        """Return new cursors and the notes after `cursors`; see `EventLog.feed`."""
        return await self._log.feed(cursors, block_ms=block_ms)

    async def claim(self, bucket: str, *, limit: int, lease_ms: int, max_attempts: int) -> Sequence[Claimed]:
        """Hand out obligations that are due, under a lease; see `EventLog.claim`."""
        return await self._log.claim(bucket, limit=limit, lease_ms=lease_ms, max_attempts=max_attempts)

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`; nothing happens if it is gone."""
        await self._log.settle(bucket, name)

    async def oldest_due(self, bucket: str) -> int | None:
        """Return the earliest due time of the bucket's obligations in ms since the epoch, or None."""
        return await self._log.oldest_due(bucket)

    async def backlogs(self, buckets: Sequence[str]) -> Mapping[str, Backlog]:
        """Return the backlog of each of `buckets` that has an obligation; see `EventLog.backlogs`."""
        return await self._log.backlogs(buckets)


def _as_closed(head: Head) -> Head:
    return Head(head.position, StreamStatus.CLOSED) if head.status is StreamStatus.ARCHIVED else head
