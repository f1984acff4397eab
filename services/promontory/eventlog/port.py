"""The event log's port: what every adapter promises."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from struct import Struct
from typing import Protocol

import msgspec

_FRAMING = Struct(">I").pack

GENESIS = b""
"""The head hash of a stream without commits."""


class EventLogUnavailable(Exception):
    """The log did not answer: the outcome is unknown. Repeat with the same command id."""


class PartlyUnavailable(EventLogUnavailable):
    """A part of the log did not answer; `found` is what the others did."""

    def __init__(self, found: Mapping[str, Backlog], cause: EventLogUnavailable) -> None:
        super().__init__(str(cause))
        self.found = found


class VersionConflict(Exception):
    """The stream is not at the expected position; read and decide again."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the stream is at version {version}")
        self.version = version


class CommandIdReused(Exception):
    """The command id names an earlier commit with another fingerprint."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the command id belongs to commit {version}")
        self.version = version


class StreamClosed(Exception):
    """The stream's last commit closed it; it takes no more."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the stream was closed by commit {version}")
        self.version = version


class StreamArchived(Exception):
    """The stream's commits are in the archive; the log has no more of it than its head."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"{stream} is in the archive")
        self.stream = stream


class ArchiveUnavailable(EventLogUnavailable):
    """The archive did not answer; try again."""


class ArchiveMissing(Exception):
    """The log says that a stream is in the archive, and the archive does not have it."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"the archive lacks {stream}")
        self.stream = stream


class Fenced(Exception):
    """The bucket is in another epoch than the writer; nothing was written."""

    def __init__(self, fence: str) -> None:
        super().__init__(f"the bucket's fence is {fence!r}")
        self.fence = fence


class LogCorrupt(Exception):
    """A commit's stored bytes do not fit the hash chain, or a commit is missing or torn."""

    def __init__(self, stream: str, version: int, cause: str) -> None:
        super().__init__(f"{stream} does not verify at version {version}: {cause}")
        self.stream = stream
        self.version = version


class ClockSkew(Exception):
    """The caller's clock and the server's differ too much to decide what is due."""


class StoredEvent(msgspec.Struct, frozen=True):
    """One event as stored: the full proto name of its message, and the message's bytes."""

    type: str
    payload: bytes


class Position(msgspec.Struct, frozen=True):
    """A point in a stream's history: the number of its last commit (0: none) and the hash of all up to it."""

    version: int = 0
    head: bytes = GENESIS


START = Position()
"""The position before the first commit."""


class Commit(msgspec.Struct, frozen=True):
    """Events that were appended together. `meta` is the writer's own note; `head` is the 16-byte hash up to here."""

    version: int
    events: tuple[StoredEvent, ...]
    command_id: str
    meta: bytes
    head: bytes

    @property
    def position(self) -> Position:
        """The position after this commit."""
        return Position(self.version, self.head)


class StreamStatus(StrEnum):
    """Whether a stream takes commits, and whether those it has are still in the log."""

    OPEN = "open"
    CLOSED = "closed"
    ARCHIVED = "archived"


class Head(msgspec.Struct, frozen=True):
    """A stream's end: its position and status."""

    position: Position
    status: StreamStatus


class Opening(msgspec.Struct, frozen=True):
    """How an open stream begins: its id and the first event of its first commit."""

    stream: str
    first: StoredEvent


class Proposed(msgspec.Struct, frozen=True):
    """A commit to append.

    `fingerprint` stands for the content of the command: the same `command_id` with another one is refused.
    `due` sets obligations (name to delay in ms after the append, by the store's clock) or clears them (None).
    `recorded_at_ms` is the time the commit tells, if that counts: it must be the store's own, but for a small skew.
    """

    events: tuple[StoredEvent, ...]
    command_id: str
    fingerprint: str
    meta: bytes = b""
    closes: bool = False
    due: Mapping[str, int | None] = {}
    recorded_at_ms: int | None = None


class Appended(msgspec.Struct, frozen=True):
    """A durable commit's version; `duplicate` if an earlier call with the same command id made it."""

    version: int
    duplicate: bool
    head: bytes | None = None


class FeedNote(msgspec.Struct, frozen=True):
    """The feed's note that a stream got a commit.

    `due_in_ms` is how long after the commit the earliest obligation is due that it set, if it set any; 0 where an older
    writer did not tell.
    """

    stream: str
    version: int
    due_in_ms: int | None = None


MANY_NOTES = 8
"""So many notes in one read of the feeds are many: who reads them may let more gather before the next read."""


class Claimed(msgspec.Struct, frozen=True):
    """An obligation handed out under a lease.

    `attempt` counts from 1. `exhausted` once it was handed out more often than allowed: it has been parked, and what
    falls back must settle it.
    """

    name: str
    attempt: int
    exhausted: bool


class Backlog(msgspec.Struct, frozen=True):
    """A bucket's obligations: how many of them are due, and when the earliest is, in ms since the epoch."""

    due: int
    earliest_ms: int


