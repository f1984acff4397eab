"""What `bench-capacity` reckons with: what was measured, as costs of what is done, and assumptions about a site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.bench.earlier import Pieces
from tests.bench.reporting import BenchFailed
from tests.bench.scale import grouped
from tests.bench.tables import GAME

DAY_SECONDS = 86_400
SEATS = 2
READERS = 3
"""Processes that were told of commits when that was measured: two of rules, and a relay."""
SMALLEST = "one server"
PROCESSES = {
    "rules": "rules",
    "relay": "relay",
    "store": "store",
    "server": "store",
    "worker": "workers",
    "scoring": "scoring",
    "matchmaking": "matchmaking",
}
"""What a process is, by the name that a benchmark gives it, without its number."""
Costs = Mapping[str, Mapping[str, float]]
"""CPU time in µs of what is done, and of it of each process."""


class Assumed(msgspec.Struct, frozen=True):
    """The site: `house` is the share of commands that house bots give, `use` how busy a core may be, 0 to 1 both.

    `peak` is the busiest hour over the average one. A closed match stays in the store for `kept_seconds`. Of the games
    in `games`, or of all that were measured, as many are played of each.
    """

    games_per_day: float = 5_000_000
    peak: float = 3
    use: float = 0.6
    house: float = 0.125
    seconds_per_move: float = 5
    kept_seconds: float = 3600
    primary_gib: float = 16
    kind: str = "unary"
    games: Sequence[str] = ()


class Game(msgspec.Struct, frozen=True):
    """A game of two: its commands, and how many µs more than Transcontinental's rules its own take for each."""

    name: str
    commands: float
    extra_us: float


class Feed(msgspec.Struct, frozen=True):
    """What being told of commits takes of one process: `fixed` cores, and `us` of a core for each commit."""

    fixed: float
    us: float

    def cores(self, rate: float) -> float:
        """Return the cores at `rate` commits a second."""
        return self.fixed + self.us * rate / 1e6


class MissingPiece(BenchFailed):
    """Without this piece nothing can be reckoned."""


class PlannedSite(msgspec.Struct, frozen=True):
    """What is reckoned with; `source` is where a move's costs are from, and `feeds` are by what processes are."""

    assumed: Assumed
    source: str
    costs: Costs
    feeds: Mapping[str, Feed]
    games: Sequence[Game]
    commands_per_turn: float

    @property
    def games_per_second(self) -> float:
        """Games a second, on average."""
        return self.assumed.games_per_day / DAY_SECONDS

    @property
    def length(self) -> float:
        """Commands of a game, on average."""
        return sum(game.commands for game in self.games) / len(self.games)

    def commands(self, game: Game, times: float) -> float:
        """Return the commands a second of `game`, at so many times the average."""
        return self.games_per_second / len(self.games) * times * game.commands

    def parts(self, game: Game, process: str) -> list[tuple[float, float, str]]:
        """Return what `process` does for one match: how often, µs for each, and what."""
        people = 1 - self.assumed.house
        turns = game.commands * self.assumed.house / self.commands_per_turn
        counts = {"move": game.commands * people, "bot turn": turns, "tally": 1.0, "ticket": SEATS * people}
        extra = (
            {"move": game.extra_us, "bot turn": game.extra_us * self.commands_per_turn} if process == "rules" else {}
        )
        return [
            (counts[what], cost + extra.get(what, 0.0), what)
            for what, costs in self.costs.items()
            if (cost := costs.get(process))
        ]

    def per_game(self, game: Game, process: str) -> float:
        """Return the µs that a match of `game` takes of `process`."""
        return sum(count * cost for count, cost, _ in self.parts(game, process))

    def mean_per_game(self, process: str) -> float:
        """Return the µs that a match takes of `process`, on average."""
        return sum(self.per_game(game, process) for game in self.games) / len(self.games)


