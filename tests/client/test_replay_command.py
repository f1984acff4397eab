"""`promontory replay`: text and JSON of a match in a file, and the keys that lead through it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.client.replays import replay_file
from promontory.client.stepping import CLEAR, Place, keys_in, step_through
from promontory.games.drawing import draw
from tests.golden.record import DIRECTORY
from tests.support.commands import exit_code

POINTS = DIRECTORY / "transcontinental" / "points.jsonl"
DRAWN = DIRECTORY / "transcontinental" / "drawn.jsonl"
ABANDONED = DIRECTORY / "transcontinental" / "abandoned.jsonl"
Output = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    return exit_code("replay", *arguments)


def test_all_steps_are_printed_where_there_is_no_terminal(capsys: Output) -> None:
    """What happened, in words, and what it led to."""
    assert run(str(POINTS), "--seat", "0", "--from", "117") == 0
    lines = capsys.readouterr().out.splitlines()
    replay = replay_file(POINTS)
    assert lines[:5] == [
        f"{replay.match_id}: transcontinental/1, pool transcontinental.ranked, rated, 118 versions",
        "seats: 0 house-greedy-1, 1 ben",
        "",
        "version 117 of 118, 2026-01-01 00:04:50",
        "  card drawn: side CP, source discard, card steam-ships",
    ]
    assert lines[5:7] == ["waiting for seat 0", ""]
    board = draw(replay.game, replay.at(117, seat=0).view).splitlines()
    assert lines[7 : 7 + len(board)] == board
    assert "over, played out: 1. seat 0 with 102, 2. seat 1 with 92" in lines


def test_a_spectator_sees_no_hand(capsys: Output) -> None:
    """Nor what is drawn from the deck."""
    assert run(str(POINTS)) == 0
    out = capsys.readouterr().out
    assert ("your hand" in out, "  card drawn: side CP, source deck\n" in out) == (False, True)


def test_in_full_all_hands_and_the_draw_pile_are_shown(capsys: Output) -> None:
    """Each seat's view, under its player's name."""
    assert run(str(POINTS), "--full", "--from", "118") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("seen by")] == [
        "seen by seat 0, house-greedy-1",
        "seen by seat 1, ben",
    ]
    assert sum(line.startswith("your hand") for line in lines) == 2
    assert any(line.startswith("draw pile, top first: ") for line in lines)


@pytest.mark.parametrize(("file", "happened"), [(DRAWN, "ending offered"), (ABANDONED, "seat left: seat")])
def test_what_happened_beside_the_game_is_told(file: Path, happened: str, capsys: Output) -> None:
    """Offers and departures, in their place."""
    assert run(str(file)) == 0
    assert f"  {happened}" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "fields"), [((), {"view"}), (("--full",), {"views", "hidden"})])
def test_each_step_is_a_line_of_json(options: tuple[str, ...], fields: set[str], capsys: Output) -> None:
    """Events with their kind."""
    assert run(str(POINTS), "--json", *options, "--from", "100") == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["version"] for step in steps] == list(range(100, 119))
    usual = {"version", "record_time", "events", "match_events", "to_act", "outcome"}
    assert all(step.keys() == usual | fields for step in steps)
    assert steps[-1]["events"][-1]["kind"] == "GameOver"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nowhere.jsonl",), "nowhere.jsonl: No such file"),
        (("zz-000-abc",), "no"),
        ((str(POINTS), "--seat", "2"), "the match has the seats 0 to 1, not 2"),
        ((str(POINTS), "--from", "119"), "the match has the versions 1 to 118, not 119"),
        ((__file__,), "it is no audit file of a match"),
    ],
)
def test_what_cannot_be_replayed_ends_with_1_and_the_reason(
    arguments: tuple[str, ...], problem: str, capsys: Output
) -> None:
    """Nothing is printed."""
    assert run(*arguments) == 1
    captured = capsys.readouterr()
    assert (captured.out, problem in captured.err) == ("", True)


def test_a_seat_does_not_see_all(capsys: Output) -> None:
    """`--seat` and `--full` exclude each other."""
    assert run(str(POINTS), "--seat", "0", "--full") == 2


@pytest.mark.parametrize(
    ("pressed", "reached"),
    [
        (["n"], 6),
        ([" ", "\x1b[C", "\x1b[B"], 8),
        (["p", "\x1b[D"], 3),
        (["p"] * 9, 1),
        (["$", "n"], 20),
        (["^"], 1),
        (["1", "2", "\n"], 12),
        (["9", "9", "9", "\r"], 20),
        (["0", "\n"], 1),
        (["1", "n"], 6),
        (["\n"], 6),
        (["a", None, None, "x", "n"], 8),
        (["$", "a"], 20),
        (["x"], 5),
    ],
)
def test_keys_lead_to_steps(pressed: list[str | None], reached: int) -> None:
    """Next and previous, a number and enter, first and last, and playing on by itself until a key is pressed."""
    place = Place(5, 20)
    for key in pressed:
        place = place.after(key)
    assert (place.step, place.typed, place.playing, place.done) == (reached, "", False, False)


def test_playing_ends_at_the_end() -> None:
    """And waits for a key there."""
    places = [Place(18, 20, playing=True)]
    places.append(places[-1].after(None))
    places.append(places[-1].after(None))
    assert [(place.step, place.playing) for place in places] == [(18, True), (19, True), (20, False)]


def test_each_step_is_shown_once_until_one_quits() -> None:
    """Keys that lead nowhere draw nothing; while it plays, time leads on."""
    keys: Iterator[str | None] = iter(["n", "x", "a", None, "q"])
    waited, written = list[float | None](), list[str]()

    def read(seconds: float | None) -> str | None:
        waited.append(seconds)
        return next(keys)

    step_through(Place(1, 20), lambda step: f"step {step}", read, written.append)
    assert [text.removeprefix(CLEAR).splitlines()[0] for text in written if text.startswith(CLEAR)] == [
        "step 1",
        "step 2",
        "step 3",
    ]
    assert waited == [None, None, None, 1.0, 1.0]


def test_keys_that_arrive_together_are_told_apart() -> None:
    """A fast hand, or a slow line."""
    assert keys_in("n12\x1b[C\x1b[1~\nq") == ["n", "1", "2", "\x1b[C", "\x1b[1~", "\n", "q"]


def test_at_a_terminal_keys_are_read() -> None:
    """The very command, on a terminal of its own, which is left as it was."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [sys.executable, "-m", "promontory", "replay", str(DRAWN)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs) as process:
        shown = read_up_to(ours, b"1/21> ")
        os.write(ours, b"n$")
        shown += read_up_to(ours, b"21/21> ")
        os.write(ours, b"q")
        assert process.wait(timeout=30) == 0
    assert [f"version {step} of 21".encode() in shown for step in (1, 2, 3, 21)] == [True, True, False, True]
    assert termios.tcgetattr(theirs) == before


def read_up_to(terminal: int, end: bytes) -> bytes:
    """Return what is shown up to `end`, which must come."""
    shown = b""
    while not shown.endswith(end):
        assert select.select([terminal], [], [], 30)[0], shown
        shown += os.read(terminal, 65536)
    return shown
