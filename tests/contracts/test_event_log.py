"""What every adapter of the event log does, whatever it stores commits in."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promontory.archive.memory import MemoryArchive, MemoryArchiveIndex
from promontory.archive.reading import ArchivedEventLog
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import (
    START,
    Appended,
    CommandIdReused,
    Commit,
    EventLog,
    FeedNote,
    Head,
    LogCorrupt,
    Position,
    Proposed,
    StoredEvent,
    StreamClosed,
    StreamStatus,
    VersionConflict,
    bucket_of,
    chain,
)
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime.clock import now_ms
from tests.support.event_logs import EVENT, append_chain, position, proposal
from tests.support.waiting import eventually

LEASE_MS = 30
FOREVER_MS = 600_000


def _memory(_: pytest.FixtureRequest) -> MemoryEventLog:
    return MemoryEventLog(clock=now_ms)


def _redis(request: pytest.FixtureRequest) -> RedisEventLog:
    connections: Connections = request.getfixturevalue("redis_connections")
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)


def _archived(_: pytest.FixtureRequest) -> ArchivedEventLog:
    return ArchivedEventLog(MemoryEventLog(clock=now_ms), MemoryArchive(), MemoryArchiveIndex())


@pytest.fixture(params=[_memory, _redis, _archived], ids=["memory", "redis", "archived"])
def log(request: pytest.FixtureRequest, redis_connections: Connections) -> EventLog:
    make: Callable[[pytest.FixtureRequest], EventLog] = request.param
    return make(request)


@pytest.fixture
def stream(unique_stream: str) -> str:
    return unique_stream


@pytest.fixture
def bucket(stream: str) -> str:
    return bucket_of(stream)


# Appending


def test_the_chain_never_changes() -> None:
    """Stored logs verify for ever: length-framed parts, in this order, under BLAKE2b-128."""
    events = (StoredEvent("a.B", b"\x00\xff"), StoredEvent("a.C", b""))
    commit = Commit(57, events, "0:x", b"note", b"")
    assert chain("tc-0a7-a", b"\x01" * 16, 57, commit).hex() == "ebd1dbd9e93e8693753adc5f9ce9d227"


async def test_the_first_commit_is_version_1_and_chained_to_the_stream_id(log: EventLog, stream: str) -> None:
    first = await log.append(stream, proposal(), expected=START)
    assert first == Appended(1, duplicate=False, head=chain(stream, b"", 1, proposal()))


async def test_a_commit_holds_all_its_events_in_order(log: EventLog, stream: str) -> None:
    events = (EVENT, StoredEvent("promontory.api.match.v1.MatchClosed", b""), EVENT)
    made = await log.append(stream, proposal(events=events), expected=START)
    assert await log.read(stream) == (Commit(1, events, "0:first", b"meta", position(made).head),)


async def test_a_repeated_command_id_names_the_first_commit(log: EventLog, stream: str) -> None:
    first = await log.append(stream, proposal(), expected=START)
    await append_chain(log, stream, 2, after=position(first))
    assert (await log.append(stream, proposal(), expected=START)).version == 1
    assert (await log.append(stream, proposal(), expected=START)).duplicate
    assert len(await log.read(stream)) == 3


async def test_a_command_id_with_other_content_is_refused(log: EventLog, stream: str) -> None:
    await log.append(stream, proposal(), expected=START)
    with pytest.raises(CommandIdReused) as refused:
        await log.append(stream, proposal(fingerprint="other"), expected=START)
    assert refused.value.version == 1


@pytest.mark.parametrize("fingerprint", ["", "a|b", "a|7", "|", "ünï", 16 * "7c", 32 * "0a", 64 * "F", "ÿ" + 31 * "0"])
async def test_any_text_serves_as_a_fingerprint(log: EventLog, stream: str, fingerprint: str) -> None:
    await log.append(stream, proposal(fingerprint=fingerprint), expected=START)
    assert (await log.append(stream, proposal(fingerprint=fingerprint), expected=START)).duplicate
    assert await log.find(stream, "0:first") == (fingerprint, 1)


@pytest.mark.parametrize("expected", [START, Position(1, b"0" * 16), Position(3, b"0" * 16)])
async def test_an_append_at_another_position_is_refused(log: EventLog, stream: str, expected: Position) -> None:
    """The head hash counts as much as the version: a writer that knows another history must not continue this one."""
    await append_chain(log, stream, 1)
    with pytest.raises(VersionConflict) as refused:
        await log.append(stream, proposal("0:second"), expected=expected)
    assert refused.value.version == 1
    assert len(await log.read(stream)) == 1


async def test_a_closed_stream_takes_no_more(log: EventLog, stream: str) -> None:
    closed = await log.append(stream, proposal(closes=True), expected=START)
    with pytest.raises(StreamClosed):
        await log.append(stream, proposal("0:late"), expected=position(closed))
    assert await log.head(stream) == Head(position(closed), StreamStatus.CLOSED)


async def test_the_command_that_closed_a_stream_may_be_repeated(log: EventLog, stream: str) -> None:
    """The command id is checked before the stream's status, so that a lost reply can be asked for again."""
    await log.append(stream, proposal(closes=True), expected=START)
    assert (await log.append(stream, proposal(closes=True), expected=START)).duplicate