class EventLog(Protocol):
    """Append-only streams of commits in hash-chained order, with obligations and a feed.

    A stream's id names its bucket (`bucket_of`); obligations and feed belong to the bucket. All methods may raise
    `EventLogUnavailable`.
    """

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing, durably, and return the version.

        Checks in this order: fence, command id, closed, expected position, clock. Setting an obligation anew, or
        clearing it, also forgets how often it was handed out.

        Raises:
            ValueError: `proposed` is malformed (`validate`).
            LogCorrupt: the stream holds entries beyond its head.
            Fenced: the bucket is in another epoch.
            CommandIdReused: the command id came before with another fingerprint.
            StreamClosed: the stream takes no more commits.
            VersionConflict: the stream is not at `expected`.
            ClockSkew: the commit tells another time than the server's clock.
            EventLogUnavailable: the outcome is unknown; repeat with the same command id.
        """

    async def read(self, stream: str, *, after: Position = START, limit: int | None = None) -> Sequence[Commit]:
        """Return the commits after `after`, oldest first, at most `limit`; empty if there are none.

        A short result means that there are no more. Raises `LogCorrupt` where the chain does not continue `after`, a
        commit is missing, torn or altered, or the stream ends before `after`, and `StreamArchived` where the commits
        have left the log.
        """

    async def head(self, stream: str) -> Head | None:
        """Return the stream's end, or None if it has no commit."""

    def openings(self, code: str) -> AsyncIterator[Sequence[Opening]]:
        """Yield the open streams whose ids begin with `code`, in pages and no order: a survey, as of some moment of it.

        Nothing is verified, and a stream that is opened or closed meanwhile may be missing. Costs a look at every key
        of the store, in the background of whatever else it does.
        """

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of the commit `command_id` made, or None."""

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> tuple[Mapping[str, str], Sequence[FeedNote]]:
        """Return new cursors and the notes after `cursors` (bucket to cursor), waiting up to `block_ms` for one.

        The cursor `$` stands for the feed's present end, `0` for its beginning; the new cursors are exact, also when no
        note came. An adapter may wait less than `block_ms`; 0 does not wait. Old notes may have been trimmed: the feed
        is a hint, the streams are the truth. Raises `ValueError` without cursors.
        """

    async def claim(self, bucket: str, *, limit: int, lease_ms: int, max_attempts: int) -> Sequence[Claimed]:
        """Hand out at most `limit` obligations of `bucket` that are due, longest due first, each for `lease_ms`.

        One that is not settled or cleared comes again when its lease ends; once exhausted it goes on coming, so that
        nothing is lost when what falls back dies too.

        Raises `ClockSkew` when the caller's clock and the server's differ by more than the adapter allows.
        """

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`, done or not due any more; nothing happens if it is gone."""

    async def oldest_due(self, bucket: str) -> int | None:
        """Return the earliest due time of the bucket's obligations in ms since the epoch, or None; it may be ahead."""

    async def backlogs(self, buckets: Sequence[str]) -> Mapping[str, Backlog]:
        """Return the backlog of each of `buckets` that has an obligation, due or ahead, as of the caller's clock.

        Cheap: one round trip for all of them, a second one for what is due. Raises `PartlyUnavailable` with those that
        are known.
        """


def bucket_of(stream: str) -> str:
    """Return the bucket of a stream id such as `tc-0a7-01jx…`: its first two parts, `tc:0a7`."""
    game, bucket, _ = stream.split("-", 2)
    return f"{game}:{bucket}"


def game_buckets(code: str, count: int) -> list[str]:
    """Return the `count` buckets of the game whose match ids begin with `code`: `tc:000`, `tc:001`, ..."""
    return [f"{code}:{number:03x}" for number in range(count)]


def check_cursors(cursors: Mapping[str, str]) -> None:
    """Raise `ValueError` if there is no feed to follow: that call would wait for nothing, or not wait at all."""
    if not cursors:
        raise ValueError("there is no bucket to follow")


def validate(proposed: Proposed) -> None:
    """Raise `ValueError` unless `proposed` can be appended: events, a command id, and delays that are not negative."""
    if not proposed.events:
        raise ValueError("a commit holds at least one event")
    if not proposed.command_id:
        raise ValueError("a commit has a command id")
    if any(delay is not None and delay < 0 for delay in proposed.due.values()):
        raise ValueError("an obligation's delay is not negative")


def chain(stream: str, previous: bytes, version: int, proposed: Proposed | Commit) -> bytes:
    """Return the 16-byte head hash of commit `version` over the bytes that are stored, each part framed by its length.

    Changing this makes every stored log unreadable.
    """
    number, command_id, meta, framing = b"%d" % version, proposed.command_id.encode(), proposed.meta, _FRAMING
    framed = [framing(len(previous)), previous, _framed(stream), framing(len(number)), number]
    framed += (framing(len(command_id)), command_id, framing(len(meta)), meta)
    for event in proposed.events:
        framed += (_framed(event.type), framing(len(event.payload)), event.payload)
    return hashlib.blake2b(b"".join(framed), digest_size=16).digest()


@lru_cache(maxsize=4096)
def _framed(name: str) -> bytes:
    encoded = name.encode()
    return _FRAMING(len(encoded)) + encoded
