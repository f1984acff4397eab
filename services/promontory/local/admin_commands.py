"""`promontory admin`: looking into a running platform, and mending what is stuck."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promontory.local.arguments import Parsers, command, count, data_option, group, json_option, print_json, tell
from promontory.local.doctor_commands import add_doctor
from promontory.local.rebuild_commands import add_load_functions, add_rebuild

if TYPE_CHECKING:
    from promontory.client.admin import AdminClient

Use = Callable[["AdminClient"], Awaitable[Any]]
KINDS = ("bot", "clock", "tally", "list", "archive")
"""The kinds of obligations."""
LONGEST = timedelta(days=365 * 100)


def add_admin(commands: Parsers) -> None:
    """Add `promontory admin`."""
    actions = group(commands, "admin", "Look into a running platform, and mend what is stuck.", of="action")
    _looking(actions)
    _changing(actions)
    add_rebuild(actions)
    add_load_functions(actions)
    add_doctor(actions)


def _looking(actions: Parsers) -> None:
    match = command(actions, "match", _run_match, "Show how a match stands, what is owed to it, and its last commits.")
    match.add_argument("match", help="the match's id")
    match.add_argument("--commits", type=count, default=10, metavar="N", help="how many (default: %(default)s)")
    matches = command(actions, "matches", _run_matches, "List the open matches.")
    matches.add_argument("--rules", default="", metavar="VERSION", help="only those of these rules, as pacific/1")
    matches.add_argument("--game-data-hash", default="", metavar="HEX", help="only those with these cards or tiles")
    obligations = command(actions, "obligations", _run_obligations, "List what the platform owes to its matches.")
    obligations.add_argument("--parked", action="store_true", help="only what was tried too often")
    obligations.add_argument("--due", action="store_true", help="only what should have been done by now")
    obligations.add_argument("--kind", choices=KINDS, help="only those of this kind")
    for listing in (matches, obligations):
        listing.add_argument("--game", default="", help="only those of this game")
    acts = command(actions, "acts", _run_acts, "List what admins did, the newest first.")
    acts.add_argument("--by", default="", metavar="ADMIN", help="only those of this admin")
    acts.add_argument(
        "--on", default="", metavar="TARGET", help="only those on this match, player, obligation or process"
    )
    replicas = command(actions, "replicas", _run_replicas, "List the processes that serve, and what does not answer.")
    for action in (match, matches, obligations, acts, replicas):
        _access(action)


def _changing(actions: Parsers) -> None:
    release = command(actions, "release", _run_release, "Have a parked obligation tried anew.")
    drop = command(actions, "drop", _run_drop, "Give a parked obligation up; what it stands for is never done.")
    for action in (release, drop):
        action.add_argument("obligation", help="its name, as `promontory admin obligations` shows it")
    cancel = command(actions, "cancel", _run_cancel, "Cancel an open match; it has no result and counts nowhere.")
    cancel.add_argument("match", help="the match's id")
    cancel.add_argument("--note", default="", help="what its players are told")
    suspend = command(actions, "suspend", _run_suspend, "Keep a player out; open matches go on under their clocks.")
    suspend.add_argument("--for", dest="span", type=_span, required=True, metavar="SPAN", help="30m, 12h or 7d")
    restore = command(actions, "restore", _run_restore, "Let a suspended player in again.")
    for action in (suspend, restore):
        action.add_argument("player", help="the player's id")
    drain = command(
        actions, "drain", _run_drain, "Have a process stop, to be started anew; its streams go on elsewhere."
    )
    drain.add_argument("replica", help="its name, as `promontory admin replicas` shows it")
    drain.add_argument("--force", action="store_true", help="also if no other process of its kind serves")
    for action in (release, drop, cancel, suspend, restore, drain):
        asks = action in (drop, cancel, suspend)
        action.add_argument("--yes", action="store_true", help=_NOT_ASKED if asks else _NEVER_ASKED)
        action.add_argument("--reason", required=True, help="why; it is recorded with your name")
        _access(action)


_NOT_ASKED = "do not ask whether it is meant"
_NEVER_ASKED = "taken as by the acts that ask; this one does not"


def _span(text: str) -> timedelta:
    """Return the span that 30m, 12h or 7d is."""
    units = {"m": "minutes", "h": "hours", "d": "days"}
    number, unit = text[:-1], units.get(text[-1:])
    if unit is None or not number.isdecimal() or not timedelta() < timedelta(**{unit: int(number[:9])}) < LONGEST:
        raise argparse.ArgumentTypeError(f"must be like 30m, 12h or 7d, not {text}")
    return timedelta(**{unit: int(number)})


def _access(action: argparse.ArgumentParser) -> None:
    action.add_argument("--admin", default="", metavar="HOST:PORT", help="the admin service (default: `promontory up`)")
    action.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="an admin's token; without one it is minted with the development key of `promontory up`",
    )
    action.add_argument("--as", dest="name", default="operator", help="whom to mint it for (default: %(default)s)")
    data_option(action)
    json_option(action)


def _client(arguments: argparse.Namespace) -> AdminClient:
    """Return a client of the admin service, as an admin."""
    from promontory.client.access import Access, TokenFile
    from promontory.client.admin import AdminClient
    from promontory.local.keys import KeyRing

    endpoints = {"admin": arguments.admin} if arguments.admin else Access(arguments.data_dir).local_endpoints()
    if arguments.token_file:
        return AdminClient(endpoints, token=TokenFile(arguments.token_file), on_outage=lambda event: tell(str(event)))
    ring = KeyRing(arguments.data_dir / "keys")
    ring.require()
    token = ring.admin_token(arguments.name, life=timedelta(hours=1))
    return AdminClient(endpoints, token=token, on_outage=lambda event: tell(str(event)))


def _used(arguments: argparse.Namespace, use: Use) -> Any:
    async def run() -> Any:
        async with _client(arguments) as client:
            return await use(client)

    return asyncio.run(run())


def _run_match(arguments: argparse.Namespace) -> int:
    from promontory.local.admin_text import inspection_text

    found = _used(arguments, lambda client: client.inspect(arguments.match, commits=arguments.commits))
    return _show(arguments, found, lambda: inspection_text(arguments.match, found))


def _run_matches(arguments: argparse.Namespace) -> int:
    from promontory.local.admin_text import open_matches_text

    wanted = {"game": arguments.game, "rules_version": arguments.rules, "data_hash": arguments.game_data_hash}
    found = _used(arguments, lambda client: _all(client.open_matches(**wanted)))
    return _show(arguments, found, lambda: open_matches_text(found))


def _run_obligations(arguments: argparse.Namespace) -> int:
    from promontory.local.admin_text import obligations_text, wanted_obligations

    listed = _used(arguments, lambda client: _all(client.obligations(game=arguments.game, parked=arguments.parked)))
    found = wanted_obligations(listed, kind=arguments.kind, due=arguments.due)
    return _show(arguments, found, lambda: obligations_text(found))


def _run_acts(arguments: argparse.Namespace) -> int:
    from promontory.local.admin_text import acts_text

    found = _used(arguments, lambda client: _all(client.acts(admin=arguments.by, target=arguments.on)))
    return _show(arguments, found, lambda: acts_text(found))


def _run_replicas(arguments: argparse.Namespace) -> int:
    from promontory.local.admin_text import replicas_text

    found = _used(arguments, lambda client: client.replicas())
    return _show(arguments, found, lambda: replicas_text(found))


def _run_drain(arguments: argparse.Namespace) -> int:
    def drain(client: AdminClient) -> Awaitable[Any]:
        return client.drain(arguments.replica, reason=arguments.reason, force=arguments.force)

    return _act(arguments, drain)


def _run_release(arguments: argparse.Namespace) -> int:
    return _act(arguments, lambda client: client.release(arguments.obligation, reason=arguments.reason))


def _run_drop(arguments: argparse.Namespace) -> int:
    meant = f"gives {arguments.obligation} up for good"
    return _act(arguments, lambda client: client.drop(arguments.obligation, reason=arguments.reason), meant=meant)


def _run_cancel(arguments: argparse.Namespace) -> int:
    def cancel(client: AdminClient) -> Awaitable[Any]:
        return client.cancel(arguments.match, reason=arguments.reason, note=arguments.note)

    return _act(arguments, cancel, meant=f"ends the match {arguments.match} for good, without a result")


def _run_suspend(arguments: argparse.Namespace) -> int:
    from promontory.runtime import clock

    until = clock.now() + arguments.span
    meant = f"keeps {arguments.player} out until {until.isoformat(timespec='seconds')}"
    return _act(arguments, lambda client: client.suspend(arguments.player, until, reason=arguments.reason), meant=meant)


def _run_restore(arguments: argparse.Namespace) -> int:
    return _act(arguments, lambda client: client.restore(arguments.player, reason=arguments.reason))


def _act(arguments: argparse.Namespace, use: Use, *, meant: str = "") -> int:
    """Have something done, if it is `meant`, and show what was recorded."""
    from promontory.local.admin_text import acts_text

    if meant and not arguments.yes and not _is_meant(meant):
        return 1
    act = _used(arguments, use)
    return _show(arguments, act, lambda: acts_text([act]))


def _is_meant(what: str) -> bool:
    print(f"This {what}: type yes to go on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == "yes"


def _show(arguments: argparse.Namespace, found: Any, text: Callable[[], str]) -> int:
    if arguments.json:
        print_json(found)
    else:
        print(text())
    return 0


async def _all(entries: AsyncIterator[Any]) -> list[Any]:
    return [entry async for entry in entries]