async def test_of_many_writers_one_makes_each_version(log: EventLog, stream: str) -> None:
    after = await append_chain(log, stream, 1)
    appends = (log.append(stream, proposal(f"{writer}:x"), expected=after) for writer in range(16))
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["Appended"] + ["VersionConflict"] * 15
    assert len(await log.read(stream)) == 2


async def test_one_command_id_sent_at_once_makes_one_commit(log: EventLog, stream: str) -> None:
    results = await asyncio.gather(*(log.append(stream, proposal(), expected=START) for _ in range(16)))
    assert [result.version for result in results] == [1] * 16
    assert sum(result.duplicate for result in results) == 15
    assert len(await log.read(stream)) == 1


@pytest.mark.parametrize(
    "malformed", [proposal(events=()), proposal(""), proposal(due={"bot|x": -1})], ids=["empty", "unnamed", "past"]
)
async def test_a_malformed_commit_is_refused(log: EventLog, stream: str, malformed: Proposed) -> None:
    with pytest.raises(ValueError, match=r"commit|obligation"):
        await log.append(stream, malformed, expected=START)
    assert await log.head(stream) is None


# Reading


async def test_a_stream_without_commits_is_empty(log: EventLog, stream: str) -> None:
    assert await log.read(stream) == ()
    assert await log.head(stream) is None
    assert await log.find(stream, "0:first") is None


async def test_reading_goes_on_after_a_position(log: EventLog, stream: str) -> None:
    third = await append_chain(log, stream, 3)
    await append_chain(log, stream, 2, after=third)
    assert [commit.version for commit in await log.read(stream, after=third)] == [4, 5]


@pytest.mark.parametrize(("limit", "versions"), [(0, []), (1, [1]), (3, [1, 2, 3]), (9, [1, 2, 3, 4])])
async def test_a_limit_counts_commits(log: EventLog, stream: str, limit: int, versions: Sequence[int]) -> None:
    await append_chain(log, stream, 4)
    assert [commit.version for commit in await log.read(stream, limit=limit)] == versions


async def test_the_end_read_to_is_the_head(log: EventLog, stream: str) -> None:
    end = await append_chain(log, stream, 3)
    assert (await log.read(stream))[-1].position == end
    assert await log.head(stream) == Head(end, StreamStatus.OPEN)
    assert await log.read(stream, after=end) == ()


@pytest.mark.parametrize("after", [Position(1, b"0" * 16), Position(2, b"0" * 16), Position(3, b"0" * 16)])
async def test_reading_after_a_position_the_stream_does_not_hold_fails(
    log: EventLog, stream: str, after: Position
) -> None:
    """A log that went backwards, or grew another way, is noticed by whoever remembers more of it."""
    await append_chain(log, stream, 2)
    with pytest.raises(LogCorrupt):
        await log.read(stream, after=after)


async def test_commits_of_any_number_of_events_can_be_read(log: EventLog, stream: str) -> None:
    events = [StoredEvent("a.B", index.to_bytes(2, "big")) for index in range(1_001)]
    first = await log.append(stream, proposal(events=events), expected=START)
    await append_chain(log, stream, 2, after=position(first))
    assert [len(commit.events) for commit in await log.read(stream)] == [1_001, 1, 1]


async def test_a_payload_of_a_megabyte_can_be_read(log: EventLog, stream: str) -> None:
    event = StoredEvent("a.B", bytes(range(256)) * 4_096)
    await log.append(stream, proposal(events=[event]), expected=START)
    assert (await log.read(stream))[0].events == (event,)


# Obligations


async def test_an_obligation_is_handed_out_once_within_its_lease(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(due={"bot|x|0|1": 0}), expected=START)
    (claimed,) = await log.claim(bucket, limit=10, lease_ms=FOREVER_MS, max_attempts=5)
    assert (claimed.name, claimed.attempt, claimed.exhausted) == ("bot|x|0|1", 1, False)
    assert await log.claim(bucket, limit=10, lease_ms=FOREVER_MS, max_attempts=5) == []


async def test_an_obligation_comes_again_when_its_lease_ends(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(due={"bot|x|0|1": 0}), expected=START)
    await log.claim(bucket, limit=1, lease_ms=LEASE_MS, max_attempts=5)
    (again,) = await eventually(lambda: log.claim(bucket, limit=1, lease_ms=LEASE_MS, max_attempts=5))
    assert (again.attempt, again.exhausted) == (2, False)


