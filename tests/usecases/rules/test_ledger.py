"""The fold of a match's log: what it refuses to believe, and that it is the same in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from promontory.eventlog.port import START, Commit, LogCorrupt, Position, Proposed, StoredEvent, chain
from promontory.games.transcontinental.commands import Resign
from promontory.rules import records
from promontory.rules.domain import CommitMeta, Match
from promontory.rules.ledger import Ledger
from promontory.rules.ruleset import Ruleset
from promontory.runtime.errors import Refusal
from tests.support.refereeing import Bench, ruleset

ROOT = Path(__file__).parents[3]
NOTE = records.encode_meta(CommitMeta(recorded_at_ms=1))


async def commits_of(bench: Bench, match: Match) -> list[Commit]:
    return list(await bench.log.read(match.match_id))


def fold(match_id: str, commits: list[Commit]) -> Match:
    ledger, match = Ledger(ruleset()), None
    for commit in commits:
        match = ledger.step(match_id, match, commit).match
    assert match is not None
    return match


async def resigned() -> tuple[Match, list[Commit]]:
    """Return a match of two commits that is over, and its commits."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), Resign(0))).step.match
    return match, await commits_of(bench, match)


async def test_the_fold_of_a_log_is_what_its_writer_knew() -> None:
    """[style 1.2] Events are the truth: state is folded from the log."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=45)
    assert fold(match.match_id, await commits_of(bench, match)) == match


async def test_a_closed_match_without_its_closing_event_is_corrupt() -> None:
    """The same commit that ends the game closes the match."""
    match, (first, last) = await resigned()
    with pytest.raises(LogCorrupt, match=r"version 2: .*MatchClosed: is missing"):
        fold(match.match_id, [first, replace(last, events=last.events[:-1])])


async def test_an_outcome_that_is_not_the_games_is_corrupt() -> None:
    """The recorded outcome is what the rules make of the state."""
    match, (first, last) = await resigned()
    assert match.result is not None
    wrong = records.Closed(replace(match.result, places=(1, 2)), match.server_seed)
    with pytest.raises(LogCorrupt, match="another outcome"):
        fold(match.match_id, [first, replace(last, events=(last.events[0], records.store_closed(wrong)))])


async def test_a_log_that_begins_without_its_creation_is_corrupt() -> None:
    """MatchCreated is the first event of every match."""
    match, (first, _) = await resigned()
    with pytest.raises(LogCorrupt, match="MatchCreated must"):
        fold(match.match_id, [replace(first, events=first.events[1:])])


async def test_a_log_of_another_match_is_corrupt() -> None:
    """A stream holds the match it is named after."""
    _, (first, _) = await resigned()
    with pytest.raises(LogCorrupt, match="is of another match"):
        fold("tc-000-" + "a" * 26, [first])


@pytest.mark.parametrize(
    "event",
    [
        StoredEvent("promontory.api.pacific.v1.Unheard", b""),
        StoredEvent("promontory.api.transcontinental.v1.TurnStarted", b"\xff"),
        StoredEvent("promontory.api.transcontinental.v1.TurnStarted", b"\x08\x02\x10\x01\x18\x09"),
    ],
)
async def test_an_event_that_is_none_of_the_games_is_corrupt(event: StoredEvent) -> None:
    """Unknown types, bytes that are no message, fields of newer code: nothing is skipped."""
    match, (first, _) = await resigned()
    with pytest.raises(LogCorrupt, match="version 2"):
        fold(match.match_id, [first, Commit(2, (event,), "0:x", NOTE, b"head")])


@pytest.mark.parametrize(
    "meta", [b"", b"{}", b'{"recorded_at_ms":1,"more":2}', b'{"recorded_at_ms":1,"state_hash":"0"}']
)
async def test_a_meta_that_says_nothing_or_something_wrong_is_corrupt(meta: bytes) -> None:
    """[event_log 2.5] The state's hash makes divergence visible at the commit where it starts."""
    match, (first, last) = await resigned()
    with pytest.raises(LogCorrupt, match="version 2: meta"):
        fold(match.match_id, [first, replace(last, meta=meta)])


@pytest.mark.parametrize("change", [{"rules_version": "transcontinental/0"}, {"data_hash": bytes(32)}])
async def test_a_match_pinned_to_other_rules_or_data_is_not_played_by_these(change: dict[str, object]) -> None:
    """[event_log 2.13] A server that lacks the version answers FAILED_PRECONDITION; another may have it."""
    bench = Bench()
    match = await bench.create()
    (commit,) = await commits_of(bench, match)
    created = replace(records.restore_created(commit.events[0]), **change)
    stranger = Bench()
    proposed = Proposed((records.store_created(created), *commit.events[1:]), "create", "f", meta=commit.meta)
    await stranger.log.append(match.match_id, proposed, expected=START)
    with pytest.raises(Refusal) as refusal:
        await stranger.matches.fresh(match.match_id)
    assert refusal.value.reason == "RULES_VERSION_UNKNOWN"


async def test_a_match_is_played_by_the_rules_it_is_pinned_to() -> None:
    """[event_log 2.13] A released version stays beside the current one; matches in flight keep theirs."""
    current = ruleset()

    class Newer:
        rules_version, data_hash = "transcontinental/2", bytes(32)

    both = Ruleset(current.code, current.codec, (Newer(), current.game), current.files)  # type: ignore[arg-type]
    assert both.pinned(current.game.rules_version, current.game.data_hash) is current.game


async def test_a_log_that_went_back_is_read_anew() -> None:
    """[event_log 2.8] What the log says now is what counts, whatever a process remembers."""
    bench, other = Bench(), Bench()
    remembered = await bench.play(await bench.create(), until=5)
    present = await other.play(await other.create(), until=3)
    bench.matches.log = other.log
    assert await bench.matches.fresh(remembered.match_id) == present


HASH = """
from promontory.eventlog.port import Commit
from promontory.rules.records import state_hash
from tests.support.refereeing import Bench
import asyncio

async def main():
    bench = Bench()
    print(state_hash((await bench.play(await bench.create(), until=30)).state))

asyncio.run(main())
"""


def test_the_states_hash_is_the_same_in_every_process() -> None:
    """[event_log O4] A fresh process and another PYTHONHASHSEED give the same hash."""
    hashes = {
        subprocess.run(
            [sys.executable, "-c", HASH], check=True, capture_output=True, cwd=ROOT, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


async def test_a_draft_has_the_head_that_the_log_computes() -> None:
    """The position after an append is known without reading it back."""
    bench = Bench()
    match = await bench.create()
    (commit,) = await commits_of(bench, match)
    assert match.position == Position(1, chain(match.match_id, b"", 1, commit))
