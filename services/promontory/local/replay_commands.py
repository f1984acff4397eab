"""`promontory replay`: a finished match, step by step."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from promontory.local.arguments import (
    Parsers,
    access,
    access_options,
    command,
    count,
    game_data,
    game_data_option,
    json_option,
    seat_option,
)


def add_replay(commands: Parsers) -> None:
    """Add `promontory replay`."""
    summary = "Step through a finished match, as any seat or a spectator saw it, or with nothing hidden."
    replay = command(commands, "replay", _run_replay, summary)
    replay.epilog = "At a terminal keys lead on; else all steps are printed. A file needs no platform."
    replay.add_argument("match", metavar="MATCH", help="the match's id, or its audit file")
    angle = replay.add_mutually_exclusive_group()
    seat_option(angle)
    angle.add_argument("--full", action="store_true", help="show all seats' views, and what no seat could see")
    replay.add_argument(
        "--from", dest="first", type=count, default=1, metavar="VERSION", help="begin at this version (default: 1)"
    )
    game_data_option(replay)
    access_options(replay)
    json_option(replay, instead="a line of JSON for each step")


def _run_replay(arguments: argparse.Namespace) -> int:
    from promontory.client import replay_command

    angle = replay_command.Angle(arguments.seat, arguments.full)
    replay = _replay(arguments)
    first = angle.frame(replay, arguments.first)
    if not arguments.json and sys.stdin.isatty() and sys.stdout.isatty():
        _step_through(replay, angle, first.version)
        return 0
    if not arguments.json:
        print(replay_command.heading(replay))
    for version in range(first.version, replay.last + 1):
        frame = angle.frame(replay, version)
        print(replay_command.step_json(frame) if arguments.json else f"\n{replay_command.step_text(replay, frame)}")
    return 0


def _replay(arguments: argparse.Namespace) -> Any:
    from promontory.client import replay_command

    file = Path(arguments.match)
    if file.suffix or file.exists():
        return replay_command.read(file, [data for files in game_data(arguments).values() for data in files])
    return asyncio.run(replay_command.fetch(access(arguments), arguments.match))


def _step_through(replay: Any, angle: Any, first: int) -> None:
    from promontory.client import replay_command, stepping

    def show(version: int) -> str:
        return f"{replay_command.heading(replay)}\n{replay_command.step_text(replay, angle.frame(replay, version))}"

    def write(text: str) -> None:
        print(text, end="", flush=True)

    with stepping.keyboard(sys.stdin.fileno()) as keyboard:
        stepping.step_through(stepping.Place(first, replay.last), show, keyboard.read, write)
