"""How fast the rules are: `make bench-rules`, or `python -m tests.bench.rules --help`.

Every game plays the same number of whole games with the policy `random` in every seat. Measured are the whole games,
with views and choices, and then the bare rules: the recorded commands judged and recorded again. Figures are CPU time;
compare the ratios of one run, since machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from promontory.bots.registry import policy
from promontory.games.fairness import KeyedDraws, match_key
from promontory.games.kernel import fold
from promontory.games.registry import GAMES, AnyGame

HOTTEST = 10


class Recording(msgspec.Struct, frozen=True):
    """One game as it was played: its draws, its seats and its commands."""

    draws: KeyedDraws
    seats: int
    commands: tuple[Any, ...]


class Figures(msgspec.Struct, frozen=True):
    """One game's figures: per CPU second, and a command's share of it in microseconds."""

    game: str
    seats: int
    games: int
    commands: int
    games_per_second: float
    commands_per_second: float
    rules_microseconds_per_command: float


def play(game: AnyGame, seats: int, number: int) -> Recording:
    """Play one whole game of random legal commands."""
    draws = KeyedDraws(match_key(f"bench-{number}", number.to_bytes(32, "big"), [b""] * seats), game.name)
    choose, rng, commands = policy(game, "random"), Random(number), []
    state = fold(game, game.initial(seats), game.begin(game.initial(seats), draws, draw_start=False))
    while acting := game.to_act(state):
        command = choose(game.view(state, acting[0]), rng)
        state = fold(game, state, game.decide(state, command, draws))
        commands.append(command)
    return Recording(draws, seats, tuple(commands))


def judge_again(game: AnyGame, recordings: Sequence[Recording]) -> None:
    """Decide and evolve all recorded commands, and nothing else."""
    for recording in recordings:
        state = game.initial(recording.seats)
        state = fold(game, state, game.begin(state, recording.draws, draw_start=False))
        for command in recording.commands:
            state = fold(game, state, game.decide(state, command, recording.draws))


def measure(game: AnyGame, seats: int, games: int, *, quiet: bool) -> Figures:
    """Return the figures of `games` games with `seats` seats."""
    numbers = track(range(games), f"{game.name}, {seats} seats", console=Console(stderr=True), disable=quiet)
    started = time.process_time()
    recordings = [play(game, seats, number) for number in numbers]
    whole = time.process_time() - started
    started = time.process_time()
    judge_again(game, recordings)
    bare = time.process_time() - started
    commands = sum(len(recording.commands) for recording in recordings)
    return Figures(
        game=game.name,
        seats=seats,
        games=games,
        commands=commands,
        games_per_second=round(games / whole, 1),
        commands_per_second=round(commands / bare),
        rules_microseconds_per_command=round(1e6 * bare / commands, 1),
    )


def profile(run: Callable[[], object]) -> list[tuple[str, float]]:
    """Return the functions in which `run` spends most of its time, and each one's own share of it, 0 to 1."""
    profiler = cProfile.Profile()
    profiler.runcall(run)
    entries = sorted(pstats.Stats(profiler).stats.items(), key=lambda item: -item[1][2])  # type: ignore[attr-defined]
    total = sum(numbers[2] for _, numbers in entries)
    return [(_place(where), numbers[2] / total) for where, numbers in entries[:HOTTEST]]


def _place(where: tuple[str, int, str]) -> str:
    file, line, name = where
    return f"{file.rpartition('promontory/')[2]}:{line} {name}" if line else name


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every game and print the figures, then what is hottest."""
    parser = argparse.ArgumentParser(prog="bench-rules", description="Measure the rules of every game.")
    parser.add_argument("--games", type=int, default=200, help="games of each kind (default: %(default)s)")
    parser.add_argument("--profile", action="store_true", help="also show the ten hottest functions of each game")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args(argv)
    kinds = [(entry.load(), seats) for entry in GAMES for seats in entry.load().seats]
    figures = [measure(game, seats, arguments.games, quiet=arguments.json) for game, seats in kinds]
    hottest = {
        f"{game.name}, {seats} seats": profile(lambda game=game, seats=seats: [play(game, seats, n) for n in range(20)])
        for game, seats in (kinds if arguments.profile else [])
    }
    if arguments.json:
        sys.stdout.write(json.dumps({"figures": msgspec.to_builtins(figures), "hottest": hottest}) + "\n")
    else:
        _show(figures, hottest)


def _show(figures: Sequence[Figures], hottest: dict[str, list[tuple[str, float]]]) -> None:
    console = Console()
    table = Table(
        "game", "seats", "games/s", "commands/s (rules only)", "µs a command", "ratio", title="Rules, per CPU second"
    )
    first = figures[0].commands_per_second
    for each in figures:
        ratio = f"{each.commands_per_second / first:.2f}"
        numbers = (each.games_per_second, each.commands_per_second, each.rules_microseconds_per_command)
        table.add_row(each.game, str(each.seats), *map(str, numbers), ratio)
    console.print(table)
    for game, places in hottest.items():
        table = Table("function", "own share", title=f"Hottest in {game}")
        for place, share in places:
            table.add_row(place, f"{share:.1%}")
        console.print(table)


if __name__ == "__main__":
    main()
