"""How fast the rules are: `make bench-rules`, or `python -m tests.bench.rules --help`.

Every game is played with each number of seats it is for, by the policy `random` in every seat. Measured are the whole
games, with views and choices, and then the bare rules: the recorded commands judged and recorded again, first all
together, then one by one. Figures are CPU time, each single one with the half microsecond it takes to read the clock.
Compare the ratios of one run, since machines differ and are noisy; `--against` measures another checkout in turns with
this one.

In the same run OpenSpiel's games of like size are played, where it is installed. A decision is what a random player
needs, theirs or ours: to be told what is legal, to choose, and to have the choice applied (`peers/openspiel.py` says
what differs). The ratios are decisions per CPU second of ours to theirs.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat, takewhile
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any

import msgspec
from rich.table import Table

from promontory.bots.registry import policy
from promontory.games.fairness import KeyedDraws, match_key
from promontory.games.kernel import fold
from promontory.games.registry import GAMES, AnyGame, entry
from tests.bench.peers.openspiel import TO_INSTALL, PeerFigures, has_peers, measure_peer, peers
from tests.bench.reporting import amount, checkout, parser_of, place, progress, report, rounded, run, table, whole

HOTTEST = 10
ROUNDS = 3
"""How often each of two checkouts is measured; the best of each figure counts."""


class Limits(msgspec.Struct, frozen=True):
    """How much is played with each number of seats: `games`, fewer if they take longer than `seconds` of CPU time."""

    games: int
    seconds: float
    policy: str = "random"


class Recording(msgspec.Struct, frozen=True):
    """One game as it was played: its draws, its seats, its commands, and how long each took to choose in ns."""

    draws: KeyedDraws
    seats: int
    commands: tuple[Any, ...]
    choosing: tuple[int, ...]


class Times(msgspec.Struct, frozen=True):
    """CPU times of one thing done many times, in microseconds."""

    median: float
    p99: float
    slowest: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of one game with one number of seats: what is done per CPU second, and how long one thing takes.

    `games_per_second` is with views and choices, `rules_games_per_second` and `commands_per_second` without, and
    `decisions_per_second` with the legal commands and the choice, but no more of the view. `command` is the time to
    decide a command and to evolve the state, `choice` that of the policy to choose it from the view.
    """

    game: str
    seats: int
    games: int
    commands: int
    games_per_second: float
    rules_games_per_second: float
    commands_per_second: float
    decisions_per_second: float
    command: Times
    choice: Times


class Hot(msgspec.Struct, frozen=True):
    """A function's share of the time of whole games, 0 to 1, itself and with all it calls; and its calls a command."""

    function: str
    own: float
    with_callees: float
    calls_per_command: float


def play(game: AnyGame, seats: int, number: int, *, policy_name: str = "random") -> Recording:
    """Play one whole game of legal commands."""
    draws = KeyedDraws(match_key(f"bench-{number}", number.to_bytes(32, "big"), [b""] * seats), game.name)
    choose, rng, commands, choosing = policy(game, policy_name), Random(number), [], []
    state = game.initial(seats)
    state = fold(game, state, game.begin(state, draws, draw_start=False))
    while acting := game.to_act(state):
        view = game.view(state, acting[0])
        started = time.process_time_ns()
        command = choose(view, rng)
        choosing.append(time.process_time_ns() - started)
        state = fold(game, state, game.decide(state, command, draws))
        commands.append(command)
    return Recording(draws, seats, tuple(commands), tuple(choosing))


def decide_again(game: AnyGame, recording: Recording) -> None:
    """Decide and evolve the recorded commands, and find all that is legal before each."""
    for state, command in zip(judge_again(game, recording), (*recording.commands, None), strict=True):
        if command is not None:
            game.legal(state, game.seat_of(command))


