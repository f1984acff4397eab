"""`promontory admin rebuild` and `promontory load-functions`: what a server lacks or has wrong is made anew."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial

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


def add_rebuild(actions: Parsers) -> None:
    """Add `promontory admin rebuild`."""
    kinds = group(actions, "rebuild", "Make anew from the logs what can be.", of="kind")
    _lists(kinds)
    _ratings(kinds)


def _ratings(kinds: Parsers) -> None:
    summary = "Recompute a pool's ratings from the logs and compare, byte by byte."
    rebuild = command(kinds, "ratings", _run_ratings, summary)
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


def _lists(kinds: Parsers) -> None:
    summary = "Make the lists anew from the logs and the archive, while everything runs, and say what was not right."
    rebuild = command(kinds, "lists", _run_lists, summary)
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


def add_load_functions(commands: Parsers) -> None:
    """Add `load-functions`."""
    summary = "Load the server-side functions that the services call, on every primary."
    parser = command(commands, "load-functions", _run_load_functions, summary)
    help_text = "go on, and look every so many seconds for a primary that lacks them, as a new node of a cluster does"
    parser.add_argument("--watch", type=float, metavar="SECONDS", help=help_text)


def _run_load_functions(arguments: argparse.Namespace) -> int:
    from promontory.local.functions import keep_loaded, load_all
    from promontory.runtime.settings import ProcessSettings, load

    settings = load(ProcessSettings)
    for library in asyncio.run(load_all(settings.redis_url, require_aof=settings.require_aof)):
        print(f"loaded {library}", flush=True)
    if arguments.watch:
        tell = partial(print, flush=True)
        asyncio.run(keep_loaded(settings.redis_url, every_seconds=arguments.watch, tell=tell))
    return 0
