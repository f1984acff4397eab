"""The audit of exported matches: nothing that was changed passes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from promontory.api.transcontinental.v1 import events_pb2
from promontory.bots.pacific import play_at_random
from promontory.codec.stored import canonical
from promontory.eventlog.audit_file import audit_lines
from promontory.eventlog.port import GENESIS, Commit, StoredEvent, chain
from promontory.games.transcontinental.commands import EndWork, Resign
from promontory.rules import records
from promontory.rules.audit import AuditReport, audit, audit_file, shipped_rulesets
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime.chunks import chunks
from tests.support.own_decks import digest, own_deck
from tests.support.refereeing import HOUSE_FIRST, RELAY, Bench, ruleset
from tests.support.transcontinental import seeded

RULESETS = shipped_rulesets()
SETUP = Setup((SeatSetup("ada", client_entropy=b"luck"), SeatSetup("ben")), draw_start=True)


async def _played(bench: Bench) -> list[Commit]:
    match = await bench.play(await bench.create(SETUP))
    return list(await bench.log.read(match.match_id))


@cache
def played() -> tuple[Commit, ...]:
    """Return the commits of a match played out, 40 and more."""
    return tuple(asyncio.run(_played(Bench())))


def match_id_of(commits: Sequence[Commit]) -> str:
    return records.restore_created(commits[0].events[0]).match_id


def file_of(commits: Sequence[Commit]) -> bytes:
    return b"".join(audit_lines(match_id_of(commits), commits))


FILE = file_of(played())
LINES = FILE.splitlines(keepends=True)


def chained(commits: Sequence[Commit]) -> list[Commit]:
    """Return `commits` numbered and chained anew, as somebody who forges a log would do it."""
    match_id, head, forged = match_id_of(commits), GENESIS, list[Commit]()
    for version, commit in enumerate(commits, start=1):
        numbered = replace(commit, version=version)
        head = chain(match_id, head, version, numbered)
        forged.append(replace(numbered, head=head))
    return forged


def forged(index: int, **changes: Any) -> AuditReport:
    """Audit the match with the commit at `index` changed and everything chained anew."""
    commits = list(played())
    commits[index] = replace(commits[index], **changes)
    return audit(file_of(chained(commits)), RULESETS)


def test_a_match_as_it_was_played_is_all_right() -> None:
    """[fairness 5] With the closed log and nothing else."""
    report = audit(FILE, RULESETS)
    assert (report.ok, report.commits, report.players) == (True, len(played()), ("ada", "ben"))
    assert (sorted(report.places), report.cause) == ([1, 2], None)
    assert report.head == played()[-1].head.hex()


def test_an_audit_file_is_told_in_one_sentence(tmp_path: Path) -> None:
    """The command line shows it."""
    file = tmp_path / "match.jsonl"
    file.write_bytes(FILE)
    assert audit_file(file).sentence().endswith("commits, all right (ada 1., ben 2.)")


def test_a_match_that_was_resigned_after_automatic_play_is_all_right() -> None:
    """Commits of the relay and of a resignation are judged as well."""

    async def play() -> list[Commit]:
        bench = Bench()
        match = await bench.create(HOUSE_FIRST)
        await bench.referee.play_automatically(RELAY, match.match_id, 0, since=1, request_id="late")
        match = await bench.matches.fresh(match.match_id)
        await bench.submit(match, EndWork(0), Resign(0))
        return list(await bench.log.read(match.match_id))

    report = audit(file_of(asyncio.run(play())), RULESETS)
    assert (report.cause, report.places) == (None, (2, 1))


def test_the_lines_have_the_documented_form() -> None:
    """The format `promontory-match/1`."""
    header, first, footer = (json.loads(LINES[index]) for index in (0, 1, -1))
    assert header == {"format": "promontory-match/1", "match_id": match_id_of(played())}
    assert list(first) == ["version", "command_id", "meta", "events", "head"]
    assert footer["sha256"] == hashlib.sha256(b"".join(LINES[:-1])).hexdigest()


@pytest.mark.parametrize("size", [1, 7, 1024, 10_000_000])
def test_the_pieces_of_a_file_joined_are_the_file(size: int) -> None:
    """[ExportMatch] The pieces joined in order are the file."""
    pieces = list(chunks(LINES, size))
    assert (b"".join(pieces), max(map(len, pieces)) <= size) == (FILE, True)


POSITIONS = sorted({*range(120), *range(len(FILE) - 160, len(FILE)), *seeded(1).sample(range(len(FILE)), 700)})


@pytest.mark.parametrize("first", range(0, len(POSITIONS), 100))
def test_any_changed_byte_is_found(first: int) -> None:
    """[event_log R18] Detected 100 %: a bit flipped, a byte replaced, at the ends and in between."""
    random = seeded(first)
    for position in POSITIONS[first : first + 100]:
        changed = bytearray(FILE)
        changed[position] ^= 1 << random.randrange(8)
        assert not audit(bytes(changed), RULESETS).ok, position


@pytest.mark.parametrize("kind", [b" ", b"\t", b"\n", b"\r", b"\x00", b"0", b"a", b"A", b'"', b",", b"}", b"\xff"])
def test_any_added_byte_is_found(kind: bytes) -> None:
    """Also white space, which would mean nothing to a reader of JSON."""
    for position in [0, 1, len(LINES[0]), len(LINES[0]) + 1, *seeded(2).sample(range(len(FILE)), 40), len(FILE)]:
        assert not audit(FILE[:position] + kind + FILE[position:], RULESETS).ok, position


def test_any_missing_byte_is_found() -> None:
    """One byte fewer anywhere, and every shorter beginning."""
    for position in [0, len(LINES[0]) - 1, *seeded(3).sample(range(len(FILE)), 100), len(FILE) - 1]:
        assert not audit(FILE[:position] + FILE[position + 1 :], RULESETS).ok, position
        assert not audit(FILE[:position], RULESETS).ok, position


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
        lambda lines: [*lines[:5], lines[5], *lines[5:]],
        lambda lines: [*lines[:5], *lines[6:]],
        lambda lines: lines[1:],
        lambda lines: lines[:-1],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [lines[0], *lines],
        lambda lines: [lines[0], lines[-1]],
        lambda lines: lines[::-1],
        lambda _: [],
    ],
)
def test_lines_swapped_doubled_or_left_out_are_found(change: Callable[[list[bytes]], list[bytes]]) -> None:
    """The file is one sequence of lines and no other."""
    assert not audit(b"".join(change(LINES)), RULESETS).ok


def test_the_first_wrong_commit_is_named() -> None:
    """Where to look, and for what."""
    lines = list(LINES)
    lines[30] = lines[30].replace(b'"recorded_at_ms', b'"recorded_at_ns').replace(b"recorded_at_ms", b"recorded_at_ns")
    report = audit(b"".join(lines), RULESETS)
    assert (report.version, report.cause) == (30, "its hash does not continue the chain")
    assert report.sentence().endswith("commit 30 is wrong: its hash does not continue the chain")


def test_an_event_that_the_rules_do_not_make_is_found_though_all_hashes_fit() -> None:
    """[fairness 5] Replay the rules."""
    commits = list(played())
    index = next(i for i, commit in enumerate(commits) if commit.events[0].type.endswith("MeldPlayed"))
    meld = events_pb2.MeldPlayed.FromString(commits[index].events[0].payload)
    meld.points += 1
    event = StoredEvent(commits[index].events[0].type, canonical(meld))
    report = forged(index, events=(event, *commits[index].events[1:]))
    assert (report.version, report.cause) == (index + 1, "its events are not what the rules make of its commands")


def test_a_deck_that_the_seed_does_not_give_is_found_though_all_hashes_fit() -> None:
    """[fairness 5] Recompute every draw and compare with the recorded events."""
    events = list(played()[0].events)
    index = next(i for i, event in enumerate(events) if event.type.endswith("DeckShuffled"))
    shuffled = events_pb2.DeckShuffled.FromString(events[index].payload)
    order = list(shuffled.card_ids)
    order[-1], order[-2] = order[-2], order[-1]
    events[index] = StoredEvent(
        events[index].type,
        canonical(events_pb2.DeckShuffled(number=1, size=len(order), card_ids=order)),
    )
    assert forged(0, events=tuple(events)).version == 1


def test_a_seed_that_was_not_committed_to_is_found_though_all_hashes_fit() -> None:
    """[fairness 5] Recompute the commitment from the published seed."""
    closed = records.restore_closed(played()[-1].events[-1])
    event = records.store_closed(replace(closed, server_seed=bytes(32)))
    report = forged(-1, events=(*played()[-1].events[:-1], event))
    assert (report.version, report.cause) == (1, "its commitment is not that of the published seed")


def test_an_outcome_that_is_not_the_games_is_found_though_all_hashes_fit() -> None:
    """The score is recomputed."""
    closed = records.restore_closed(played()[-1].events[-1])
    result = replace(closed.result, places=closed.result.places[::-1])
    event = records.store_closed(replace(closed, result=result))
    report = forged(-1, events=(*played()[-1].events[:-1], event))
    assert (report.version, report.cause) == (
        len(played()),
        "its events are not what the rules make of its commands",
    )


def test_a_command_that_the_rules_refuse_is_found_though_all_hashes_fit() -> None:
    """Every rule decision is checked."""
    commits = list(played())
    report = audit(file_of(chained([*commits[:4], commits[3], *commits[4:]])), RULESETS)
    assert report.version == 5
    assert report.cause is not None
    assert "the rules refuse its command" in report.cause


def test_a_left_out_commit_is_found_though_all_hashes_fit() -> None:
    """What follows no longer fits what went before."""
    commits = list(played())
    assert audit(file_of(chained([*commits[:4], *commits[5:]])), RULESETS).version == 5


def test_a_log_cut_off_before_its_end_is_found_though_all_hashes_fit() -> None:
    """Closing is obligatory."""
    report = audit(file_of(chained(played()[:-1])), RULESETS)
    assert report.cause is not None
    assert "does not close the match" in report.cause


def test_a_commit_after_the_end_is_found_though_all_hashes_fit() -> None:
    """A closed match takes no more."""
    report = audit(file_of(chained([*played(), played()[-1]])), RULESETS)
    assert (report.version, report.cause) == (len(played()) + 1, "it comes after the match was closed")


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"actor": 1}, "NOT_YOUR_TURN|not one of its seat"),
        ({"actor": 7}, "names no seat"),
        ({"actor": None}, "names no seat"),
        ({"commands": ()}, "names no seat, or no command"),
        ({"commands": (b"\xff",)}, "(?i)pars"),
        ({"commands": (b"",)}, "kind"),
        ({"state_hash": "0" * 32}, "meta"),
    ],
)
def test_a_meta_that_does_not_fit_its_commit_is_found_though_all_hashes_fit(
    changes: dict[str, object], cause: str
) -> None:
    """The commands are what the events are judged by; nobody can put other ones there."""
    commit = next(commit for commit in played() if records.decode_meta(commit.meta).actor == 0)
    meta = records.encode_meta(replace(records.decode_meta(commit.meta), **changes))
    report = forged(commit.version - 1, meta=meta)
    assert report.version == commit.version
    assert re.search(cause, report.cause or "")


@pytest.mark.parametrize("command_id", ["create", "auto:0:x", "1:x", "x"])
def test_a_command_id_that_is_not_the_actors_is_found_though_all_hashes_fit(command_id: str) -> None:
    """`<seat>:` for players, `auto:<seat>:` only where the house plays and the command is the automatic one."""
    commit = next(commit for commit in played() if records.decode_meta(commit.meta).actor == 0)
    assert forged(commit.version - 1, command_id=command_id).version == commit.version


def test_a_match_with_unknown_rules_is_not_judged() -> None:
    """[RULES_VERSION_UNKNOWN] Another version of this program may have them."""
    created = records.restore_created(played()[0].events[0])
    event = records.store_created(replace(created, rules_version="transcontinental/0"))
    report = forged(0, events=(event, *played()[0].events[1:]))
    cause = "it is played by the rules transcontinental/0, which this version does not have"
    assert (report.ok, report.undecided, report.version, report.cause) == (False, True, 1, cause)


def test_a_match_of_no_known_game_is_not_judged() -> None:
    """Its id says which game it is of."""
    assert not audit(FILE, ()).ok


@pytest.mark.parametrize("raw", [b"", b"\n", b"\n\n\n", b"{}\n{}\n{}\n", b"\xff" * 100, b"[" * 10_000])
def test_what_is_no_audit_file_is_reported_as_such(raw: bytes) -> None:
    """Whatever it is, it is a report and no exception."""
    assert (audit(raw, RULESETS).ok, audit(raw, RULESETS).version) == (False, 0)


def test_an_audit_changes_nothing_and_says_the_same_again() -> None:
    """One pure computation."""
    assert audit(FILE, RULESETS) == audit(FILE, RULESETS)
    assert msgspec.json.decode(msgspec.json.encode(audit(FILE, RULESETS)), type=AuditReport).ok
    assert ruleset().game.name == audit(FILE, RULESETS).game


@cache
def played_with_an_own_deck() -> bytes:
    """Return the file of a match of Pacific for three whose deck is an operator's own."""

    async def play() -> list[Commit]:
        bench = Bench(game="pacific", data=(own_deck(),))
        setup = Setup(tuple(map(SeatSetup, ("ada", "ben", "eve"))))
        match = await bench.play(await bench.create(setup), choose=play_at_random)
        return list(await bench.log.read(match.match_id))

    return file_of(asyncio.run(play()))


