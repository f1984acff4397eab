"""How fast the house plays: `make bench-bots`, or `python -m tests.bench.bots --help`.

The real platform, every process of it, on a server of its own with an fsync before each answer. House bots play one
another, first in one match, then in many at once: what makes a bot to act is a commit, which sets an obligation in the
log; the relay publishes it as a Celery task, and a worker plays the turn by the SDK, one or more commands of it. The
commits themselves tell when they were recorded, so that the latency is from the commit that makes a bot to act to the
first one of its own. Before that, players resign many rated matches while no relay runs; once it does, each is tallied
by scoring and listed by the lobby, through Celery as well.

Everything shares the machine, so that no time is better than it can do all at once; CPU time is each process's own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import msgspec
import structlog
import uvloop
from rich.progress import Progress
from rich.table import Table

from promontory.api.match.v1.match_pb2 import SEAT_KIND_HOUSE_BOT, MatchSetup, SeatSetup
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.eventlog.port import Commit, StreamStatus, game_buckets
from promontory.eventlog.redis_streams import RedisEventLog, open_log
from promontory.games.registry import GAMES, entry
from promontory.local.platform import GAME_NAMES, Platform
from promontory.rules.records import decode_meta
from promontory.runtime import clock
from promontory.runtime.identity import SERVICE_SCOPES
from promontory.runtime.settings import RelaySettings
from tests.bench.measuring import Measured, Meter, Spread, spread
from tests.bench.reporting import amount, parser_of, progress, report, rounded, run, table, whole

WARM_SECONDS = 1.0
LATE_SECONDS = 60
POLL_SECONDS = 0.05
AT_ONCE = 16
"""How many calls of this process are under way while matches are made or resigned."""


class Load(msgspec.Struct, frozen=True):
    """What is played: by which policy, how many matches at a time, for how long; and how many matches are tallied."""

    game: str
    policy: str
    matches: int
    seconds: float
    tallies: int
    workers: int


class Turns(msgspec.Struct, frozen=True):
    """Bots' turns of so many matches at a time; CPU ms a turn by process, and the cores that others used."""

    matches: int
    turns: int
    commands: int
    turns_per_second: float
    commands_per_second: float
    latency: Spread
    cpu_ms_per_turn: dict[str, float]
    foreign_cores: float


class Tallies(msgspec.Struct, frozen=True):
    """Closed matches that were tallied and listed; CPU ms a match by process."""

    matches: int
    tallies_per_second: float
    cpu_ms_per_tally: dict[str, float]
    foreign_cores: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run; ratios are of the many matches to the one, shares those in the CPU time of many."""

    load: Load
    turns: Sequence[Turns]
    tallies: Tallies
    ratio_to_one_match: dict[str, float]
    share_of_cpu: dict[str, float]


class House:
    """The platform, its log, and calls to the services of one game."""

    def __init__(self, platform: Platform, log: RedisEventLog, game: str) -> None:
        self.log, self._platform, self._game = log, platform, game
        self._identity = platform.keys.service("bench", SERVICE_SCOPES)
        self._channel = grpc.aio.insecure_channel(platform.endpoints[game])
        self._stub: Any = Stub(self._channel, codec(game).service)
        self._messages: Any = codec(game).messages
        self._made = 0

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close(None)

    def meter(self) -> Meter:
        """Return what measures the CPU time of all processes."""
        children, server = self._platform.processes.items(), self._platform.server
        pids = {"rules" if name == self._game else name: child.pid for name, child in children}
        return Meter({**pids, **({"server": server.pid} if server else {}), "bench": os.getpid()})

    async def bots_meet(self, policy: str) -> str:
        """Create a match of house bots, and return its id."""
        seats = [
            SeatSetup(player_id=f"house-{policy}-{seat}", kind=SEAT_KIND_HOUSE_BOT, bot_policy=policy)
            for seat in range(self._seats)
        ]
        return await self._create(MatchSetup(seats=seats))

    async def players_meet(self) -> tuple[str, str]:
        """Create a rated match of new players, and return its id and one of them."""
        player = f"player-{self._made}"
        seats = [SeatSetup(player_id=f"{player}-{seat}") for seat in range(self._seats)]
        return await self._create(MatchSetup(seats=seats, pool=f"{self._game}.ranked", rated=True)), f"{player}-0"

    async def resign(self, match_id: str, player: str) -> None:
        """Resign a match for the player of seat 0."""
        token = self._platform.keys.player_token(player)
        request = self._messages.ResignRequest(match_id=match_id, seat=0, request_id="resign")
        await self._stub.Resign(request, metadata=(("authorization", f"Bearer {token}"),))

    async def _create(self, setup: MatchSetup) -> str:
        self._made += 1
        request = self._messages.CreateMatchRequest(request_id=f"match-{self._made}", setup=setup)
        metadata = (("authorization", f"Bearer {self._identity.token()}"),)
        match_id: str = (await self._stub.CreateMatch(request, metadata=metadata)).match.match_id
        return match_id

    @property
    def _seats(self) -> int:
        return entry(self._game).load().seats.start

    async def is_idle(self) -> bool:
        """Return whether no obligation of the game's matches is left."""
        buckets = game_buckets(entry(self._game).code, RelaySettings().buckets)
        return not await self.log.backlogs(buckets)

    def stop_relay(self) -> None:
        """Stop the relay, so that obligations wait."""
        self._platform.processes["relay"].terminate()
        self._platform.processes["relay"].wait()

    def start_relay(self) -> None:
        """Start it again."""
        self._platform.revive("relay")