def judge_again(game: AnyGame, recording: Recording) -> Iterator[Any]:
    """Decide and evolve the recorded commands, and nothing else; yield the state before each and at the end."""
    state = game.initial(recording.seats)
    state = fold(game, state, game.begin(state, recording.draws, draw_start=False))
    yield state
    for command in recording.commands:
        state = fold(game, state, game.decide(state, command, recording.draws))
        yield state


def played(game: AnyGame, seats: int, limits: Limits) -> Iterator[Recording]:
    """Play games until one of the limits is reached, one at least."""
    end = time.process_time() + limits.seconds
    for number in takewhile(lambda number: not number or time.process_time() < end, range(limits.games)):
        yield play(game, seats, number, policy_name=limits.policy)


def measure(game: AnyGame, seats: int, limits: Limits) -> Figures:
    """Return the figures of a game with `seats` seats."""
    started = time.process_time()
    recordings = list(played(game, seats, limits))
    whole = time.process_time() - started
    started = time.process_time()
    commands = sum(sum(1 for _ in judge_again(game, recording)) - 1 for recording in recordings)
    bare = time.process_time() - started
    deciding = _deciding_seconds(game, recordings)
    clocks = [[time.process_time_ns() for _ in judge_again(game, recording)] for recording in recordings]
    return Figures(
        game=game.name,
        seats=seats,
        games=len(recordings),
        commands=commands,
        games_per_second=round(len(recordings) / whole, 1),
        rules_games_per_second=round(len(recordings) / bare, 1),
        commands_per_second=round(commands / bare),
        decisions_per_second=round(commands / deciding),
        command=times([after - before for clock in clocks for before, after in pairwise(clock)]),
        choice=times([nanoseconds for recording in recordings for nanoseconds in recording.choosing]),
    )


def _deciding_seconds(game: AnyGame, recordings: Sequence[Recording]) -> float:
    """Return what a random player needs for all of `recordings`: to know what is legal, to choose, and to act."""
    started = time.process_time()
    for recording in recordings:
        decide_again(game, recording)
    choosing = sum(sum(recording.choosing) for recording in recordings)
    return time.process_time() - started + choosing / 1e9


def times(nanoseconds: Sequence[int]) -> Times:
    """Return median, 99th percentile and most of CPU times given in ns, two at least."""
    cuts = quantiles(nanoseconds, n=100, method="inclusive")
    return Times(*(round(each / 1000, 1) for each in (cuts[49], cuts[98], max(nanoseconds))))


def hottest(game: AnyGame, limits: Limits) -> list[Hot]:
    """Return the functions in which whole games with the most seats spend most of their time."""
    profiler = cProfile.Profile()
    recordings = profiler.runcall(lambda: list(played(game, max(game.seats), limits)))
    commands = sum(len(recording.commands) for recording in recordings)
    stats = pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
    entries = sorted((item for item in stats if not _is_ours(item[0])), key=lambda item: -item[1][2])
    total = sum(own for _, (_, _, own, _, _) in entries)
    return [
        Hot(place(where), round(own / total, 4), round(cumulative / total, 4), round(calls / commands, 2))
        for where, (_, calls, own, cumulative, _) in entries[:HOTTEST]
    ]


def best(runs: Iterable[Figures]) -> Figures:
    """Return the best of each figure in several runs of the same: noise only ever makes things slower."""
    first, *others = runs
    for other in others:
        first = msgspec.structs.replace(
            first,
            games_per_second=max(first.games_per_second, other.games_per_second),
            rules_games_per_second=max(first.rules_games_per_second, other.rules_games_per_second),
            commands_per_second=max(first.commands_per_second, other.commands_per_second),
            decisions_per_second=max(first.decisions_per_second, other.decisions_per_second),
            command=_least(first.command, other.command),
            choice=_least(first.choice, other.choice),
        )
    return first


