"""What the commands of the command line share: options, and how they show what they found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from promontory.client.places import DATA_DIRECTORY, REDIS_URL_FILE

Run = Callable[[argparse.Namespace], int]
Parsers = Any  # argparse's class of sub-parsers is private, as is that of groups of options
Options = Any

ARCHIVE_DIRECTORY = "archive"
"""Where `promontory up` keeps finished matches, below its data directory."""


def command(commands: Parsers, name: str, run: Run, summary: str) -> argparse.ArgumentParser:
    """Add the command `name`, which `run` runs, and return its parser."""
    added: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    added.set_defaults(run=run)
    return added


def group(commands: Parsers, name: str, summary: str, *, of: str) -> Parsers:
    """Return the sub-parsers of a command that is a group `of` commands, one of which must be named."""
    grouped = commands.add_parser(name, help=summary, description=summary)
    return grouped.add_subparsers(title=f"{of}s", metavar=of.upper(), required=True)


def count(text: str) -> int:
    """Return the number 1 or more that `text` is."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text}")
    return int(text)


def json_option(command: argparse.ArgumentParser, *, instead: str = "JSON") -> None:
    """Add `--json`; `instead` of text says what is printed."""
    command.add_argument("--json", action="store_true", help=f"print {instead} instead of text")


def output_option(command: argparse.ArgumentParser, *, usual: str) -> None:
    """Add `--output`; without it the command writes to what is `usual`."""
    command.add_argument("--output", type=Path, metavar="FILE", help=f"where to write it (default: {usual})")


def seat_option(command: Options) -> None:
    """Add `--seat`."""
    command.add_argument(
        "--seat",
        type=int,
        metavar="N",
        help="a seat to look from, from 0; your own while the match is open (default: a spectator)",
    )


def game_data_option(command: argparse.ArgumentParser) -> None:
    """Add `--game-data`."""
    command.add_argument(
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


def game_data(arguments: argparse.Namespace) -> dict[str, list[bytes]]:
    """Return the contents of the files that `--game-data` names, by game."""
    found: dict[str, list[bytes]] = {}
    for game, file in arguments.game_data:
        found.setdefault(game, []).append(file.read_bytes())
    return found


def data_option(command: argparse.ArgumentParser) -> None:
    """Add `--data-dir`."""
    command.add_argument(
        "--data-dir",
        type=Path,
        default=DATA_DIRECTORY,
        metavar="DIR",
        help="keys, data and logs (default: %(default)s)",
    )


def access_options(command: argparse.ArgumentParser) -> None:
    """Add what a command needs that calls the services as a player."""
    command.add_argument(
        "--endpoints",
        default="",
        help="host:port of an edge to all services, or each one's own: matchmaking=host:port,scoring=host:port,"
        "GAME=host:port,..., for example transcontinental=host:port; https://host:port where TLS is spoken, trusting "
        "the certificates in the file that GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names, if any (default: `promontory up`)",
    )
    command.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the player's token (default: `promontory up`)"
    )
    data_option(command)


def access(arguments: argparse.Namespace) -> Any:
    """Return how the services are to be called."""
    from promontory.client.access import Access

    return Access(arguments.data_dir, arguments.endpoints, arguments.token_file, tell=tell)


def redis_url(arguments: argparse.Namespace) -> str:
    """Return the address of the server that holds the logs: that of `promontory up`, unless the settings name one."""
    from promontory.runtime.settings import ProcessSettings, given, load

    noted: Path = arguments.data_dir / REDIS_URL_FILE
    return noted.read_text() if noted.exists() and not given("redis_url") else load(ProcessSettings).redis_url


def archive_url(arguments: argparse.Namespace) -> str:
    """Return the archive's address: as given, from the settings, or that of `promontory up`; or an empty one."""
    from promontory.runtime.settings import given

    usual: Path = arguments.data_dir.absolute() / ARCHIVE_DIRECTORY
    named: str = getattr(arguments, "archive", "") or given("archive_url") or ""
    return named or (usual.as_uri() if usual.is_dir() else "")


def tell(line: str) -> None:
    """Show a line beside the output."""
    print(line, file=sys.stderr, flush=True)


def count_line(what: str) -> Callable[[int], None]:
    """Return what shows a count on one line of the terminal, if there is one."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda done: print(f"\r\033[K{done} {what} ...\r", end="", file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """Print `value` as JSON."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())