async def play(house: House, load: Load, *, matches: int) -> Turns:
    """Have bots play so many matches at a time for as long as the load says; for one that ends another begins."""
    ids = list[str]()
    keeping = asyncio.create_task(_keep_playing(house, load.policy, ids, matches=matches))
    await asyncio.sleep(WARM_SECONDS)
    meter, start = house.meter(), clock.now_ms()
    await asyncio.wait([keeping], timeout=load.seconds)
    measured, end = meter.read(), clock.now_ms()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=not keeping.done())
    logs = [await house.log.read(match_id) for match_id in ids]
    latencies, commands = _latencies(logs, start, end)
    return Turns(
        matches=matches,
        turns=len(latencies),
        commands=commands,
        turns_per_second=round(len(latencies) / measured.seconds, 1),
        commands_per_second=round(commands / measured.seconds, 1),
        latency=spread(latencies),
        cpu_ms_per_turn=_each(measured, len(latencies)),
        foreign_cores=measured.foreign_cores,
    )


async def _keep_playing(house: House, policy: str, ids: list[str], *, matches: int) -> None:
    """Keep so many matches under way until cancelled, and add the ids of all to `ids`."""
    under_way = list[str]()
    while True:
        heads = [await house.log.head(match_id) for match_id in under_way]
        still = zip(under_way, heads, strict=True)
        under_way = [match_id for match_id, head in still if head and head.status is StreamStatus.OPEN]
        while len(under_way) < matches:
            under_way.append(await house.bots_meet(policy))
            ids.append(under_way[-1])
        await asyncio.sleep(POLL_SECONDS)


def _latencies(logs: Sequence[Sequence[Commit]], start: int, end: int) -> tuple[list[float], int]:
    """Return the latencies of the turns that began between two times, in s, and how many commits there were."""
    latencies, commands = list[float](), 0
    for commits in logs:
        metas = [decode_meta(commit.meta) for commit in commits]
        for before, after in pairwise(metas):
            if start <= after.recorded_at_ms < end:
                commands += 1
                if before.actor != after.actor:
                    latencies.append((after.recorded_at_ms - before.recorded_at_ms) / 1000)
    return latencies, commands


async def tally(house: House, load: Load) -> Tallies:
    """Resign matches while no relay runs; start it, and wait until all are tallied and listed."""
    house.stop_relay()
    some = asyncio.Semaphore(AT_ONCE)

    async def close() -> None:
        async with some:
            await house.resign(*await house.players_meet())

    await asyncio.gather(*(close() for _ in range(load.tallies)))
    house.start_relay()
    meter, deadline = house.meter(), clock.monotonic() + LATE_SECONDS
    while not await house.is_idle():
        if clock.monotonic() > deadline:
            raise TimeoutError(f"matches were not tallied in {LATE_SECONDS} s")
        await asyncio.sleep(POLL_SECONDS)
    measured = meter.read()
    return Tallies(
        load.tallies,
        round(load.tallies / measured.seconds, 1),
        _each(measured, load.tallies),
        measured.foreign_cores,
    )


def _each(measured: Measured, count: int) -> dict[str, float]:
    """Return CPU ms for one of `count` by process; those that took next to none count as others."""
    each = {name: 1000 * spent / max(1, count) for name, spent in measured.cpu.items()}
    idle = {name for name in each if name in (*GAME_NAMES, "admin")}
    others = sum(each[name] for name in idle)
    return {name: round(spent, 2) for name, spent in {**each, "others": others}.items() if name not in idle}