async def test_an_exhausted_obligation_comes_until_it_is_settled(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(due={"bot|x|0|1": 0}), expected=START)
    await log.claim(bucket, limit=1, lease_ms=0, max_attempts=1)
    (second,) = await eventually(lambda: log.claim(bucket, limit=1, lease_ms=0, max_attempts=1))
    (third,) = await eventually(lambda: log.claim(bucket, limit=1, lease_ms=0, max_attempts=1))
    assert (second.exhausted, third.exhausted) == (True, True)
    await log.settle(bucket, "bot|x|0|1")
    assert await log.oldest_due(bucket) is None


async def test_the_longest_due_obligations_come_first(log: EventLog, stream: str, bucket: str) -> None:
    first = await log.append(stream, proposal(due={"b": 1, "z": 0}), expected=START)
    await log.append(stream, proposal("0:second", due={"a": 2}), expected=position(first))
    await eventually(lambda: _due(log, bucket, 3))
    claimed = await log.claim(bucket, limit=3, lease_ms=0, max_attempts=5)
    assert [each.name for each in claimed] == ["z", "b", "a"]


async def test_an_obligation_with_a_delay_is_not_due_yet(log: EventLog, stream: str, bucket: str) -> None:
    before = now_ms()
    await log.append(stream, proposal(due={"bot|x|0|1": FOREVER_MS}), expected=START)
    assert await log.claim(bucket, limit=1, lease_ms=LEASE_MS, max_attempts=5) == []
    due = await log.oldest_due(bucket)
    assert due is not None
    assert before + FOREVER_MS <= due + 1_000


async def test_a_commit_clears_an_obligation_and_forgets_its_attempts(log: EventLog, stream: str, bucket: str) -> None:
    after = position(await log.append(stream, proposal("0:1", due={"bot|x": 0, "tally|x": 0}), expected=START))
    await log.claim(bucket, limit=2, lease_ms=FOREVER_MS, max_attempts=5)
    after = position(await log.append(stream, proposal("0:2", due={"bot|x": None, "tally|x": None}), expected=after))
    assert await log.oldest_due(bucket) is None
    await log.append(stream, proposal("0:3", due={"bot|x": 0}), expected=after)
    (claimed,) = await log.claim(bucket, limit=2, lease_ms=FOREVER_MS, max_attempts=5)
    assert claimed.attempt == 1


async def test_a_refused_commit_sets_no_obligation(log: EventLog, stream: str, bucket: str) -> None:
    with pytest.raises(VersionConflict):
        await log.append(stream, proposal(due={"bot|x": 0}), expected=Position(1, b"0" * 16))
    assert await log.oldest_due(bucket) is None


async def test_a_repeated_command_does_not_set_its_obligation_again(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(due={"bot|x": 0}), expected=START)
    await log.settle(bucket, "bot|x")
    await log.append(stream, proposal(due={"bot|x": 0}), expected=START)
    assert await log.oldest_due(bucket) is None


async def test_settling_what_is_gone_changes_nothing(log: EventLog, bucket: str) -> None:
    await log.settle(bucket, "tally|x")
    assert await log.oldest_due(bucket) is None


async def test_backlogs_tell_what_is_due_and_when_the_earliest_is(log: EventLog, stream: str, bucket: str) -> None:
    before = now_ms()
    await log.append(stream, proposal(due={"a": 0, "b": 0, "c": FOREVER_MS}), expected=START)
    await eventually(lambda: _due(log, bucket, 2))
    (backlog,) = (await log.backlogs(["tc:none", bucket])).values()
    assert before - 1_000 <= backlog.earliest_ms <= now_ms() + 1_000
    await log.claim(bucket, limit=2, lease_ms=FOREVER_MS, max_attempts=5)
    claimed = (await log.backlogs([bucket]))[bucket]
    assert (claimed.due, claimed.earliest_ms > backlog.earliest_ms) == (0, True)


async def _due(log: EventLog, bucket: str, count: int) -> bool:
    return (await log.backlogs([bucket]))[bucket].due == count


async def test_buckets_without_obligations_have_no_backlog(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(), expected=START)
    assert (await log.backlogs([bucket]), await log.backlogs([])) == ({}, {})


async def test_two_claimers_share_the_obligations(log: EventLog, stream: str, bucket: str) -> None:
    await log.append(stream, proposal(due={f"bot|{number}": 0 for number in range(60)}), expected=START)
    claims = (log.claim(bucket, limit=10, lease_ms=FOREVER_MS, max_attempts=5) for _ in range(8))
    names = [claimed.name for batch in await asyncio.gather(*claims) for claimed in batch]
    assert len(names) == len(set(names)) == 60


