"""`promontory matches` and `promontory table`."""

from __future__ import annotations

import argparse
import asyncio
from datetime import timedelta
from typing import Any

from promontory.local.arguments import (
    Parsers,
    access,
    access_options,
    command,
    count,
    group,
    json_option,
    print_json,
    tell,
)


def add_matches(commands: Parsers) -> None:
    """Add `promontory matches`."""
    summary = "List one's own matches, those that are being played, or what a player has played."
    matches = command(commands, "matches", _run_matches, summary)
    which = matches.add_mutually_exclusive_group()
    which.add_argument("--live", action="store_true", help="open matches, whoever plays; needs --game or --pool")
    which.add_argument("--player", default="", metavar="ID", help="closed matches of this player")
    which.add_argument("--open", action="store_true", help="own matches that are not over")
    which.add_argument("--finished", action="store_true", help="own matches that are over")
    matches.add_argument("--game", default="", help="only this game's")
    matches.add_argument("--pool", default="", help="only this pool's")
    matches.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (default: %(default)s)")
    access_options(matches)
    json_option(matches, instead="a JSON list")


def _run_matches(arguments: argparse.Namespace) -> int:
    from promontory.client import lobby_reading

    wish = lobby_reading.Wish(
        live=arguments.live,
        player=arguments.player,
        state="open" if arguments.open else "closed" if arguments.finished else "",
        game=arguments.game,
        pool=arguments.pool,
        limit=arguments.limit,
    )
    found = asyncio.run(lobby_reading.matches(access(arguments), wish))
    if arguments.json:
        print_json(found)
    else:
        print(lobby_reading.matches_text(found))
    return 0


def add_table(commands: Parsers) -> None:
    """Add `promontory table`."""
    actions = group(commands, "table", "Play with friends, or with house bots, at a private table.", of="action")
    create = command(actions, "create", _run_create, "Open a table, show its invite code, and wait for the match.")
    create.add_argument("--game", required=True, help="the game")
    create.add_argument("--seats", type=count, metavar="N", help="how many seats (default: as few as the game allows)")
    create.add_argument("--variant", default="", help="the way to play (default: the usual one)")
    create.add_argument(
        "--bot", action="append", type=_bot, default=[], metavar="SEAT=POLICY", help="a house bot; may be repeated"
    )
    create.add_argument(
        "--clock", type=_clock, metavar="BASE+INCREMENT", help="minutes for the match and seconds for each turn: 10+5"
    )
    join = command(actions, "join", _run_join, "Take a seat at a table, and wait for the match.")
    join.add_argument("code", help="the table's invite code")
    rematch = command(actions, "rematch", _run_rematch, "Ask to play a match again, or agree to it, and wait for it.")
    rematch.add_argument("match", help="the closed match's id")
    for action in (create, join, rematch):
        action.epilog = "Ctrl-C gives the seat up."
        access_options(action)
        json_option(action)


def _bot(text: str) -> tuple[int, str]:
    seat, _, policy = text.partition("=")
    if not seat.isdecimal() or not policy:
        raise argparse.ArgumentTypeError(f"must be SEAT=POLICY, for example 1=greedy, not {text!r}")
    return int(seat), policy


def _clock(text: str) -> Any:
    from promontory.client.clocks import TimeControl
    from promontory.codec.terms import ClockKind

    minutes, _, seconds = text.partition("+")
    if not minutes.isdecimal() or not (seconds or "0").isdecimal():
        raise argparse.ArgumentTypeError(f"must be MINUTES+SECONDS, for example 10+5, not {text!r}")
    increment = timedelta(seconds=int(seconds or 0))
    return TimeControl(ClockKind.INCREMENT, timedelta(minutes=int(minutes)), increment=increment)


def _run_create(arguments: argparse.Namespace) -> int:
    from promontory.client.tables import TableOptions

    options = TableOptions(
        seats=arguments.seats,
        variant=arguments.variant,
        house_bots=dict(arguments.bot),
        time_control=arguments.clock,
    )
    return _wait(arguments, lambda client: client.create_table(arguments.game, options))


def _run_join(arguments: argparse.Namespace) -> int:
    return _wait(arguments, lambda client: client.join_table(arguments.code))


def _run_rematch(arguments: argparse.Namespace) -> int:
    return _wait(arguments, lambda client: client.rematch(arguments.match))


def _wait(arguments: argparse.Namespace, sit: Any) -> int:
    """Sit down, show what happens at the table, and then the match."""
    from promontory.client import lobby_reading

    found = asyncio.run(lobby_reading.wait(access(arguments), sit, tell=tell))
    if arguments.json:
        print_json(found)
    else:
        print(found.sentence())
    return 0
