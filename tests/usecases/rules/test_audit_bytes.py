"""Every kind of byte of recorded matches of every game: whatever is changed is found, and where.

Two who change a file are told apart: one who changes its bytes, and one who makes all hashes anew afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from promontory.eventlog.audit_file import CommitLine
from promontory.eventlog.port import Commit, StoredEvent
from promontory.rules import records
from promontory.rules.audit import AuditReport, audit, shipped_rulesets
from promontory.rules.conduct import Abort, Claim, Decline, Enforce
from tests.golden.record import DIRECTORY
from tests.usecases.rules.test_audit import chained, file_of

RULESETS = shipped_rulesets()
MATCHES = (
    "transcontinental/timed_out",
    "transcontinental/drawn",
    "transcontinental/aborted",
    "transcontinental/abandoned",
    "pacific/three_resigned",
    "pacific/two_cancelled",
    "railroad_dice_2/three_resigned",
)
each_match = pytest.mark.parametrize("match", MATCHES)
CREATION, CLOSING = records.MATCH_CREATED, records.MATCH_CLOSED


@cache
def raw_of(match: str) -> bytes:
    return (DIRECTORY / f"{match}.jsonl").read_bytes()


@cache
def commits_of(match: str) -> tuple[Commit, ...]:
    lines = raw_of(match).splitlines()[1:-1]
    return tuple(msgspec.json.decode(line, type=CommitLine).commit() for line in lines)


def positions(line: bytes) -> list[int]:
    """Return a position in each field's name, in each value, in each mark between them that is there, and the end."""
    pieces = re.finditer(rb'"(\\\\.|[^"\\\\])*"|[0-9]+|[\[\]{}:,]|\n', line)
    kinds = {piece.group() if len(piece.group()) < 20 else piece.start(): piece for piece in pieces}
    return sorted({piece.start() + len(piece.group()) // 2 for piece in kinds.values()})


def flips(match: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number of a line, a position in it, and the file with a bit there flipped."""
    lines, random = raw_of(match).splitlines(keepends=True), Random(match)
    for number in sorted({0, 1, len(lines) - 1, *random.sample(range(len(lines)), min(len(lines), 5))}):
        for position in positions(lines[number]):
            flipped = bytearray(lines[number])
            flipped[position] ^= 1 << random.randrange(7)
            yield number, position, b"".join([*lines[:number], bytes(flipped), *lines[number + 1 :]])


@each_match
def test_a_flipped_bit_is_found_in_its_line(match: str) -> None:
    """[event_log R18] In header, commits and footer; the header's id is part of the first hash."""
    last, found = len(commits_of(match)) + 1, [(*flip[:2], audit(flip[2], RULESETS)) for flip in flips(match)]
    expected = {0: {0, 1}, last - 1: {last - 1, 0}, last: {0}}  # the last commit's end is the footer's beginning
    wrong = [
        (number, position, report.version, report.cause)
        for number, position, report in found
        if report.ok or report.version not in expected.get(number, {number})
    ]
    assert wrong == []
    assert len(found) > 40


def forged(match: str, index: int, **changes: Any) -> AuditReport:
    """Audit a match with the commit at `index` changed and everything chained anew."""
    commits = list(commits_of(match))
    commits[index] = replace(commits[index], **changes)
    return audit(file_of(chained(commits)), RULESETS)


class Place(NamedTuple):
    """An event in a commit of a match."""

    match: str
    commit: int
    event: int


def places() -> list[Place]:
    """Return where each kind of event first happens in the matches, creations and ends left out."""
    found: dict[str, Place] = {}
    for match in MATCHES:
        for number, commit in enumerate(commits_of(match)):
            for index, event in enumerate(commit.events):
                found.setdefault(event.type, Place(match, number, index))
    return [place for kind, place in found.items() if kind not in {CREATION, CLOSING}]


def kind_of(place: Place) -> str:
    return commits_of(place.match)[place.commit].events[place.event].type.removeprefix("promontory.api.")


def flipped(event: StoredEvent, position: float) -> StoredEvent:
    """Return an event with a bit of its payload flipped, at a part of its length; an empty one gets a byte."""
    payload = bytearray(event.payload or b"\0")
    payload[int(position * len(payload))] ^= 4
    return StoredEvent(event.type, bytes(payload))


@pytest.mark.parametrize("place", places(), ids=kind_of)
def test_a_changed_event_is_found_in_its_commit_though_all_hashes_fit(place: Place) -> None:
    """Of every kind, the game's and those beside it: bits flipped, the event left out, or there twice."""
    events = commits_of(place.match)[place.commit].events
    before, event, after = events[: place.event], events[place.event], events[place.event + 1 :]
    changes = (
        [(flipped(event, part),) for part in (0, 0.5, 0.99)] + [(event, event)] + ([()] if before or after else [])
    )
    found = [forged(place.match, place.commit, events=(*before, *change, *after)) for change in changes]
    assert [(report.ok, report.version) for report in found] == [(False, place.commit + 1)] * len(changes)


@each_match
def test_a_changed_creation_is_found_though_all_hashes_fit(match: str) -> None:
    """What decides about the game: the match, its seed, its entropy, its seats, rules and data."""
    first, *rest = commits_of(match)[0].events
    created = records.restore_created(first)
    seat, *others = created.setup.seats
    changes: list[dict[str, Any]] = [
        {"match_id": created.match_id[:-1] + ("a" if created.match_id[-1] != "a" else "b")},
        {"game": "chess"},
        {"commitment": bytes(32)},
        {"rules_version": "x/1"},
        {"data_hash": bytes(32)},
        {"setup": replace(created.setup, variant="upside down")},
        {"setup": replace(created.setup, seats=tuple(others))},
        {"setup": replace(created.setup, seats=(replace(seat, client_entropy=b"?"), *others))},
    ]
    found = [forged(match, 0, events=(records.store_created(replace(created, **each)), *rest)) for each in changes]
    assert [report.ok for report in found] == [False] * len(changes)
    assert {report.version for report in found[:5]} == {1}


@each_match
def test_a_changed_end_is_found_though_all_hashes_fit(match: str) -> None:
    """Seed, reason, places and scores; the seed is checked with the commitment of the first commit."""
    last = commits_of(match)[-1]
    closed, before = records.restore_closed(last.events[-1]), last.events[:-1]
    result = closed.result
    reason = next(reason for reason in type(result.reason) if reason is not result.reason)
    placed = replace(result, places=result.places or (1,), scores=tuple(score + 1 for score in result.scores or (0,)))
    more = replace(result, places=(*result.places, 1), scores=(*result.scores, 0))
    changes = [replace(closed, result=each) for each in (replace(result, reason=reason), placed, more)]
    found = [forged(match, -1, events=(*before, records.store_closed(each))) for each in changes]
    assert [(report.ok, report.version) for report in found] == [(False, len(commits_of(match)))] * 3
    event = records.store_closed(replace(closed, server_seed=bytes(32)))
    assert forged(match, -1, events=(*before, event)).version == 1


@each_match
@pytest.mark.parametrize("number", [1, -1])
def test_a_changed_note_is_found_though_all_hashes_fit(match: str, number: int) -> None:
    """Who did it, by which command or act, when, and where that led: as far as anything follows from it."""
    index = range(len(commits_of(match)))[number]
    meta = records.decode_meta(commits_of(match)[index].meta)
    acts = [act for act in (Abort(), Decline(), Claim((0,)), Enforce()) if type(act) is not type(meta.act)]
    changes: list[dict[str, Any]] = [
        {"actor": 9},
        {"actor": None if meta.actor is not None else 0},
        {"recorded_at_ms": 1},
        {"state_hash": "0" * 32},
        {"commands": (*meta.commands, b"\xff")},
        *({"act": act} for act in acts),
    ]
    found = [forged(match, index, meta=records.encode_meta(replace(meta, **change))) for change in changes]
    assert [(report.ok, report.version) for report in found] == [(False, index + 1)] * len(changes)


@each_match
def test_lines_left_out_doubled_or_swapped_are_found_where_they_are(match: str) -> None:
    """The first line that does not continue what stands before it."""
    lines = raw_of(match).splitlines(keepends=True)
    numbers = range(1, len(lines) - 2)
    left_out = [audit(b"".join([*lines[:number], *lines[number + 1 :]]), RULESETS) for number in numbers]
    doubled = [audit(b"".join([*lines[: number + 1], *lines[number:]]), RULESETS) for number in numbers]
    swapped = [
        audit(b"".join([*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]), RULESETS)
        for number in numbers
    ]
    assert [report.version for report in left_out] == [report.version for report in swapped] == list(numbers)
    assert [report.version for report in doubled] == [number + 1 for number in numbers]


@each_match
def test_every_shorter_match_is_found_though_all_hashes_fit(match: str) -> None:
    """A match is whole, to the commit that closes it."""
    commits = commits_of(match)
    lengths = [1, len(commits) // 2, len(commits) - 1]
    found = [audit(file_of(chained(commits[:length])), RULESETS) for length in lengths]
    assert [(report.ok, report.version) for report in found] == [(False, length) for length in lengths]


def test_time_that_is_said_to_have_run_out_before_it_had_is_found() -> None:
    """[clocks] The record of the clock is moved to before the deadline, and everything chained anew."""
    match = "transcontinental/timed_out"
    index = next(i for i, commit in enumerate(commits_of(match)) if commit.command_id.startswith("clock:"))
    meta = records.decode_meta(commits_of(match)[index].meta)
    before = records.decode_meta(commits_of(match)[index - 1].meta).recorded_at_ms
    report = forged(match, index, meta=records.encode_meta(replace(meta, recorded_at_ms=before + 1)))
    assert (report.version, report.cause) == (index + 1, "no time had run out")


@each_match
def test_a_recorded_match_is_right_and_the_same_when_it_is_made_anew(match: str) -> None:
    """Before anything is changed."""
    assert audit(raw_of(match), RULESETS).ok
    assert file_of(commits_of(match)) == raw_of(match)
