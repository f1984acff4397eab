"""Finished matches from their audit files: any version, as any seat saw it or in full."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from promontory import game
from promontory.client.recordings import RecordingError, read
from promontory.client.replays import Replay, replay_file
from promontory.codec.conduct import SeatLeft
from promontory.codec.registry import codec
from promontory.eventlog.audit_file import CommitLine, audit_lines
from promontory.eventlog.port import Commit
from promontory.games.kernel import fold
from promontory.rules.domain import Step
from promontory.rules.ledger import Ledger
from promontory.rules.presenter import Presenter
from tests.golden.record import DIRECTORY
from tests.support.own_decks import own_deck
from tests.support.presenting import commit_told
from tests.support.refereeing import Bench, ruleset

FILES = sorted(DIRECTORY.glob("*/*.jsonl"))
POINTS = DIRECTORY / "transcontinental" / "points.jsonl"
SHOPPING = DIRECTORY / "railroad_dice_2" / "three_shopping.jsonl"
each_match = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")


@cache
def points() -> Replay:
    return replay_file(POINTS)


def steps(file: Path) -> list[Step]:
    """Return the steps of a recorded match as the rules service folds them."""
    lines = file.read_bytes().splitlines()[1:-1]
    commits: list[Commit] = [msgspec.json.decode(line, type=CommitLine).commit() for line in lines]
    ledger, match, found = Ledger(ruleset(file.parent.name)), None, list[Step]()
    match_id = msgspec.json.decode(file.read_bytes().splitlines()[0])["match_id"]
    for commit in commits:
        found.append(ledger.step(match_id, match, commit))
        match = found[-1].match
    return found


MOST_LOOKS = 150
"""Of matches with more versions times audiences, each version is looked at by one audience, in turn."""


def looks(replay: Replay) -> list[tuple[int, int | None]]:
    """Return versions, every one of the match, and who looks at them."""
    audiences, versions = (None, *range(len(replay.players))), range(1, replay.last + 1)
    every = [(version, audience) for version in versions for audience in audiences]
    return every if len(every) <= MOST_LOOKS else every[:: len(audiences) + 1]


@each_match
def test_every_version_is_as_seats_and_spectators_were_shown_it_live(file: Path) -> None:
    """[replay] View, events and what happened beside the game, byte by byte as the service sends them."""
    present, game_codec, replay = Presenter(ruleset(file.parent.name)), codec(file.parent.name), replay_file(file)
    live = steps(file)
    for version, seat in looks(replay):
        commit, frame = commit_told(present, live[version - 1], seat), replay.at(version, seat=seat)
        assert game_codec.encode_view(frame.view) == commit.view, (version, seat)
        assert [game_codec.encode_event(event) for event in frame.events] == list(commit.events)
        assert (len(frame.match_events), frame.to_act) == (len(commit.match_events), tuple(commit.match.seats_to_act))
        assert frame.record_time == commit.record_time.ToDatetime(frame.record_time.tzinfo)


def test_in_full_nothing_is_hidden() -> None:
    """All hands, all events, and the draw pile in its order."""
    full, frames = points().full(40), [points().at(40, seat=seat) for seat in (0, 1)]
    assert full.views == tuple(frame.view for frame in frames)
    assert full.state.deck == full.hidden[0].item_ids
    dealt = points().full(1).events[2]
    assert (len(dealt.cp_card_ids), len(dealt.up_card_ids)) == (10, 10)


def test_what_is_hidden_is_what_seats_do_not_see() -> None:
    """[Pacific 7] The draw deck is unseen by all; in Railroad Dice 2 everything is public."""
    replay = replay_file(DIRECTORY / "pacific" / "five_greedy.jsonl")
    fulls = [replay.full(version) for version in range(1, replay.last + 1)]
    assert all(set(full.hidden[0].item_ids) <= set(view.unseen_card_ids) for full in fulls for view in full.views)
    assert replay_file(SHOPPING).full(20).hidden == ()


def test_cards_that_are_reserved_are_hidden_until_they_are_drawn() -> None:
    """[P-3] Off the draw deck, and nobody's yet."""
    replay = replay_file(DIRECTORY / "pacific" / "five_self_reliant.jsonl")
    state, events = replay.full(86).state, replay.full(87).events
    number = next(index for index, event in enumerate(events) if getattr(event, "reservations", ()))
    revealed = fold(replay.game, state, events[: number + 1])
    reserved = tuple(card for each in events[number].reservations for card in each.drawn_card_ids)
    assert replay.game.hidden(revealed)[1].item_ids == reserved != ()
    assert replay.full(87).hidden[1].item_ids == ()


def test_the_last_version_tells_the_outcome() -> None:
    """And no other."""
    replay = points()
    assert (replay.at(replay.last).outcome, replay.at(replay.last - 1).outcome) == (replay.outcome, None)
    assert (replay.outcome.winners, replay.players) == ((0,), ("house-greedy-1", "ben"))


def test_the_referees_rules_go_on_from_any_version() -> None:
    """[FullFrame.state] To ask what would have been."""
    full = points().full(1)
    (event,) = points().full(2).events
    assert points().game.evolve(full.state, event) == points().full(2).state


def test_departures_are_told_where_they_happened() -> None:
    """What happened beside the game comes with its version."""
    replay = replay_file(DIRECTORY / "pacific" / "three_taken_over.jsonl")
    left = [each for frame in replay.frames() for each in frame.match_events if isinstance(each, SeatLeft)]
    assert len(left) >= 1


@pytest.mark.parametrize("version", [0, -1, 119])
def test_a_version_that_a_match_does_not_have_is_no_version(version: int) -> None:
    """The message says which there are."""
    with pytest.raises(IndexError, match="versions 1 to 118"):
        points().full(version)


@pytest.mark.parametrize("seat", [-1, 2])
def test_a_seat_that_a_match_does_not_have_is_no_seat(seat: int) -> None:
    """Not the last one either, counted from behind."""
    with pytest.raises(IndexError, match="seats 0 to 1"):
        points().at(1, seat=seat)


RAW = POINTS.read_bytes()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"\n\n\n",
        RAW[: len(RAW) // 2],
        b"".join(RAW.splitlines(keepends=True)[:-2]),
        RAW.replace(b"promontory-match/1", b"promontory-match/9", 1),
        RAW.replace(b'"payload":"', b'"payload":"*', 1),
    ],
)
def test_what_is_no_audit_file_of_a_finished_match_is_refused(raw: bytes) -> None:
    """Before anything is played."""
    with pytest.raises(RecordingError, match="it is no audit file of a match"):
        read(raw)


def test_a_commit_that_is_not_understood_is_named() -> None:
    """An event of a kind that the game does not have."""
    lines = RAW.splitlines(keepends=True)
    lines[5] = lines[5].replace(b"transcontinental.v1.", b"transcontinental.v1.Old")
    with pytest.raises(RecordingError, match="commit 5 is not understood"):
        Replay(read(b"".join(lines)), game("transcontinental"))


async def test_a_match_with_own_cards_needs_them(tmp_path: Path) -> None:
    """[data_hash] The hash is named, and how to name the file."""
    bench = Bench(game="pacific", data=(own_deck(),))
    match = await bench.create()
    await bench.submit(match, bench.ruleset.game.resign(0))
    file = tmp_path / "own.jsonl"
    file.write_bytes(b"".join(audit_lines(match.match_id, await bench.log.read(match.match_id))))
    with pytest.raises(RecordingError, match="--game-data"):
        replay_file(file)
    shown: Any = replay_file(file, [b"{}", own_deck()]).at(1, seat=0)
    assert len(shown.view.hand_card_ids) == 10
