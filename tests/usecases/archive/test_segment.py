"""The file of an archived match: what it keeps, and that nothing in it can be changed unseen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promontory.archive.entries import entry_of
from promontory.archive.segment import Segment, pack, sealed, unpack, zstd
from promontory.eventlog.port import START, Commit, LogCorrupt, Position, StoredEvent, chain
from promontory.rules.audit import audit
from tests.support.archiving import MATCH, OTHERS, Depot
from tests.support.refereeing import ruleset

META = b'{"recorded_at_ms":1790000000000}'


def segment(count: int = 3, match_id: str = MATCH) -> Segment:
    """Return a match of `count` commits that no rules have made."""
    commits, head = [], b""
    for version in range(1, count + 1):
        event = StoredEvent("promontory.api.match.v1.MatchCreated", b"\x00\xff" * version)
        commit = Commit(version, (event,), f"0:{version}", META, b"")
        head = chain(match_id, head, version, commit)
        commits.append(replace(commit, head=head))
    return Segment(match_id, tuple(commits), tuple(f"print {version}" for version in range(1, count + 1)))


RAW = pack(segment())


def test_a_match_comes_back_as_it_was() -> None:
    assert unpack(MATCH, pack(segment())) == segment()


def test_the_text_is_a_line_and_the_audit_file() -> None:
    """[event_log 2.11] The file is the truth, and can be read without this code."""
    first, *body = zstd.decompress(RAW).splitlines(keepends=True)
    assert first == (
        b'{"format":"promontory-archive/1","match_id":"%s","fingerprints":["print 1","print 2","print 3"]}\n'
        % MATCH.encode()
    )
    assert b"".join(body) == segment().audit_file


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 8 * len(RAW) - 1))
def test_a_flipped_bit_is_found(bit: int) -> None:
    """[event_log R18] [LOG_CORRUPT] Any one, anywhere in the file."""
    damaged = bytearray(RAW)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(LogCorrupt):
        unpack(MATCH, bytes(damaged))


@pytest.mark.parametrize("damaged", [b"", RAW[:-1], RAW[:40], RAW + b"\n", RAW + RAW, b"no archive at all"])
def test_a_file_that_is_cut_off_or_added_to_is_found(damaged: bytes) -> None:
    with pytest.raises(LogCorrupt):
        unpack(MATCH, damaged)


def test_the_file_of_another_match_is_found() -> None:
    with pytest.raises(LogCorrupt, match="it is the file of"):
        unpack(OTHERS[1], RAW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"0:2"', b'"0:9"'),
        (b'"version":2', b'"version":3'),
        (b'"commits":3', b'"commits":4'),
        (b'["print 1","print 2","print 3"]', b'["print 1","print 2"]'),
        (b"promontory-archive/1", b"promontory-archive/2"),
        (b'"events":[', b'"events": ['),
    ],
)
def test_even_under_a_fitting_seal_parts_must_fit(old: bytes, new: bytes) -> None:
    """The hash chain of the match is the same that the log had."""
    text = zstd.decompress(RAW)
    assert old in text
    with pytest.raises(LogCorrupt):
        unpack(MATCH, sealed(zstd.compress(text.replace(old, new))))


def test_commits_are_read_from_a_position_on() -> None:
    commits = segment().commits
    assert segment().after(START) == commits
    assert segment().after(commits[0].position, limit=1) == commits[1:2]
    assert segment().after(commits[-1].position) == ()


@pytest.mark.parametrize("position", [Position(2, b"0" * 16), Position(4, b"0" * 16), Position(0, b"0")])
def test_a_position_of_another_history_is_refused(position: Position) -> None:
    """[event_log 2.3] Version and hash, as in the log."""
    with pytest.raises(LogCorrupt):
        segment().after(position)


async def test_a_real_match_s_file_holds_what_auditors_and_lists_need() -> None:
    depot = Depot()
    match = await depot.archived()
    kept = unpack(match.match_id, depot.archive.files[match.match_id])
    assert audit(kept.audit_file, [ruleset()]).ok
    assert entry_of(kept).players == ("ada", "ben")
    assert (entry_of(kept).game, entry_of(kept).ended_at_ms) == ("tc", match.updated_at_ms)
