"""`promontory arena`: policies against each other, with progress and a table."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from promontory.bots.arena import ArenaResult, Plan, Standing, run_arena
from promontory.games import registry


def run(game: str, plan: Plan, *, as_json: bool) -> int:
    """Play `plan` and print what came out."""
    with Progress(console=Console(stderr=True), disable=as_json, transient=True) as progress:
        task = progress.add_task(" against ".join(plan.policies), total=plan.games)
        result = run_arena(
            registry.game(game),
            plan,
            cpu_clock=time.process_time,
            progress=lambda done, _: progress.update(task, completed=done),
        )
    console = Console()
    if as_json:
        console.print_json(msgspec.json.encode(result).decode())
    else:
        console.print(_table(result, "policy", result.policies))
        console.print(_table(result, "seat", result.seats))
    return 0


def _table(result: ArenaResult, what: str, standings: Sequence[Standing]) -> Table:
    title = f"{result.rules_version}: {result.games} games, {result.draws} draws, {result.mean_turns:.1f} turns a game"
    table = Table(what, "wins", "share", "95 % interval", "CPU a decision", title=title)
    for each in standings:
        share = each.share
        table.add_row(
            each.name,
            str(each.wins),
            f"{share.value:.1%}",
            f"{share.low:.1%} to {share.high:.1%}",
            f"{1e6 * each.cpu_seconds_per_decision:.0f} µs",
        )
    return table
