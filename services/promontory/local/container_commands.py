"""`promontory keys` and `promontory health`: what containers need beside the processes themselves."""

from __future__ import annotations

import argparse
from pathlib import Path

from promontory.local.arguments import Parsers, command


def add_keys(commands: Parsers) -> None:
    """Add `promontory keys`."""
    summary = "Make the keys of an installation, those that are not there yet."
    keys = command(commands, "keys", _run_keys, summary)
    keys.add_argument("directory", type=Path, metavar="DIR", help="where they are kept")
    keys.add_argument(
        "--no-players",
        action="store_true",
        help="none to sign for players with: their tokens come from an identity provider of your own",
    )
    keys.add_argument(
        "--retire",
        action="store_true",
        help="make none; take away services' public keys that no private one is left of",
    )


def _run_keys(arguments: argparse.Namespace) -> int:
    from promontory.local.keys import create_installation, retire

    if arguments.retire:
        gone = [f"took the public key {kid} away: what it signed is refused" for kid in retire(arguments.directory)]
        print("\n".join(gone) or "every public key is in use")
        return 0
    for file in create_installation(arguments.directory, with_players=not arguments.no_players):
        print(f"made {file}")
    return 0


def add_health(commands: Parsers) -> None:
    """Add `promontory health`."""
    health = command(commands, "health", _run_health, "Ask a process whether it serves, by default the container's.")
    health.epilog = "Exit code 1: it does not serve."
    health.add_argument("--service", default="", help="the gRPC service that is to serve (default: the process)")
    health.add_argument(
        "--address", metavar="HOST:PORT", help="a gRPC server (default: of whom wrote PROMONTORY_READY_FILE)"
    )


def _run_health(arguments: argparse.Namespace) -> int:
    from promontory.runtime.health import check_ready, check_service
    from promontory.runtime.settings import SettingsError, given

    if arguments.address:
        address = check_service(arguments.address, arguments.service)
    elif ready_file := given("ready_file"):
        address = check_ready(Path(ready_file), arguments.service)
    else:
        raise SettingsError("whose health? name it with --address, or set PROMONTORY_READY_FILE as the process has it")
    print(f"{address} serves")
    return 0
