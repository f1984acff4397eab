"""`promontory watch`: a match as it is played."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import msgspec

from promontory.local.arguments import Parsers, access, access_options, command, json_option, seat_option


def add_watch(commands: Parsers) -> None:
    """Add `promontory watch`."""
    summary = "Show a match as it is played, as a seat or a spectator may see it, until it is over."
    watch = command(commands, "watch", _run_watch, summary)
    watch.add_argument("match", help="the match's id")
    seat_option(watch)
    access_options(watch)
    json_option(watch, instead="a line of JSON for each update")


def _run_watch(arguments: argparse.Namespace) -> int:
    from promontory.client import match_text, reading

    def tell(update: Any, game: Any) -> None:
        text = msgspec.json.encode(update).decode() if arguments.json else match_text.update_text(update, game) + "\n"
        print(text, flush=True)

    asyncio.run(reading.watch(access(arguments), arguments.match, tell, seat=arguments.seat))
    return 0