# The feed


async def test_the_feed_tells_of_every_commit(log: EventLog, stream: str, bucket: str) -> None:
    await append_chain(log, stream, 3)
    _, notes = await log.feed({bucket: "0"}, block_ms=0)
    assert notes == [FeedNote(stream, 1), FeedNote(stream, 2), FeedNote(stream, 3)]


@pytest.mark.parametrize(
    ("due", "told"), [({"a": 700, "b": 300}, 300), ({"a": 0, "b": None}, 0), ({"a": None}, None), ({}, None)]
)
async def test_the_feed_tells_when_the_earliest_obligation_of_a_commit_is_due(
    log: EventLog, stream: str, bucket: str, due: dict[str, int | None], told: int | None
) -> None:
    """So that nobody looks for it before, nor for what was not set."""
    await log.append(stream, proposal(due=due), expected=START)
    assert (await log.feed({bucket: "0"}, block_ms=0))[1] == [FeedNote(stream, 1, told)]


async def test_the_feed_goes_on_after_its_cursors(log: EventLog, stream: str, bucket: str) -> None:
    after = await append_chain(log, stream, 2)
    cursors, _ = await log.feed({bucket: "0"}, block_ms=0)
    await append_chain(log, stream, 1, after=after)
    cursors, notes = await log.feed(cursors, block_ms=0)
    assert notes == [FeedNote(stream, 3)]
    assert await log.feed(cursors, block_ms=0) == (cursors, [])


async def test_a_cursor_at_the_end_misses_nothing_that_follows(log: EventLog, stream: str, bucket: str) -> None:
    after = await append_chain(log, stream, 1)
    cursors, notes = await log.feed({bucket: "$"}, block_ms=1)
    assert notes == []
    await append_chain(log, stream, 1, after=after)
    _, notes = await log.feed(cursors, block_ms=0)
    assert notes == [FeedNote(stream, 2)]


async def test_one_wait_serves_many_buckets(log: EventLog, stream: str, bucket: str) -> None:
    cursors, _ = await log.feed({bucket: "$", f"{bucket}2": "$", f"{bucket}3": "$"}, block_ms=0)
    waiting = asyncio.create_task(log.feed(cursors, block_ms=10_000))
    other = f"{stream.removesuffix('-a')}2-a"
    await append_chain(log, other, 1)
    after, notes = await asyncio.wait_for(waiting, 10)
    assert notes == [FeedNote(other, 1)]
    assert after.keys() == cursors.keys()
    assert after[bucket] == cursors[bucket]


async def test_following_no_bucket_is_refused(log: EventLog) -> None:
    with pytest.raises(ValueError, match="no bucket"):
        await log.feed({}, block_ms=10)


# All adapters agree

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
events = st.builds(StoredEvent, type=texts, payload=st.binary(max_size=200))
proposals = st.builds(
    Proposed,
    events=st.lists(events, min_size=1, max_size=4).map(tuple),
    command_id=texts.filter(bool),
    fingerprint=texts,
    meta=st.binary(max_size=20),
    due=st.dictionaries(texts, st.none() | st.integers(0, 10), max_size=3),
)


async def _replay(log: EventLog, stream: str, history: Sequence[Proposed]) -> list[object]:
    """Append `history`, each at the head, and return what came of it and what is read then."""
    outcomes: list[object] = []
    for proposed in history:
        head = await log.head(stream)
        try:
            outcome = await log.append(stream, proposed, expected=head.position if head else START)
        except CommandIdReused as refused:
            outcomes.append(refused.version)
        else:
            outcomes.append(outcome)
    return [*outcomes, await log.read(stream), await log.head(stream)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(proposals, max_size=6))
async def test_memory_and_redis_agree_on_any_history(
    redis_connections: Connections, history: Sequence[Proposed]
) -> None:
    stream = f"tc-{uuid.uuid4().hex}-a"
    stored = RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=now_ms)
    assert await _replay(stored, stream, history) == await _replay(MemoryEventLog(), stream, history)


async def test_the_open_streams_of_a_code_are_found_by_how_they_begin(log: EventLog) -> None:
    """Once each, whatever bucket they are in; closed ones, and those of another code, are not."""
    code = f"x{uuid.uuid4().hex[:12]}"
    begun = [f"{code}-{number % 4:03x}-m{number}" for number in range(30)]
    ends = [await append_chain(log, stream, 2) for stream in (*begun, f"y{code}-000-m")]
    await log.append(begun[0], proposal("end", closes=True), expected=ends[0])
    found = [opening async for page in log.openings(code) for opening in page]
    assert sorted(opening.stream for opening in found) == sorted(begun[1:])
    assert {opening.first for opening in found} == {EVENT}