def compared(
    against: Path, names: Sequence[str], limits: Limits, *, quiet: bool
) -> tuple[list[Figures], list[Figures]]:
    """Return the figures of this checkout and of another one, measured in turns, each in processes of its own."""
    here = Path(__file__).parents[2]
    runs: dict[Path, list[list[Figures]]] = {here: [], against: []}
    with progress(quiet=quiet) as shown:
        for root in shown.track([here, against] * ROUNDS, description="Playing, in turns with the other checkout"):
            runs[root].append(_measured_in(root, names, limits))
    ours, theirs = ([best(same) for same in zip(*each, strict=True)] for each in runs.values())
    return ours, theirs


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the games and print the figures, then what is hottest, and last all as one line of JSON."""
    arguments = _parser().parse_args(argv)
    limits = Limits(arguments.games, arguments.seconds, arguments.policy)
    names = [arguments.game] if arguments.game else [game.name for game in GAMES]
    theirs: list[Figures] = []
    if arguments.against:
        figures, theirs = compared(arguments.against, names, limits, quiet=arguments.json)
    else:
        figures = _measured(names, limits, quiet=arguments.json)
    others = _measured_peers(limits, quiet=arguments.json) if arguments.peers else []
    hot = {name: hottest(entry(name).load(), limits) for name in (names if arguments.profile else ())}
    found = {
        "ratio_to_openspiel": ratios_to_peers(figures, others),
        "ratio_to_against": ratios_to(figures, theirs),
        "figures": figures,
        "against": theirs,
        "peers": others,
        "hottest": hot,
    }
    report(found, _tables(figures, theirs, others, hot), only_json=arguments.json)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("rules", __doc__)
    parser.add_argument("--game", choices=[game.name for game in GAMES], help="measure this game only")
    parser.add_argument(
        "--games", type=whole, default=200, help="games with each number of seats (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=amount, default=3, help="play no longer than this (default: %(default)s)")
    parser.add_argument("--policy", default="random", help="the policy in every seat (default: %(default)s)")
    parser.add_argument("--profile", action="store_true", help="also show the ten hottest functions of each game")
    parser.add_argument(
        "--against", type=checkout, metavar="CHECKOUT", help="compare with another checkout of the project"
    )
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave OpenSpiel's games out")
    return parser


def ratios_to(figures: Iterable[Figures], theirs: Iterable[Figures]) -> dict[str, float]:
    """Return how many decisions each game takes while it takes one in another checkout, with the fewest seats."""
    pairs = reversed([(each, other) for each, other in zip(figures, theirs, strict=False)])
    found = {each.game: round(each.decisions_per_second / other.decisions_per_second, 3) for each, other in pairs}
    return dict(reversed(found.items()))


def ratios_to_peers(figures: Iterable[Figures], others: Iterable[PeerFigures]) -> dict[str, dict[str, float]]:
    """Return how many decisions each game takes while a peer takes one, with the fewest seats it is for."""
    others, ours = list(others), {figure.game: figure for figure in reversed(list(figures))}
    return {
        name: {other.game: round(figure.decisions_per_second / other.decisions_per_second, 3) for other in others}
        for name, figure in reversed(ours.items())
    }


def _measured(names: Iterable[str], limits: Limits, *, quiet: bool) -> list[Figures]:
    kinds = [(game, seats) for game in (entry(name).load() for name in names) for seats in game.seats]
    figures = []
    with progress(quiet=quiet) as shown:
        for game, seats in shown.track(kinds, description="Playing"):
            figures.append(measure(game, seats, limits))
    return figures


def _measured_peers(limits: Limits, *, quiet: bool) -> list[PeerFigures]:
    if not has_peers():
        sys.stderr.write(f"{TO_INSTALL}\n")
        return []
    with progress(quiet=quiet) as shown:
        kinds = shown.track(peers(), description="Playing OpenSpiel's games")
        return [measure_peer(name, language, seconds=limits.seconds) for name, language in kinds]


def _measured_in(root: Path, names: Sequence[str], limits: Limits) -> list[Figures]:
    """Return the figures of the games in the checkout `root`, measured by this program in a process of its own."""
    options = ("--games", str(limits.games), "--seconds", str(limits.seconds), "--policy", limits.policy)
    figures: list[Figures] = []
    for name in names:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.bench.rules", "--json", "--no-peers", "--game", name, *options],
            cwd=Path(__file__).parents[2],
            env={"PYTHONPATH": str(root / "services")},
            check=True,
            stdout=subprocess.PIPE,
        )
        figures += msgspec.convert(msgspec.json.decode(ran.stdout)["figures"], list[Figures])
    return figures


def _least(one: Times, other: Times) -> Times:
    return Times(*map(min, msgspec.structs.astuple(one), msgspec.structs.astuple(other)))


def _is_ours(where: tuple[str, int, str]) -> bool:
    return where[0] == __file__ or "process_time" in where[2]


_RATES: dict[str, Callable[[Figures], float]] = {
    "games/s": lambda each: each.games_per_second,
    "without views": lambda each: each.rules_games_per_second,
    "commands/s": lambda each: each.commands_per_second,
    "decisions/s": lambda each: each.decisions_per_second,
}
_TIMES: dict[str, Callable[[Figures], float]] = {
    "command": lambda each: each.command.median,
    "p99": lambda each: each.command.p99,
    "most": lambda each: each.command.slowest,
    "choice": lambda each: each.choice.median,
    "p99 ": lambda each: each.choice.p99,
    "most ": lambda each: each.choice.slowest,
}

_HOT = ("own", "total", "calls")


def _tables(
    figures: Sequence[Figures],
    theirs: Sequence[Figures],
    others: Sequence[PeerFigures],
    hot: Mapping[str, Sequence[Hot]],
) -> Iterator[Table]:
    ratio = f"; in brackets the ratio to the other checkout, the best of {ROUNDS} runs of each" if theirs else ""
    rates = table(f"Per CPU second: whole games, and commands without views{ratio}", "game", "seats", "games", *_RATES)
    spans = table("µs to decide and evolve a command (median), and to choose one", "game", "seats", *_TIMES)
    for each, other in zip(figures, theirs or repeat(None), strict=False):
        rates.add_row(each.game, str(each.seats), str(each.games), *_cells(_RATES, each, other))
        spans.add_row(each.game, str(each.seats), *_cells(_TIMES, each, other))
    yield from (rates, spans)
    if others:
        yield _beside(figures, others)
    for game, functions in hot.items():
        made = table(f"Hottest in {game}: time of its own, with callees, calls a command", "function", *_HOT)
        for one in functions:
            made.add_row(one.function, f"{one.own:.1%}", f"{one.with_callees:.1%}", f"{one.calls_per_command:.2f}")
        yield made


def _beside(figures: Sequence[Figures], others: Sequence[PeerFigures]) -> Table:
    """Return the table of OpenSpiel's games, with the ratios of ours to each."""
    ratios = ratios_to_peers(figures, others)
    title = "OpenSpiel's games, per CPU second, and how many decisions ours take while they take one"
    made = table(title, "game", "language", "decisions a game", "games/s", "decisions/s", *ratios)
    for other in others:
        length = rounded(other.decisions / other.games)
        rates = (rounded(other.games_per_second), rounded(other.decisions_per_second))
        own = [f"{each[other.game]:.2f}" for each in ratios.values()]
        made.add_row(other.game, other.language, length, *rates, *own)
    return made


def _cells(columns: dict[str, Callable[[Figures], float]], each: Figures, other: Figures | None) -> list[str]:
    ratios = ["" if other is None else f" ({figure(each) / figure(other):.2f})" for figure in columns.values()]
    return [f"{rounded(figure(each))}{ratio}" for figure, ratio in zip(columns.values(), ratios, strict=True)]


if __name__ == "__main__":
    run(main)