async def measure(platform: Platform, load: Load, shown: Progress) -> Figures:
    """Return the figures of one run."""
    step = shown.add_task("Tallying", total=3)
    async with open_log(platform.redis_url, clock=clock.now_ms, require_aof=True) as log:
        house = House(platform, log, load.game)
        tallies = await tally(house, load)
        shown.update(step, advance=1, description="One match of bots")
        found = [await play(house, load, matches=1)]
        shown.update(step, advance=1, description=f"{load.matches} matches of bots")
        found.append(await play(house, load, matches=load.matches))
        await house.close()
    return Figures(load, found, tallies, ratios(found), shares(found[-1]))


def ratios(found: Sequence[Turns]) -> dict[str, float]:
    """Return what many matches do to turns, latency and CPU time a turn."""
    one, many = found[0], found[-1]
    return {
        "turns_per_second": round(many.turns_per_second / one.turns_per_second, 3),
        "latency_p50": round(many.latency.p50 / one.latency.p50, 3),
        "cpu_per_turn": round(_cpu_ms(many) / _cpu_ms(one), 3),
    }


def shares(turns: Turns) -> dict[str, float]:
    """Return the shares of processes in the CPU time of turns."""
    spent, all_spent = turns.cpu_ms_per_turn, _cpu_ms(turns)
    names = ("rules", "worker-0", "relay", "server")
    return {name.partition("-")[0]: round(spent[name] / all_spent, 3) for name in names}


def _cpu_ms(turns: Turns) -> float:
    return sum(spent for name, spent in turns.cpu_ms_per_turn.items() if name != "bench")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("bots", __doc__)
    names = [game.name for game in GAMES]
    parser.add_argument("--game", choices=names, default="transcontinental", help="the game (default: %(default)s)")
    parser.add_argument("--policy", default="greedy", help="the policy in every seat (default: %(default)s)")
    parser.add_argument("--matches", type=whole, default=20, help="matches at a time (default: %(default)s)")
    parser.add_argument("--seconds", type=amount, default=10, help="how long, for one and many (default: %(default)s)")
    parser.add_argument("--tallies", type=whole, default=200, help="matches that are tallied (default: %(default)s)")
    parser.add_argument("--workers", type=whole, default=1, help="worker processes (default: %(default)s)")
    arguments = vars(parser.parse_args(argv))
    quiet = arguments.pop("json")
    load = Load(**arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with (
        progress(quiet=quiet) as shown,
        tempfile.TemporaryDirectory() as directory,
        Platform(Path(directory), workers=load.workers) as platform,
    ):
        figures = uvloop.run(measure(platform, load, shown))
    report(figures, _tables(figures), only_json=quiet)


def _tables(figures: Figures) -> Iterator[Table]:
    load, tallied = figures.load, figures.tallies
    title = f"Turns of the bot {load.policy} in {load.game}, {load.workers} worker"
    made = table(title, "", *(f"{each.matches} at a time" for each in figures.turns))
    rows: dict[str, list[str]] = {
        "turns a second": [rounded(each.turns_per_second) for each in figures.turns],
        "commands a second": [rounded(each.commands_per_second) for each in figures.turns],
        "from commit to commit, ms": [
            f"p50 {each.latency.p50:,.0f}, p95 {each.latency.p95:,.0f}, p99 {each.latency.p99:,.0f}"
            for each in figures.turns
        ],
        **_rows_of_cpu("turn", [each.cpu_ms_per_turn for each in figures.turns]),
        "cores used by others": [f"{each.foreign_cores:.2f}" for each in figures.turns],
    }
    for name, cells in rows.items():
        made.add_row(name, *cells)
    yield made
    made = table("Rated matches that are tallied and listed", "", "")
    made.add_row("matches a second", rounded(tallied.tallies_per_second))
    for name, cells in _rows_of_cpu("match", [tallied.cpu_ms_per_tally]).items():
        made.add_row(name, *cells)
    made.add_row("cores used by others", f"{tallied.foreign_cores:.2f}")
    yield made


def _rows_of_cpu(unit: str, found: Sequence[Mapping[str, float]]) -> dict[str, list[str]]:
    return {f"CPU ms a {unit}: {name}": [rounded(each[name]) for each in found] for name in found[0]}


if __name__ == "__main__":
    run(main)
