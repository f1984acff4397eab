"""Making the lists of matches anew from the matches' logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from promontory.api.match.v1.events_pb2 import MatchCreated
from promontory.api.match.v1.match_pb2 import ForkOrigin
from promontory.codec.outcomes import CloseReason
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, Commit, Proposed, StoredEvent
from promontory.matchmaking.listing import Ended, finished_by, live_of_game, matches_of
from promontory.matchmaking.rebuild import Rebuilt, rebuild_lists
from tests.support.closed_matches import CLOSED_AT_MS, POOL, Played, write_closed, write_open
from tests.support.halls import Hall
from tests.support.matchmaking import listed

OPEN, CLOSED = Played("open", ("ann", "bob"), ()), Played("closed", ("ann", "bob"), (2, 1))
BOTH = (OPEN.match_id, CLOSED.match_id)


async def written() -> MemoryEventLog:
    """Return a log with an open and a closed match."""
    log = MemoryEventLog()
    await write_open(log, OPEN)
    await write_closed(log, CLOSED)
    return log


async def rebuilt(hall: Hall, log: MemoryEventLog, *streams: str, torn: str = "") -> Rebuilt:
    """Rebuild the lists of `hall` from `streams` of `log`, of which `torn` cannot be read."""

    async def logs() -> AsyncIterator[tuple[str, Sequence[Commit] | None]]:
        for stream in streams:
            yield stream, None if stream == torn else await log.read(stream)

    return await rebuild_lists(hall.store, logs(), log, progress=lambda _: None)


async def ids(hall: Hall, name: str) -> list[str]:
    return [match.match_id for _, match in await hall.store.entries((name,), start=None, limit=10) if match]


async def test_lists_that_are_gone_come_back() -> None:
    """[architecture 2] Nothing but the log is the truth."""
    hall, log = Hall(), await written()
    found = await rebuilt(hall, log, *BOTH)
    assert (found.matches, found.open, found.mended, found.removed) == (2, 1, BOTH, ())
    assert await ids(hall, live_of_game("transcontinental")) == [OPEN.match_id]
    assert await ids(hall, finished_by("bob")) == [CLOSED.match_id]
    assert set(await ids(hall, matches_of("ann"))) == set(BOTH)


async def test_a_closed_match_comes_back_with_its_end() -> None:
    hall = Hall()
    await rebuilt(hall, await written(), CLOSED.match_id)
    match = await hall.store.find("ann", CLOSED.match_id)
    assert match is not None
    assert (match.ended, match.pool, match.created_ms) == (
        Ended(CloseReason.PLAYED_OUT, CLOSED_AT_MS, (2, 1), (800, 900)),
        POOL,
        CLOSED_AT_MS,
    )


async def test_lists_that_are_right_stay_as_they_are() -> None:
    hall, log = Hall(), await written()
    await rebuilt(hall, log, *BOTH)
    again = await rebuilt(hall, log, *BOTH)
    assert (again.mended, again.removed, again.unreadable) == ((), (), ())
    assert again.sentence() == "2 matches, 1 of them open; every list is as the logs say"


async def test_a_match_that_is_told_wrong_is_mended() -> None:
    hall, log = Hall(), await written()
    await hall.store.record(listed(0, match_id=OPEN.match_id, ended_ms=4))
    found = await rebuilt(hall, log, OPEN.match_id)
    assert (found.mended, await ids(hall, finished_by("ann"))) == ((OPEN.match_id,), [])
    assert f"1 mended: {OPEN.match_id}" in found.sentence()


async def test_a_match_without_a_log_is_removed() -> None:
    hall, log = Hall(), await written()
    await hall.store.record(listed(0, match_id="tc-000-gone"))
    assert (await rebuilt(hall, log, *BOTH)).removed == ("tc-000-gone",)
    assert "tc-000-gone" not in await ids(hall, matches_of("ann"))


async def test_a_match_that_was_made_meanwhile_stays() -> None:
    """The logs were gone through before it was there."""
    hall, log = Hall(), await written()
    await hall.store.record(listed(0, match_id=OPEN.match_id))
    found = await rebuilt(hall, log, CLOSED.match_id)
    assert found.removed == ()
    assert await ids(hall, live_of_game("transcontinental")) == [OPEN.match_id]


async def test_a_match_that_cannot_be_read_stays_as_it_is_listed() -> None:
    hall, log = Hall(), await written()
    await hall.store.record(listed(0, match_id=CLOSED.match_id, ended_ms=4))
    found = await rebuilt(hall, log, *BOTH, torn=CLOSED.match_id)
    assert found.unreadable == (CLOSED.match_id,)
    assert await ids(hall, finished_by("ann")) == [CLOSED.match_id]


async def test_a_match_that_ended_for_no_known_reason_cannot_be_read() -> None:
    """A log may be forged, or of a later version; the others are listed."""
    hall, log, strange = Hall(), await written(), replace(CLOSED, name="strange", reason=99)
    await write_closed(log, strange)
    found = await rebuilt(hall, log, *BOTH, strange.match_id)
    assert (found.matches, found.unreadable) == (2, (strange.match_id,))


async def test_forks_and_other_streams_are_in_no_list() -> None:
    hall, log = Hall(), await written()
    created = MatchCreated(match_id="tc-000-fork", game="transcontinental", forked_from=ForkOrigin(version=3))
    for stream, event in (("tc-000-fork", created), ("rt-000-pool", None)):
        stored = StoredEvent(MatchCreated.DESCRIPTOR.full_name, event.SerializeToString()) if event else None
        proposed = Proposed((stored or StoredEvent("x", b""),), "create", "", meta=b'{"recorded_at_ms":1}')
        await log.append(stream, proposed, expected=START)
    assert (await rebuilt(hall, log, "tc-000-fork", "rt-000-pool")).matches == 0
