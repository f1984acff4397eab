"""Resume tokens, and a log that lost or changed what somebody was told: it is never silent about that."""

from __future__ import annotations

import pytest

from promontory.eventlog.memory import MemoryEventLog
from promontory.games.transcontinental.commands import Resign
from promontory.rules.domain import Match
from promontory.rules.resuming import TOKEN_BYTES, ResumeTokens
from promontory.rules.watch import End, Pace, Snapshot, Update
from promontory.runtime.errors import Refusal
from tests.support.observing import counted
from tests.support.refereeing import Bench, next_command
from tests.support.watching import Watcher, hub_of, versions

TOKENS = ResumeTokens(b"s" * 32)
OTHERS = ResumeTokens(b"t" * 32)


def forget(log: MemoryEventLog, match: Match, *, after: int) -> None:
    """Put the log of a match back to version `after`, as a server does that comes back with older memory."""
    record = log._streams[match.match_id]
    lost = {commit.command_id for commit in record.commits[after:]}
    del record.commits[after:]
    record.made_by = {name: made for name, made in record.made_by.items() if name not in lost}


async def lost(log: MemoryEventLog, match: Match, *, after: int, until: int) -> Match:
    """Have the log forget what came after version `after`, and play another future up to version `until`."""
    forget(log, match, after=after)
    bench = Bench(log)
    match = await bench.matches.fresh(match.match_id)
    while match.version < until:
        match = (await bench.submit(match, next_command(match), request_id=f"instead-{match.version}")).step.match
    return match


async def test_a_token_tells_where_to_resume() -> None:
    """[event_log 2.6] A MAC over match, version, history and seat; the same from every replica."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=5)
    token = TOKENS.issue(match, 1)
    resume = ResumeTokens(b"s" * 32).read(token, match.match_id, 1)
    assert (len(token), resume.version, resume.fits(match.position)) == (TOKEN_BYTES, 5, True)


async def test_a_token_gives_the_head_of_the_log_away_to_nobody() -> None:
    """[event_log 5.3] The plain hash would let one try out hidden cards; all but the version is keyed."""
    match = await Bench().create()
    mine, other = TOKENS.issue(match, None), OTHERS.issue(match, None)
    assert match.position.head[:4] not in mine
    assert (mine[:4], mine[4:16] == other[4:16], mine[16:] == other[16:]) == (other[:4], False, False)


@pytest.mark.parametrize("seat", [0, 1])
async def test_a_token_of_another_seat_is_none(seat: int) -> None:
    """[BAD_REQUEST] A token binds the audience, and names the field that it came in."""
    match = await Bench().create()
    with pytest.raises(Refusal) as refusal:
        TOKENS.read(TOKENS.issue(match, None), match.match_id, seat)
    assert (refusal.value.reason, refusal.value.metadata["field"]) == ("BAD_REQUEST", "resume_token")


@pytest.mark.parametrize("forged", [b"", b"x", bytes(TOKEN_BYTES), bytes(TOKEN_BYTES + 1)])
async def test_what_was_not_issued_is_no_token(forged: bytes) -> None:
    match = await Bench().create()
    with pytest.raises(Refusal):
        TOKENS.read(forged, match.match_id, None)


@pytest.mark.parametrize("position", range(TOKEN_BYTES))
async def test_a_token_with_a_byte_changed_is_no_token(position: int) -> None:
    match = await Bench().create()
    token = bytearray(TOKENS.issue(match, 0))
    token[position] ^= 1
    with pytest.raises(Refusal):
        TOKENS.read(bytes(token), match.match_id, 0)


async def test_a_token_of_another_match_or_key_is_none() -> None:
    bench = Bench()
    one, other = await bench.create(), await bench.create(request_id="other")
    for tokens, match in ((TOKENS, other), (OTHERS, one)):
        with pytest.raises(Refusal):
            TOKENS.read(tokens.issue(match, 0), one.match_id, 0)


@pytest.mark.parametrize(("after", "until"), [(3, 3), (3, 6), (3, 8), (5, 6)])
async def test_resuming_by_a_token_tells_that_history_was_rewound(after: int, until: int) -> None:
    """[event_log 2.8] A client that saw version 6 of another history gets a fresh view that says so."""
    log = MemoryEventLog()
    match = await Bench(log).play(await Bench(log).create(), until=6)
    resume = TOKENS.read(TOKENS.issue(match, 0), match.match_id, 0)
    now = await lost(log, match, after=after, until=until)
    async with hub_of(Bench(log)) as hub:
        watcher = Watcher(hub, match, 0, resume=resume)
        told = await watcher.until(1)
        await watcher.leave()
    assert told == [Snapshot(now, rewound=True)]


async def test_resuming_by_a_token_before_what_was_lost_goes_on() -> None:
    log = MemoryEventLog()
    match = await Bench(log).play(await Bench(log).create(), until=3)
    resume = TOKENS.read(TOKENS.issue(match, 0), match.match_id, 0)
    await lost(log, await Bench(log).play(match, until=6), after=3, until=5)
    async with hub_of(Bench(log)) as hub:
        watcher = Watcher(hub, match, 0, resume=resume)
        told = await watcher.until(2)
        await watcher.leave()
    assert versions(told) == [4, 5]


@pytest.mark.parametrize(("after", "until"), [(3, 3), (3, 6), (3, 8), (5, 6)])
async def test_an_open_stream_tells_that_history_was_rewound(after: int, until: int) -> None:
    """[event_log 2.8] Every watcher gets a fresh view that says so, and then all that follows."""
    log, rewinds = MemoryEventLog(), counted("promontory_log_rewinds_total", kind="match")
    match = await Bench(log).play(await Bench(log).create(), until=6)
    async with hub_of(Bench(log), Pace(30, 60, sweep_seconds=0.01)) as hub:
        watchers = [Watcher(hub, match, seat) for seat in (0, 1)]
        [await watcher.until(1) for watcher in watchers]
        now = await lost(log, match, after=after, until=until)
        [await watcher.until(2) for watcher in watchers]
        closed = (await Bench(log).submit(now, Resign(0))).step.match
        told = [await watcher.end() for watcher in watchers]
    assert counted("promontory_log_rewinds_total", kind="match") > rewinds
    assert [[update.rewound for update in each if isinstance(update, Snapshot)] for each in told] == [[False, True]] * 2
    assert [matches_after_rewinding(each) for each in told] == [
        [step.match for step in (await Bench(log).steps(closed))[each[1].match.version - 1 :]] for each in told
    ]


def matches_after_rewinding(told: list[Update]) -> list[Match]:
    """Return the match at each version that was told from the second snapshot on."""
    return [update.match for update in told[1:] if not isinstance(update, End)]
