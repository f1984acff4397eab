"""The event log on Redis Streams: entry ids are `<commit>-<index>`, and one server-side function makes a commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, lru_cache, partial
from time import monotonic
from typing import Any

import msgspec
from redis.asyncio import Redis

from promontory.eventlog.entries import Assembler
from promontory.eventlog.fingerprints import made_by, packed
from promontory.eventlog.functions import event_log_library, verify_library
from promontory.eventlog.port import (
    GENESIS,
    START,
    Appended,
    Backlog,
    Claimed,
    ClockSkew,
    CommandIdReused,
    Commit,
    EventLogUnavailable,
    FeedNote,
    Fenced,
    Head,
    LogCorrupt,
    Opening,
    PartlyUnavailable,
    Position,
    Proposed,
    StoredEvent,
    StreamArchived,
    StreamClosed,
    StreamStatus,
    VersionConflict,
    bucket_of,
    chain,
    check_cursors,
    validate,
)
from promontory.eventlog.pruning import KEPT_SECONDS, Pruning, Surrender
from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_cluster import ClusterRedis, primaries
from promontory.eventlog.redis_feeds import Feeds, OneCall, OneCallANode
from promontory.eventlog.redis_server import Vitals, check_policy, connect, vitals, worst
from promontory.eventlog.resending import Resending

BUCKETS_KEY = "promontory:buckets"
FIRST_EPOCH = "1"
RECOVERING = "!"
PAGE_ENTRIES = 200
SURVEY_PAGE_KEYS = 1000
SCAN_PAGE = 500

_STATUSES = {status.encode(): status for status in StreamStatus}
_PRUNINGS = {b"OK": Pruning.DONE, b"OPEN": Pruning.OPEN, b"OWED": Pruning.OWED, b"CONFLICT": Pruning.CONFLICT}


class BucketsShrunk(Exception):
    """There are matches in more buckets than the settings name."""

    def __init__(self, noted: int, count: int) -> None:
        super().__init__(
            f"matches are spread over {noted} buckets here, not {count}: set PROMONTORY_BUCKETS={noted} or more"
        )


class Tuning(msgspec.Struct, frozen=True):
    """How the adapter behaves.

    A call is made at most `attempts` times, the last within `deadline_seconds` after the first failed. Nothing is
    claimed or recorded when clocks differ by more than `max_skew_ms`. A bucket's feed keeps about `feed_notes`. A wait
    for the feed ends after `max_block_ms` at the latest, which must be less than the blocking client's socket timeout.
    """

    attempts: int = 3
    deadline_seconds: float = 4.0
    max_skew_ms: int = 5_000
    feed_notes: int = 10_000
    max_block_ms: int = 10_000


def _key(bucket: str, name: str) -> str:
    """Return the key `name` of `bucket`; all of a bucket's keys share a hash tag, so they lie on one node."""
    return f"{{{bucket}}}:{name}"


@cache
def _feed_key(bucket: str) -> str:
    return _key(bucket, "feed")


def _bucket(key: str) -> str:
    """Return the bucket in whose hash tag `key` lies."""
    return key[1 : key.index("}")]


class _Keys:
    """The keys of one stream."""

    def __init__(self, stream: str) -> None:
        bucket = bucket_of(stream)
        own = ("log", "head", "idem", "snap")
        self.log, self.head, self.idem, self.snap = (_key(bucket, f"m:{stream}:{part}") for part in own)
        self.feed, self.due, self.fence, self.tries = (_key(bucket, part) for part in ("feed", "due", "fence", "tries"))


@lru_cache(maxsize=2048)
def _keys(stream: str) -> _Keys:
    return _Keys(stream)


