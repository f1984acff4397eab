"""`promontory ratings` and `promontory lists`: what can be made anew from the logs."""

from __future__ import annotations

import argparse
import asyncio

from promontory.local.arguments import (
    Parsers,
    archive_url,
    command,
    count_line,
    data_option,
    group,
    json_option,
    print_json,
    redis_url,
)


def add_ratings(commands: Parsers) -> None:
    """Add `promontory ratings`."""
    actions = group(commands, "ratings", "Look after the ratings.", of="action")
    summary = "Recompute a pool's ratings from the logs and compare, byte by byte."
    rebuild = command(actions, "rebuild", _run_ratings, summary)
    rebuild.epilog = "Exit code 1: the ratings are not those that the logs give."
    rebuild.add_argument("--pool", required=True, help="the pool")
    data_option(rebuild)
    json_option(rebuild)


def _run_ratings(arguments: argparse.Namespace) -> int:
    from promontory.local.ratings import rebuild

    found = asyncio.run(rebuild(redis_url(arguments), arguments.pool, archive_url=archive_url(arguments)))
    if arguments.json:
        print_json(found)
    else:
        print(found.sentence())
    return 0 if found.equal else 1


def add_lists(commands: Parsers) -> None:
    """Add `promontory lists`."""
    actions = group(commands, "lists", "Look after the lists of matches.", of="action")
    summary = "Make the lists anew from the logs and the archive, while everything runs, and say what was not right."
    rebuild = command(actions, "rebuild", _run_lists, summary)
    rebuild.epilog = "Exit code 1: the log of a match cannot be read."
    data_option(rebuild)
    json_option(rebuild)


def _run_lists(arguments: argparse.Namespace) -> int:
    from promontory.local.lists import rebuild

    where, show = archive_url(arguments), count_line("matches")
    found = asyncio.run(rebuild(redis_url(arguments), archive_url=where, progress=show))
    if arguments.json:
        print_json(found)
    else:
        print(found.sentence())
    return 1 if found.unreadable else 0
