"""What people see of the demonstration: a live line of progress, then tables."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Self

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from promontory.local.scrape import Scrape

if TYPE_CHECKING:
    from promontory.local.demo import MatchResult, Result


class Display:
    """Shows progress on standard error; `quiet` shows none, and the result as one JSON object."""

    def __init__(self, matches: int, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True, quiet=quiet)
        self._progress = Progress(
            TextColumn("[bold]matches"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[figures]}"),
            console=self._console,
        )
        self._task = self._progress.add_task("matches", total=matches, figures="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, sentence: str) -> None:
        """Print a line above the progress."""
        self._console.print(f"[dim]{sentence}[/dim]")

    def finished(self, result: MatchResult) -> None:
        """Count a finished match and print its line."""
        self._progress.advance(self._task)
        seats = zip(result.players, result.scores, result.places, strict=True)
        line = ", ".join(
            f"{'[green]' if place == 1 else '[white]'}{player} {score}[/]" for player, score, place in seats
        )
        self._console.print(f"{result.match_id}  {line}  [dim]{result.version} commits[/dim]", soft_wrap=True)

    def figures(self, scraped: Scrape) -> None:
        """Show what the processes count now."""
        commands = int(scraped.total("promontory_commands_total", outcome="accepted"))
        running = int(
            scraped.total("promontory_matches_created_total") - scraped.total("promontory_matches_closed_total")
        )
        text = f"{running} running, {commands} commands"
        self._progress.update(self._task, figures=text)

    def show(self, result: Result) -> None:
        """Print the result."""
        if self._quiet:
            Console().print_json(msgspec.json.encode(result).decode())
            return
        console = Console()
        console.print(_leaderboard(result))
        console.print(_figures(result))


def _leaderboard(result: Result) -> Table:
    table = Table("pool", "rank", "player", "assured", "rating", "matches", title="Leaderboard")
    for pool, lines in groupby(result.leaderboard, key=lambda line: line.pool):
        table.add_section()
        for line in lines:
            figures = (f"{line.assured_points:.0f}", f"{line.points:.0f}", str(line.matches))
            table.add_row(pool, str(line.rank), line.player, *figures)
    return table


def _figures(result: Result) -> Table:
    table = Table(title="From the processes' metrics", show_header=False)
    audited = sum(each.audited for each in result.results)
    commands = (result.commands_accepted, result.commands_overtaken, result.commands_rejected)
    rows = {
        "matches finished / failed": f"{result.finished} / {result.failed}",
        "logs exported and audited": f"{audited} of {result.finished} in order",
        "time": f"{result.seconds:.1f} s, {result.matches_per_minute:.0f} matches a minute",
        "commands accepted / overtaken / refused": " / ".join(map(str, commands)),
        "commands a second": f"{result.commands_per_second:.0f}",
        "command p50 / p99": f"{result.p50_ms:.1f} / {result.p99_ms:.1f} ms",
        "events appended": str(result.events_appended),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table
