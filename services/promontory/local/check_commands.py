"""`promontory audit` and `promontory versions`: is what was played right, and can what is played go on?"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec

from promontory.local.arguments import Parsers, command, count_line, data_option, json_option, print_json, redis_url


def add_audit(commands: Parsers) -> None:
    """Add `promontory audit`."""
    audit = command(
        commands, "audit", _run_audit, "Check exported matches: hash chain, draws, every decision, outcome."
    )
    audit.add_argument("files", type=Path, nargs="+", metavar="FILE", help="an audit file of a finished match")
    _game_data_option(audit)
    json_option(audit)


def _run_audit(arguments: argparse.Namespace) -> int:
    from promontory.rules.audit import audit_file, shipped_rulesets

    rulesets = shipped_rulesets(_game_data(arguments))
    reports = {file: audit_file(file, rulesets) for file in arguments.files}
    if arguments.json:
        print_json([{"file": str(file), **msgspec.to_builtins(report)} for file, report in reports.items()])
    else:
        for file, report in reports.items():
            print(f"{file}: {report.sentence()}")
    return 0 if all(report.ok for report in reports.values()) else 1


def add_versions(commands: Parsers) -> None:
    """Add `promontory versions`."""
    summary = "Count the open matches of each rules version, with the data they are played with."
    versions = command(commands, "versions", _run_versions, summary)
    versions.epilog = "Exit code 1: there are open matches that cannot be served with the rules and the data here."
    _game_data_option(versions)
    data_option(versions)
    json_option(versions)


def _run_versions(arguments: argparse.Namespace) -> int:
    from promontory.local import versions
    from promontory.runtime.settings import given

    rulesets = versions.installed(given("data_files") or "", _game_data(arguments))
    found = asyncio.run(versions.survey(redis_url(arguments), rulesets, progress=count_line("open matches")))
    if arguments.json:
        print_json(found)
    else:
        print(versions.text(found))
    return 0 if all(each.served for each in found) else 1


def _game_data_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--game-data",
        action="append",
        type=_game_file,
        default=[],
        metavar="GAME=FILE",
        help="cards or tiles that matches are played with instead of the shipped ones; may be repeated",
    )


def _game_file(text: str) -> tuple[str, Path]:
    """Return the game and the file that GAME=FILE names."""
    from promontory.games import registry

    game, _, file = text.partition("=")
    if not game or not file:
        raise argparse.ArgumentTypeError(f"must be GAME=FILE, not {text!r}")
    try:
        return registry.entry(game).name, Path(file)
    except registry.UnknownGameError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _game_data(arguments: argparse.Namespace) -> dict[str, list[bytes]]:
    """Return the contents of the files that `--game-data` names, by game."""
    found: dict[str, list[bytes]] = {}
    for game, file in arguments.game_data:
        found.setdefault(game, []).append(file.read_bytes())
    return found