def planned_site(pieces: Pieces, assumed: Assumed) -> PlannedSite:
    """Return what is reckoned with, or raise `MissingPiece`."""
    scale = pieces.get("scale", {"figures": (), "told": ()})
    figure = next((each for each in reversed(scale["figures"]) if each["variant"]["kind"] == assumed.kind), None)
    if figure is None:
        raise MissingPiece(f"`make bench` has not measured scale, with moves by {assumed.kind}")
    variant, rate = figure["variant"], figure["moves_per_second"]
    feeds = _feeds(scale, variant["store"])
    told = {"rules": variant["processes"] * feeds["rules"].cores(rate), "store": READERS * feeds["store"].cores(rate)}
    move = _less(grouped(figure["cpu_us_by_process"]), told, rate)
    costs, turn = {"move": {process: move[process] for process in told}}, 1.0
    if bots := pieces.get("bots"):
        costs, turn = costs | _turns_and_tallies(bots, _feeds(scale, SMALLEST)), _commands_per_turn(bots)
    if matchmaking := pieces.get("matchmaking"):
        costs["ticket"] = _by_process(matchmaking["flat_out"]["cpu_ms_per_ticket"])
    source = f"{variant['processes']} rules processes on a {variant['store']}, by {assumed.kind}"
    return PlannedSite(assumed, source, costs, feeds, _games(pieces, assumed.games), turn)


def _feeds(scale: Any, store: str) -> dict[str, Feed]:
    """Return what being told takes of a rules process, of a relay, and of the store for each of them."""
    told = sorted(
        (each for each in scale["told"] if each["store"] == store), key=lambda each: each["commits_per_second"]
    )
    low, high = told[0], told[-1]
    rates = (low["commits_per_second"], high["commits_per_second"])
    feeds = {}
    for process, count in (("rules", READERS - 1), ("relay", 1), ("store", READERS)):
        cores = [grouped(each["cores"])[process] / count for each in (low, high)]
        us = max(0.0, 1e6 * (cores[1] - cores[0]) / (rates[1] - rates[0]))
        feeds[process] = Feed(max(0.0, cores[0] - us * rates[0] / 1e6), us)
    return feeds


def _less(costs: Mapping[str, float], cores: Mapping[str, float], rate: float) -> dict[str, float]:
    """Return `costs` in µs without what some `cores` did meanwhile, at `rate` a second."""
    return {process: max(0.0, cost - 1e6 * cores.get(process, 0.0) / rate) for process, cost in costs.items()}


def _turns_and_tallies(bots: Any, feeds: Mapping[str, Feed]) -> dict[str, Mapping[str, float]]:
    turns, tallies = bots["turns"][-1], bots["tallies"]
    at = {"bot turn": turns["commands_per_second"], "tally": tallies["tallies_per_second"]}
    told = {
        what: {name: (READERS if name == "store" else 1) * feed.cores(rate) for name, feed in feeds.items()}
        for what, rate in at.items()
    }
    return {
        "bot turn": _less(_by_process(turns["cpu_ms_per_turn"]), told["bot turn"], turns["turns_per_second"]),
        "tally": _less(_by_process(tallies["cpu_ms_per_tally"]), told["tally"], tallies["tallies_per_second"]),
    }


def _commands_per_turn(bots: Any) -> float:
    turns = bots["turns"][-1]
    return float(turns["commands"] / turns["turns"])


def _games(pieces: Pieces, names: Sequence[str]) -> list[Game]:
    if "rules" not in pieces:
        raise MissingPiece("`make bench` has not measured rules")
    figures = {each["game"]: each for each in pieces["rules"]["figures"] if each["seats"] == SEATS}
    if unknown := set(names) - set(figures):
        raise MissingPiece(f"`make bench` has not measured rules of {', '.join(sorted(unknown))} with {SEATS} seats")
    lengths = {name: each["commands"] / each["games"] for name, each in figures.items()}
    own = {name: 1e6 / (each["games_per_second"] * lengths[name]) for name, each in figures.items()}
    return [Game(name, lengths[name], own[name] - own[GAME]) for name in names or figures]


def _by_process(cpu_ms: Mapping[str, float]) -> dict[str, float]:
    """Return µs by what processes are, without those that only measure."""
    found: dict[str, float] = {}
    for name, each in cpu_ms.items():
        if process := PROCESSES.get(name.partition("-")[0]):
            found[process] = found.get(process, 0) + 1000 * each
    return found
