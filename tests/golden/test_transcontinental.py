"""Recorded matches of Transcontinental: every later version replays them to the same result."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from promontory.api.transcontinental.v1 import commands_pb2, events_pb2
from promontory.codec.transcontinental import CODEC
from promontory.eventlog.port import Commit
from promontory.games.kernel import fold
from promontory.games.registry import entry
from promontory.rules import records
from promontory.rules.audit import audit_file
from promontory.rules.export import CommitLine
from promontory.rules.records import MATCH_CLOSED, MATCH_CREATED
from tests.golden import record
from tests.golden.recipes import RECIPES

FILES = {file.stem: file for file in sorted(record.DIRECTORY.glob("*.jsonl"))}
MAX_BYTES = 150_000


class Expected(msgspec.Struct, frozen=True):
    """What is known of a recorded match; the hash is of its file."""

    reason: str
    places: tuple[int, ...]
    scores: tuple[int, ...]
    sha256: str


EXPECTED = {
    "no_progress": Expected(
        "no_progress", (1, 1), (0, 0), "cdf71dc5c8b016bd75843c97adb0a167db5329f86ef990c3773b22ad75361a19"
    ),
    "points": Expected(
        "victory", (1, 2), (102, 92), "57b67c283bde51a6c22123d470ae2f61893035432832b9f3255252d260d4b746"
    ),
    "resigned": Expected(
        "resignation", (1, 2), (20, 34), "0bc6261cef255be6dc40648ae22f3ad46fa2391fe882f7bf2db8d5bc690e4b45"
    ),
}


@cache
def commits(name: str) -> Sequence[Commit]:
    """Return the commits of the match called `name`."""
    lines = FILES[name].read_bytes().splitlines()[1:-1]
    return [msgspec.json.decode(line, type=CommitLine).commit() for line in lines]


def game_events(name: str) -> list[Any]:
    """Return the game's events of a match, as its structs, upcast where they are old."""
    stored = [event for commit in commits(name) for event in commit.events]
    return [CODEC.restore(each.type, each.payload) for each in stored if each.type not in {MATCH_CREATED, MATCH_CLOSED}]


def kinds_of_events(name: str) -> set[str]:
    return {event.type.rpartition(".")[2] for commit in commits(name) for event in commit.events}


def kinds_of_commands(name: str) -> set[str | None]:
    metas = [records.decode_meta(commit.meta) for commit in commits(name)]
    return {commands_pb2.Command.FromString(raw).WhichOneof("kind") for meta in metas for raw in meta.commands}


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_match_passes_the_audit(name: str) -> None:
    """[fairness 5] Hash chain, seed and commitment, every draw, every decision, every state hash, the outcome."""
    report = audit_file(FILES[name])
    assert (report.cause, report.ok) == (None, True)
    assert (report.places, report.scores) == (EXPECTED[name].places, EXPECTED[name].scores)


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_match_replays_to_its_recorded_outcome(name: str) -> None:
    """From its events alone, by the rules it is pinned to, without a draw or a decision."""
    created = records.restore_created(commits(name)[0].events[0])
    closed = records.restore_closed(commits(name)[-1].events[-1])
    game = entry("transcontinental").load(rules_version=created.rules_version)
    state = fold(game, game.initial(len(created.setup.seats)), game_events(name))
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.reason, outcome.places, outcome.scores) == (
        EXPECTED[name].reason,
        closed.result.places,
        closed.result.scores,
    )
    assert outcome.resigned is closed.result.resigned


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_match_is_as_it_was_recorded(name: str) -> None:
    """It is never written again, not even in another form."""
    raw = FILES[name].read_bytes()
    assert hashlib.sha256(raw).hexdigest() == EXPECTED[name].sha256
    assert len(raw) < MAX_BYTES


def test_every_recipe_is_recorded_and_known() -> None:
    """`python -m tests.golden.record` records those that are missing."""
    assert FILES.keys() == RECIPES.keys() == EXPECTED.keys()


def test_every_kind_of_event_is_recorded() -> None:
    """A kind of the game's that is missing could change its meaning unnoticed; so with the platform's own."""
    wanted = {field.message_type.name for field in events_pb2.Event.DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert set().union(*map(kinds_of_events, FILES)) == wanted | {"MatchCreated", "MatchClosed"}


def test_every_kind_of_command_is_recorded() -> None:
    """The audit judges them again."""
    wanted = {field.name for field in commands_pb2.Command.DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert set().union(*map(kinds_of_commands, FILES)) == wanted


def test_every_way_to_submit_is_recorded() -> None:
    """By a player, by the service for a house bot, and several commands at once."""
    everything = [commit for name in FILES for commit in commits(name)]
    assert {commit.command_id.partition(":")[0] for commit in everything} == {"create", "0", "1", "auto"}
    assert max(len(records.decode_meta(commit.meta).commands) for commit in everything) > 1


def test_every_way_to_end_is_recorded() -> None:
    """Won, given up, and drawn."""
    closed = [records.restore_closed(commits(name)[-1].events[-1]).result for name in FILES]
    assert {result.resigned for result in closed} == {True, False}
    assert {result.places for result in closed} >= {(1, 2), (1, 1)}


def test_a_recorded_match_is_never_recorded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by name."""
    monkeypatch.setattr(record, "DIRECTORY", tmp_path)
    record.file_of("resigned").write_text("as it was")
    with pytest.raises(FileExistsError):
        record.main(["resigned"])
    assert record.file_of("resigned").read_text() == "as it was"
