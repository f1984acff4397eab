"""`promontory archive`: where finished matches are kept."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from promontory.local.arguments import (
    Parsers,
    archive_url,
    command,
    count,
    count_line,
    data_option,
    group,
    json_option,
    output_option,
    print_json,
    redis_url,
)


def add_archive(commands: Parsers) -> None:
    """Add `promontory archive`."""
    actions = group(commands, "archive", "Look after the archive of finished matches.", of="action")
    listed = command(actions, "list", _run_list, "List archived matches, those that ended last first.")
    of = listed.add_mutually_exclusive_group()
    of.add_argument("--game", default="", help="only this game's")
    of.add_argument("--player", default="", help="only those a player took part in, by the player's id")
    listed.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (default: %(default)s)")
    export = command(actions, "export", _run_export, "Write an archived match's audit file; needs no running service.")
    export.add_argument("match", help="the match's id")
    output_option(export, usual="MATCH.jsonl")
    verify = command(actions, "verify", _run_verify, "Read every file and replay its match.")
    rebuild = command(actions, "rebuild", _run_rebuild, "Make the index anew from the files.")
    summary = "Have finished matches archived that the log still has, as those from before there was an archive."
    backfill = command(actions, "backfill", _run_backfill, summary)
    for action in (verify, rebuild):
        action.epilog = "Exit code 1: a file is not in order."
    for action in (listed, export, verify, rebuild, backfill):
        _archive_option(action)
    for action in (listed, verify, rebuild, backfill):
        json_option(action)


def _archive_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--archive",
        default="",
        metavar="URL",
        help="file:///directory or s3://bucket/prefix (default: PROMONTORY_ARCHIVE_URL, or that of `promontory up`)",
    )
    data_option(parser)


def _required_url(arguments: argparse.Namespace) -> str:
    url = archive_url(arguments)
    if not url:
        raise LookupError("there is no archive here: name one with --archive or PROMONTORY_ARCHIVE_URL")
    return url


def _run_list(arguments: argparse.Namespace) -> int:
    from promontory.games.text import table
    from promontory.local import archives

    url, server = _required_url(arguments), redis_url(arguments)
    chosen = {"game": arguments.game, "player": arguments.player}
    found = asyncio.run(archives.latest(url, server, limit=arguments.limit, **chosen))
    if arguments.json:
        print_json(found)
    elif not found:
        print("no matches")
    else:
        rows = [(each.ended_at, each.game, each.match_id, each.location) for each in found]
        print("\n".join(table("<<<<", [("ended", "game", "match", "file"), *rows])))
    return 0


def _run_export(arguments: argparse.Namespace) -> int:
    from promontory.local import archives

    file = arguments.output or Path(f"{arguments.match}.jsonl")
    file.write_bytes(asyncio.run(archives.segment(_required_url(arguments), arguments.match)).audit_file)
    print(f"wrote {file}; check it: promontory audit {file}")
    return 0


def _run_verify(arguments: argparse.Namespace) -> int:
    from promontory.local import archives
    from promontory.runtime.settings import given
    from promontory.workers.archiving import rulesets_of

    url, rulesets = _required_url(arguments), rulesets_of(given("data_files") or "")
    return _tell(asyncio.run(archives.verify(url, rulesets, progress=count_line("matches"))), arguments)


def _run_rebuild(arguments: argparse.Namespace) -> int:
    from promontory.local import archives

    url, server = _required_url(arguments), redis_url(arguments)
    return _tell(asyncio.run(archives.rebuild(url, server, progress=count_line("matches"))), arguments)


def _tell(found: Any, arguments: argparse.Namespace) -> int:
    if arguments.json:
        print_json(found)
    else:
        print(found.sentence())
    return 1 if found.damaged else 0


def _run_backfill(arguments: argparse.Namespace) -> int:
    from promontory.games.text import counted
    from promontory.local import archives

    _required_url(arguments)
    found = asyncio.run(archives.backfill(redis_url(arguments), progress=count_line("matches")))
    if arguments.json:
        print_json({"matches": found})
    else:
        print(f"{counted(found, 'match', 'matches')} to be archived; relay and workers do it")
    return 0
