"""`promontory backup`, `restore` and `reconcile`."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from promontory.local.arguments import Parsers, archive_url, command, data_option, json_option, print_json, redis_url


def add_backup(commands: Parsers) -> None:
    """Add `promontory backup`."""
    summary = "Write all that the log's server holds as of now, and the archive's new files, to a directory."
    backup = command(commands, "backup", _run_backup, summary)
    backup.add_argument("directory", type=Path, help="where to; a backup in there is replaced, its archive added to")
    data_option(backup)
    json_option(backup)


def _run_backup(arguments: argparse.Namespace) -> int:
    from promontory.local import backups

    where = archive_url(arguments)
    made = asyncio.run(backups.back_up(redis_url(arguments), arguments.directory, archive_url=where))
    if arguments.json:
        print_json(made)
    else:
        print(made.sentence())
    return 0


def add_restore(commands: Parsers) -> None:
    """Add `promontory restore`."""
    restore = command(commands, "restore", _run_restore, "Make the data of `promontory up` from a backup.")
    restore.add_argument("directory", type=Path, help="the backup")
    data_option(restore)


def _run_restore(arguments: argparse.Namespace) -> int:
    from promontory.local import backups

    asyncio.run(backups.restore(arguments.directory, arguments.data_dir))
    print(f"restored to {arguments.data_dir}; next: promontory reconcile --restored")
    return 0


def add_reconcile(commands: Parsers) -> None:
    """Add `promontory reconcile`."""
    summary = "Verify a log that was restored, and leave to the archive what went on to its end there."
    reconcile = command(commands, "reconcile", _run_reconcile, summary)
    reconcile.epilog = "Only while no service runs. Exit code 1: a match cannot be read."
    reconcile.add_argument(
        "--restored", action="store_true", help="the data of `promontory up`, whose server is started for this"
    )
    data_option(reconcile)
    json_option(reconcile)


def _run_reconcile(arguments: argparse.Namespace) -> int:
    from promontory.local import backups
    from promontory.runtime.embedded import EmbeddedServer

    where = archive_url(arguments)
    if arguments.restored:
        with EmbeddedServer(arguments.data_dir / "valkey") as server:
            found = asyncio.run(backups.reconcile(server.url, archive_url=where))
    else:
        found = asyncio.run(backups.reconcile(redis_url(arguments), archive_url=where))
    if arguments.json:
        print_json(found)
    else:
        print(found.sentence())
    return 1 if found.unreadable else 0
