"""`promontory player`: what the platform holds about a player, and having a player forgotten."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

from promontory.games.text import counted
from promontory.local.arguments import (
    Parsers,
    access,
    access_options,
    command,
    group,
    json_option,
    output_option,
    print_json,
    tell,
)

if TYPE_CHECKING:
    from promontory.client.players import Forgetting

POLL_SECONDS = 1.0


def add_player(commands: Parsers) -> None:
    """Add `promontory player`."""
    actions = group(commands, "player", "Show, export or forget players.", of="action")
    shown = command(actions, "id", _run_id, "Show the player id of your token, or of a subject.")
    shown.add_argument("--subject", default="", help="what the identity provider calls the player (operators)")
    export = command(actions, "export", _run_export, "Write all that the platform holds about a player, as JSON.")
    output_option(export, usual="standard output")
    forget = command(actions, "forget", _run_forget, "Have a player forgotten; this cannot be undone.")
    forget.add_argument("--yes", action="store_true", help="do not ask whether it is meant")
    json_option(forget)
    for action in (export, forget):
        action.add_argument(
            "player", nargs="?", default="", help="any player's id, with the platform's keys (default: your own)"
        )
    for action in (shown, export, forget):
        access_options(action)


def _run_id(arguments: argparse.Namespace) -> int:
    async def show(client: Any) -> str:
        return await client.player_id(arguments.subject)  # type: ignore[no-any-return]

    print(_with_client(arguments, show, as_operator=bool(arguments.subject)))
    return 0


def _run_export(arguments: argparse.Namespace) -> int:
    async def export(client: Any) -> bytes:
        return await client.export_player(arguments.player)  # type: ignore[no-any-return]

    document = _with_client(arguments, export, as_operator=bool(arguments.player))
    if arguments.output is None:
        print(document.decode(), end="")
    else:
        arguments.output.write_bytes(document)
        print(f"wrote {arguments.output}")
    return 0


def _run_forget(arguments: argparse.Namespace) -> int:
    if not arguments.yes and not _is_meant(arguments.player or "your own player"):
        tell("promontory: not forgotten; only the whole word yes, or --yes, does it")
        return 1

    async def forget(client: Any) -> Any:
        return await _forgotten(client, arguments.player)

    found = _with_client(arguments, forget, as_operator=bool(arguments.player))
    if arguments.json:
        print_json(found)
    else:
        print(_sentence(found))
    return 0


def _is_meant(player: str) -> bool:
    print(f"This forgets {player} for good: type yes to go on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


async def _forgotten(client: Any, player: str) -> Forgetting:
    """Have the player forgotten, and return the last that can be told: when all is done, or the token is revoked."""
    from promontory.client.errors import Unauthenticated

    player = player or await client.player_id()
    found: Forgetting = await client.forget_player(player)
    while not found.is_done:
        await asyncio.sleep(POLL_SECONDS)
        try:
            found = await client.forget_player(player)
        except Unauthenticated:
            break
    return found


def _with_client(arguments: argparse.Namespace, use: Any, *, as_operator: bool) -> Any:
    """Return what `use` returns for a client of the player, or of an operator who holds the services' key."""

    async def run() -> Any:
        async with access(arguments).client(token=_operator(arguments) if as_operator else None) as client:
            return await use(client)

    return asyncio.run(run())


def _operator(arguments: argparse.Namespace) -> Any:
    """Return what mints tokens that may export and forget any player."""
    from promontory.local.keys import KeyRing
    from promontory.runtime.identity import Scope

    ring = KeyRing(arguments.data_dir / "keys")
    ring.require()
    return ring.service("operator", frozenset({Scope.EXPORT_PLAYER, Scope.FORGET_PLAYER})).token


def _sentence(found: Forgetting) -> str:
    counts = f"{counted(found.tickets_cancelled, 'ticket')} cancelled, {counted(found.tables_left, 'table')} left"
    boards = counted(len(found.pools), "leaderboard")
    rest = f"{counted(found.matches_resigned, 'match', 'matches')} resigned, off {boards}"
    done = "is forgotten" if found.is_done else "is being forgotten; the rest goes on by itself"
    return f"{found.player_id} {done}: {counts}, {rest}"