def test_a_match_with_an_own_deck_is_judged_by_that_deck() -> None:
    """Other files of the operator's do no harm."""
    rulesets = shipped_rulesets({"pacific": [own_deck("Another"), own_deck()]})
    report = audit(played_with_an_own_deck(), rulesets)
    assert (report.ok, report.undecided, report.cause) == (True, False, None)
    assert audit(FILE, rulesets).ok


def test_a_match_whose_deck_is_not_there_cannot_be_judged() -> None:
    """Neither right nor wrong: the report tells which data is missing, and how to give it."""
    report = audit(played_with_an_own_deck(), shipped_rulesets({"pacific": [own_deck("Another")]}))
    data_hash = digest(own_deck()).hex()
    cause = f"it is played with data whose SHA-256 is {data_hash}; name that file: --game-data pacific=FILE"
    assert (report.ok, report.undecided, report.version, report.cause) == (False, True, 1, cause)
    assert report.sentence() == f"match {report.match_id}: cannot be judged: {cause}"


def test_a_file_that_creates_another_match_is_wrong_whatever_it_is_played_with() -> None:
    """No missing data excuses it."""
    created = records.restore_created(played()[0].events[0])
    event = records.store_created(replace(created, game="pacific", data_hash=bytes(32)))
    report = forged(0, events=(event, *played()[0].events[1:]))
    assert (report.undecided, report.cause) == (False, "it creates another match")