class RedisEventLog:
    """A `PrunableLog` in Redis 7 or Valkey: one server, a primary with replicas, or a cluster.

    `client` serves commands, `blocking` only waits for the feed: with a timeout longer than it waits
    (`redis_server.connect` gives both). `clock` is this process's own time in ms since the epoch.
    """

    def __init__(
        self, client: Redis, *, blocking: Redis, clock: Callable[[], int], tuning: Tuning | None = None
    ) -> None:
        self._tuning = tuning or Tuning()
        self._client = client
        self._caller = self._caller_of(client)
        self._waiter = self._caller_of(blocking)
        self._resending = Resending(self, monotonic)
        self._mended = 0
        self._mending: asyncio.Task[None] | None = None
        self._clock = clock
        self._functions = event_log_library()
        self._feeds = self._feeds_of(blocking)
        self._fences: dict[str, str] = {}

    @property
    def caller(self) -> Caller:
        """The calls to its server, for what is kept beside the log."""
        return self._caller

    def _caller_of(self, client: Redis) -> Caller:
        return Caller(client, attempts=self._tuning.attempts, deadline_seconds=self._tuning.deadline_seconds)

    def _feeds_of(self, blocking: Redis) -> Feeds:
        if isinstance(blocking, ClusterRedis):
            news = self._functions.function("news")
            return OneCallANode(self._caller, self._waiter, news=news, longest_ms=self._tuning.max_block_ms)
        return OneCall(self._waiter)

    async def start(self) -> None:
        """Return if the server has the functions this log calls, else raise `functions.LibraryMissing`."""
        await self._caller.call(lambda: verify_library(self._client, self._functions))

    async def vitals(self) -> Vitals:
        """Return how the server is."""
        servers = await self._caller.call(lambda: primaries(self._client))
        return worst([vitals(await self._caller.call(partial(each.info, "everything"))) for each in servers])

    async def agree_on_buckets(self, count: int) -> None:
        """Note that matches are spread over `count` buckets from now on.

        Raises `BucketsShrunk` if there were more before: matches in the others would wait for ever.
        """
        noted = int(await self._caller.command("GET", BUCKETS_KEY) or 0)
        if count < noted:
            raise BucketsShrunk(noted, count)
        if count > noted:
            await self._caller.command("SET", BUCKETS_KEY, count)

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing; see `EventLog.append`.

        The epoch is learnt from the bucket: a commit refused as fenced is offered once more in the present epoch. So it
        is where the log went back, once it has what this process was acknowledged before.
        """
        validate(proposed)
        try:
            appended = await self.append_once(stream, proposed, expected=expected)
        except VersionConflict as conflict:
            if conflict.version >= expected.version or not await self._resending.offer(stream):
                raise
            appended = await self.append_once(stream, proposed, expected=expected)
        if appended.version == expected.version + 1:
            head = appended.head or chain(stream, expected.head, appended.version, proposed)
            self._resending.keep(stream, proposed, expected=expected, position=Position(appended.version, head))
        self._mend()
        return appended

    async def append_once(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing to the stream as it is, though it may have gone back."""
        bucket, head = bucket_of(stream), chain(stream, expected.head, expected.version + 1, proposed)
        submission = self._submission(stream, proposed, expected, head)
        fence = self._fences.get(bucket) or await self._handshake(bucket)
        reply = await self._submit(stream, fence, submission)
        if reply[0] == b"FENCED":
            reply = await self._submit(stream, await self._handshake(bucket), submission)
        return _outcome(stream, reply, head)

    def _mend(self) -> None:
        """Offer again, beside all else, what may have been lost while calls were not answered."""
        lost = self._caller.unanswered + self._waiter.unanswered
        if lost != self._mended and (self._mending is None or self._mending.done()):
            self._mended = lost
            self._mending = asyncio.create_task(self._offer_all())

    async def _offer_all(self) -> None:
        try:
            await self._resending.offer_all()
        except EventLogUnavailable:
            self._mended = -1  # once more, when it answers

    async def positions(self, streams: Sequence[str]) -> Sequence[Position]:
        """Return where each of `streams` ends."""
        heads = await self._pipeline(("HMGET", _keys(stream).head, "v", "h", "s") for stream in streams)
        return [_position(head) for head in heads]

    async def _handshake(self, bucket: str) -> str:
        """Return the bucket's epoch, which begins with the first handshake of all; refuse one in recovery."""
        key = _key(bucket, "fence")
        held: Any = await self._caller.call(lambda: self._client.set(key, FIRST_EPOCH, nx=True, get=True))
        fence = held.decode() if held else FIRST_EPOCH
        if fence.endswith(RECOVERING):
            self._fences.pop(bucket, None)
            raise Fenced(fence)
        self._fences[bucket] = fence
        return fence

    def _submission(self, stream: str, proposed: Proposed, expected: Position, head: bytes) -> list[Any]:
        status = StreamStatus.CLOSED if proposed.closes else StreamStatus.OPEN
        return [
            *(expected.version, expected.head, proposed.command_id, packed(proposed.fingerprint), head, status.value),
            *(proposed.meta, stream, self._tuning.feed_notes),
            *("" if proposed.recorded_at_ms is None else proposed.recorded_at_ms, self._tuning.max_skew_ms),
            len(proposed.events),
            *(part for event in proposed.events for part in (event.type, event.payload)),
            len(proposed.due),
            *(part for name, delay in proposed.due.items() for part in (name, "" if delay is None else delay)),
        ]

    async def _submit(self, stream: str, fence: str, submission: Iterable[Any]) -> Any:
        keys = _keys(stream)
        names = (keys.log, keys.head, keys.idem, keys.feed, keys.due, keys.fence, keys.tries)
        return await self._function("append", names, fence, *submission)

    async def _function(self, name: str, keys: Sequence[str], *arguments: Any) -> Any:
        return await self._caller.command("FCALL", self._functions.function(name), len(keys), *keys, *arguments)

    async def read(self, stream: str, *, after: Position = START, limit: int | None = None) -> Sequence[Commit]:
        """Return the commits after `after`, oldest first; see `EventLog.read`."""
        try:
            return await self._read(stream, after, limit)
        except LogCorrupt:
            if not await self._resending.offer(stream):
                raise
            return await self._read(stream, after, limit)

    async def _read(self, stream: str, after: Position, limit: int | None) -> Sequence[Commit]:
        keys, last = _keys(stream), "+" if limit is None else after.version + limit
        head, page = await self._caller.pipeline(
            ("HMGET", keys.head, "v", "h", "s"),
            ("XRANGE", keys.log, f"{after.version + 1}-0", last, "COUNT", PAGE_ENTRIES),
        )
        end = _position(head)
        if head[2] == b"archived" and after != end:
            raise StreamArchived(stream)
        _check_start(stream, after, end, has_entries=bool(page))
        assembler, commits = Assembler(stream, after), list[Commit]()
        wanted = min(end.version, after.version + limit) if limit is not None else end.version
        while page:
            commits += assembler.take(page, until=wanted)
            page = await self._page(keys.log, page[-1][0], last) if assembler.position.version < wanted else ()
        _check_end(assembler, wanted, end)
        return tuple(commits)

    async def _page(self, key: str, after: bytes, last: int | str) -> Any:
        """Return the next entries after the entry `after`, up to all of commit `last`."""
        return await self._caller.command("XRANGE", key, b"(" + after, last, "COUNT", PAGE_ENTRIES)

    async def head(self, stream: str) -> Head | None:
        """Return the stream's end, or None if it has no commit."""
        fields = await self._caller.command("HMGET", _keys(stream).head, "v", "h", "s")
        if fields[0] is None:
            return None
        return Head(_position(fields), _STATUSES.get(fields[2], StreamStatus.CLOSED))

    async def openings(self, code: str) -> AsyncIterator[Sequence[Opening]]:
        """Yield the open streams whose ids begin with `code`, each once, in pages; see `EventLog.openings`."""
        seen = set[str]()
        async for keys in self._caller.keys(f"{{{code}:*}}:m:*:head", page=SURVEY_PAGE_KEYS):
            streams = {key.decode().split(":", 3)[3].removesuffix(":head") for key in keys} - seen
            seen |= streams
            yield await self._openings(sorted(streams))

    async def _openings(self, streams: Sequence[str]) -> Sequence[Opening]:
        statuses = await self._pipeline(("HGET", _keys(stream).head, "s") for stream in streams)
        is_open = StreamStatus.OPEN.value.encode()
        wanted = [stream for stream, status in zip(streams, statuses, strict=True) if status == is_open]
        firsts = await self._pipeline(("XRANGE", _keys(stream).log, "-", "+", "COUNT", 1) for stream in wanted)
        found = ((stream, page[0][1]) for stream, page in zip(wanted, firsts, strict=True) if page)
        return [Opening(stream, StoredEvent(fields[b"t"].decode(), fields[b"d"])) for stream, fields in found]

    async def _pipeline(self, commands: Iterable[tuple[Any, ...]]) -> Sequence[Any]:
        commands = list(commands)
        return await self._caller.pipeline(*commands) if commands else ()

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of the commit `command_id` made, or None."""
        made = await self._caller.command("HGET", _keys(stream).idem, command_id)
        return None if made is None else made_by(made)

    async def feed(self, cursors: Mapping[str, str], *, block_ms: int) -> tuple[Mapping[str, str], Sequence[FeedNote]]:
        """Return new cursors and the notes after `cursors`; see `EventLog.feed`."""
        check_cursors(cursors)
        start = {**cursors, **await self._ends(cursors)} if "$" in cursors.values() else cursors
        ends = dict(zip(map(_feed_key, start), start.values(), strict=True))
        read = await self._feeds.read(ends, block_ms=min(block_ms, self._tuning.max_block_ms))
        self._mend()
        notes = [_note(fields) for page in read.values() for _, fields in page]
        return {**start, **{_bucket(key): page[-1][0].decode() for key, page in read.items()}}, notes

    async def _ends(self, cursors: Mapping[str, str]) -> Mapping[str, str]:
        """Return where those feeds end that are to be read from their ends on."""
        buckets = [bucket for bucket, cursor in cursors.items() if cursor == "$"]
        pages = await self._caller.pipeline(
            *(("XREVRANGE", _feed_key(bucket), "+", "-", "COUNT", 1) for bucket in buckets)
        )
        return {bucket: page[0][0].decode() if page else "0-0" for bucket, page in zip(buckets, pages, strict=True)}

    async def claim(self, bucket: str, *, limit: int, lease_ms: int, max_attempts: int) -> Sequence[Claimed]:
        """Hand out obligations that are due, under a lease; see `EventLog.claim`.

        A claim whose reply was lost is repeated: what the first one took comes again after its lease.
        """
        keys = [_key(bucket, part) for part in ("due", "tries", "park")]
        clocks = (self._clock(), self._tuning.max_skew_ms)
        status, *rest = await self._function("claim", keys, limit, lease_ms, *clocks, max_attempts)
        if status == b"CLOCK_SKEW":
            raise ClockSkew(f"the server's clock shows {int(rest[0])} ms, this process's {clocks[0]} ms")
        attempts = zip(rest[::2], map(int, rest[1::2]), strict=True)
        return [Claimed(name.decode(), attempt, exhausted=attempt > max_attempts) for name, attempt in attempts]

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`; nothing happens if it is gone."""
        await self._function("settle", [_key(bucket, part) for part in ("due", "tries")], name)

    async def oldest_due(self, bucket: str) -> int | None:
        """Return the earliest due time of the bucket's obligations in ms since the epoch, or None."""
        first = await self._caller.command("ZRANGE", _key(bucket, "due"), 0, 0, "WITHSCORES")
        return int(float(first[1])) if first else None

    async def backlogs(self, buckets: Sequence[str]) -> Mapping[str, Backlog]:
        """Return the backlog of each of `buckets` that has an obligation; see `EventLog.backlogs`."""
        if not buckets:
            return {}
        names = {_key(bucket, "due"): bucket for bucket in buckets}
        groups = await self._caller.by_node(tuple(names))
        answers = await asyncio.gather(*(self._backlogs(keys) for keys in groups), return_exceptions=True)
        found = {names[key]: each for answer in answers if isinstance(answer, Mapping) for key, each in answer.items()}
        for answer in answers:
            if isinstance(answer, EventLogUnavailable) and len(groups) > 1:
                raise PartlyUnavailable(found, answer)
            if isinstance(answer, BaseException):
                raise answer
        return found

    async def _backlogs(self, keys: Sequence[str]) -> Mapping[str, Backlog]:
        firsts = await self._caller.pipeline(*(("ZRANGE", key, 0, 0, "WITHSCORES") for key in keys))
        earliest = {key: int(float(first[1])) for key, first in zip(keys, firsts, strict=True) if first}
        now = self._clock()
        late = [key for key, due_ms in earliest.items() if due_ms <= now]
        counts = await self._pipeline(("ZCOUNT", key, "-inf", now) for key in late)
        due = dict(zip(late, counts, strict=True))
        return {key: Backlog(due.get(key, 0), due_ms) for key, due_ms in earliest.items()}

    async def command_ids(self, stream: str) -> Mapping[str, tuple[str, int]]:
        """Return the fingerprint and the version of every commit's command id; see `PrunableLog.command_ids`."""
        fields = await self._caller.command("HGETALL", _keys(stream).idem)
        return {name.decode(): made_by(made) for name, made in _pairs(fields).items()}

    async def prune(self, stream: str, surrender: Surrender) -> Pruning:
        """Give up the commits of `stream`; see `PrunableLog.prune`."""
        keys = _keys(stream)
        names = (keys.log, keys.head, keys.idem, keys.snap, keys.due, keys.tries)
        position = surrender.position
        what = (position.version, position.head, surrender.location, KEPT_SECONDS, surrender.meets, *surrender.after)
        (answer,) = await self._function("prune", names, *what)
        return _PRUNINGS[answer]

    async def owe(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Set the obligation `name` unless it is there; see `PrunableLog.owe`."""
        await self._function("owe", [_key(bucket, "due")], name, delay_ms, "NX")

    async def postpone(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """Have the obligation `name` due later, if it is there; see `PrunableLog.postpone`."""
        await self._function("owe", [_key(bucket, "due")], name, delay_ms, "XX")

    async def owed(self, bucket: str) -> Sequence[str]:
        """Return the names of all obligations of `bucket`, the earliest due first."""
        return [name.decode() for name in await self._caller.command("ZRANGE", _key(bucket, "due"), 0, -1)]

    async def closed_streams(self) -> AsyncIterator[str]:
        """Yield every closed stream whose commits are in the log; see `PrunableLog.closed_streams`."""
        async for keys in self._caller.keys("{*}:m:*:head", page=SCAN_PAGE):
            statuses = await self._caller.pipeline(*(("HGET", key, "s") for key in keys)) if keys else []
            for key, status in zip(keys, statuses, strict=True):
                if status == b"closed":
                    yield key.decode().split(":")[-2]


@asynccontextmanager
async def open_log(
    url: str, *, clock: Callable[[], int], require_aof: bool, tuning: Tuning | None = None
) -> AsyncIterator[RedisEventLog]:
    """Give the log in the server at `url`, over connections that are closed in the end; see `RedisEventLog`.

    Raises:
        UnsafeServer: the server would lose matches; only with `require_aof` if it would in a restart.
        LibraryMissing: it lacks the functions; `promontory load-functions` loads them.
    """
    async with connect(url) as connections:
        await check_policy(connections.commands, require_aof=require_aof)
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock, tuning=tuning)
        await log.start()
        yield log


def _note(fields: Mapping[bytes, bytes]) -> FeedNote:
    due_in_ms = fields.get(b"d", b"0")
    return FeedNote(fields[b"r"].decode(), int(fields[b"v"]), int(due_in_ms) if due_in_ms else None)


def _position(head: Sequence[bytes | None]) -> Position:
    version, digest, _ = head
    return START if version is None else Position(int(version), digest or GENESIS)


def _check_start(stream: str, after: Position, end: Position, *, has_entries: bool) -> None:
    if end.version < after.version or (end.version == after.version and end.head != after.head):
        raise LogCorrupt(stream, after.version, "the stream does not hold the position read from")
    if end == START and has_entries:
        raise LogCorrupt(stream, 1, "the stream has entries but no head")


def _check_end(assembler: Assembler, wanted: int, end: Position) -> None:
    if assembler.position.version < wanted or not assembler.is_between_commits:
        raise assembler.corrupt("the log ends before its head")
    if wanted == end.version and assembler.position != end:
        raise assembler.corrupt("the head's hash is not that of the last commit")


def _outcome(stream: str, reply: Sequence[bytes], head: bytes) -> Appended:
    match reply:
        case [b"OK", version]:
            return Appended(int(version), duplicate=False, head=head)
        case [b"DUP", version]:
            return Appended(int(version), duplicate=True)
        case [b"KEY_REUSED", version]:
            raise CommandIdReused(int(version))
        case [b"CLOSED", version]:
            raise StreamClosed(int(version))
        case [b"CONFLICT", version]:
            raise VersionConflict(int(version))
        case [b"FENCED", fence]:
            raise Fenced(fence.decode())
        case [b"CLOCK_SKEW", now]:
            raise ClockSkew(f"the server's clock shows {int(now)} ms, the commit tells another time")
        case [b"CORRUPT", version]:
            raise LogCorrupt(stream, int(version), "the log holds entries beyond its head")
    raise ValueError(f"the append function answered {reply[:1]!r}")


def _pairs(reply: Mapping[bytes, bytes] | Sequence[bytes]) -> Mapping[bytes, bytes]:
    """Return a hash as a mapping: the client makes one of some replies only."""
    return reply if isinstance(reply, Mapping) else dict(zip(reply[::2], reply[1::2], strict=True))
