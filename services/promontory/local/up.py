"""`promontory up`: the platform until Ctrl-C, and what to try against it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from rich.console import Console
from rich.table import Table

from promontory.client.places import DATA_DIRECTORY, ENDPOINTS_FILE, REDIS_URL_FILE, TOKEN_FILE
from promontory.local.arguments import ARCHIVE_DIRECTORY
from promontory.local.platform import Platform
from promontory.local.processes import ProcessFailed
from promontory.runtime.embedded import ServerFailed
from promontory.runtime.settings import given

PLAYER = "you"
WATCH_SECONDS = 1.0


def run(directory: Path, *, any_ports: bool, workers: int) -> int:
    """Run the platform in `directory` until Ctrl-C or SIGTERM; a process that dies is started again."""
    console = Console()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell's background jobs would ignore SIGINT
        signal.signal(number, lambda *_: stop.set())
    platform = Platform(
        directory,
        redis_url=given("redis_url"),
        usual_ports=not any_ports,
        workers=workers,
        settings=_archive_settings(directory),
    )
    try:
        with console.status("starting"):
            platform.start()
        write_connection(platform)
        welcome(platform, console)
        while not stop.wait(WATCH_SECONDS):
            restart_dead(platform, console)
    finally:
        with console.status("stopping"):
            platform.stop()
    console.print("stopped; the matches stay in", str(directory))
    return 0


def _archive_settings(directory: Path) -> dict[str, str]:
    """Return the setting that has finished matches kept in `directory`, unless the user names another archive."""
    if given("archive_url"):
        return {}
    return {"PROMONTORY_ARCHIVE_URL": (directory.absolute() / ARCHIVE_DIRECTORY).as_uri()}


def write_connection(platform: Platform) -> None:
    """Write what a client on this machine needs: a `token` of the player `you`, and last `endpoints.json`."""
    _write_whole(platform.directory / TOKEN_FILE, platform.keys.player_token(PLAYER))
    _write_whole(platform.directory / REDIS_URL_FILE, platform.redis_url)
    _write_whole(platform.directory / ENDPOINTS_FILE, json.dumps(platform.endpoints, indent=1) + "\n")


def _write_whole(file: Path, text: str) -> None:
    """Write a file of the user's own that nobody ever sees unfinished."""
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.replace(file)


def restart_dead(platform: Platform, console: Console) -> None:
    """Start everything again that has ended, the server first; what does not start now is tried again next time."""
    for name in platform.ended():
        console.print(f"[yellow]{name} ended and is started again; its log: {platform.log_file(name)}[/yellow]")
        try:
            platform.revive(name)
        except (ProcessFailed, ServerFailed) as error:
            console.print(f"[red]{error}[/red]")
            return


def welcome(platform: Platform, console: Console) -> None:
    """Say where everything is, and what to try."""
    table = Table("process", "gRPC", "metrics", "pid", title="Promontory is up")
    for name, ready in platform.ready.items():
        table.add_row(name, ready.grpc or "-", f"http://{ready.metrics}/metrics", str(ready.pid))
    console.print(table)
    places = {
        "event log": platform.redis_url,
        "logs": platform.directory / "logs",
        f"a development token of the player `{PLAYER}`": platform.directory / TOKEN_FILE,
    }
    for what, where in places.items():
        console.print(f"{what}: {where}", soft_wrap=True)
    console.print("\nTry:")
    for command in _to_try(platform):
        console.print(f"  {command}", style="cyan", soft_wrap=True)
    console.print("\nCtrl-C stops it; data and keys stay.")


def _to_try(platform: Platform) -> list[str]:
    called = os.path.relpath(sys.argv[0]) if os.sep in sys.argv[0] else sys.argv[0]
    home = "" if platform.directory == DATA_DIRECTORY.absolute() else f" --data-dir {platform.directory}"
    return [
        f"{called} bot new my_bot.py",
        f"{called} bot run my_bot.py --pool transcontinental.ranked{home}",
        f"{called} leaderboard --pool transcontinental.ranked{home}",
    ]
