"""How fast matches are made: `make bench-matchmaking`, or `python -m tests.bench.matchmaking --help`.

The real matchmaking process, with the real rules service and an event log of its own. Thousands of tickets wait in
many pools, too far from each other in rating to be paired; then players arrive at a steady pace, each near to somebody
who waits, enter a pool, and watch their tickets until they have a match, which the rules service has then created.
After that, tickets are entered as fast as the process takes them. Scoring is played by this process: it gives each
player the rating that the benchmark wants.

Clients, services and server share the machine, so that times are no better than it can do all at once; CPU time is each
process's own. The wait of a player is that of its client, from entering to the word of the match; gaps are those that
matchmaking notes in its log. The other tables are of the matcher alone, with one pool of up to 100,000 tickets: what a
ticket costs should not grow with how many there are, and a look at those who go on waiting should cost next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc
import msgspec
import structlog
import uvloop
from rich.progress import Progress
from rich.table import Table

from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as pb
from promontory.api.matchmaking.v1.matchmaking_service_pb2_grpc import MatchmakingServiceStub
from promontory.eventlog.redis_server import connect
from promontory.local.functions import load_all
from promontory.matchmaking.domain import Entrant, Ticket
from promontory.matchmaking.redis_tickets import RedisTickets, Server
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer
from tests.bench.measuring import Measured, Meter, Spread, memory_mib, spread
from tests.bench.pairing import COMING, Looks, Pairing, measure_looks, measure_pairing
from tests.bench.processes import Processes
from tests.bench.reporting import amount, parser_of, progress, report, rounded, run, table, whole
from tests.support.matchmaking_processes import SCORING_SERVICE, Scores
from tests.support.serving import served

GAME = "transcontinental"
RATINGS = 3000.0
"""Players' ratings lie between 0 and this."""
REACH = 0.8
"""How far a ticket reaches, of the distance between two that wait."""
SETTLED_SECONDS = 1.0


class Load(msgspec.Struct, frozen=True):
    """Tickets that wait in so many pools, players who arrive a second, for so long; then so many callers at once."""

    waiting: int
    pools: int
    rate: float
    seconds: float
    callers: int


class Phase(msgspec.Struct, frozen=True):
    """What was done in one phase, and what it cost: CPU ms a ticket by process, and the cores that others used."""

    tickets: int
    matches: int
    tickets_per_second: float
    cpu_ms_per_ticket: dict[str, float]
    foreign_cores: float


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run.

    `waits` are of those players who got a match; the gaps between the two players of a match are in rating points,
    and as a share of what their tickets accept. `ratio_to_smallest_pool` is of the pairing's time a ticket, to that in
    the smallest pool of as many seats, and of the time that one who comes takes among those who wait.
    """

    load: Load
    steady: Phase
    unmatched: int
    waits: Spread
    mean_gap: float
    gap_of_window: float
    flat_out: Phase
    memory_mib: float
    pairing: Sequence[Pairing]
    looks: Sequence[Looks]
    ratio_to_smallest_pool: dict[str, float]


class SpreadScores(Scores):
    """A scoring service that finds a player's rating in its name: `arrival-7-1234.5`."""

    async def GetRating(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Return the rating."""
        self.points = float(request.player_id.rpartition("-")[2])
        return await super().GetRating(request, context)


class MatchmakingSite:
    """Where everything runs, and who calls it."""

    def __init__(self, load: Load, directory: Path, server: EmbeddedServer) -> None:
        self.load, self._directory, self._server = load, directory, server
        self._processes = Processes(directory, server.url)
        self.keys = self._processes.keys
        self.window = REACH * RATINGS * load.pools / load.waiting
        self.rng = Random(1)

    async def start(self, scoring: str) -> None:
        """Start the processes, and connect."""
        pools = self._directory / "pools.toml"
        pools.write_text("".join(self._pool(number) for number in range(self.load.pools)), "utf-8")
        self.rules = self._processes.start("rules", f"serve rules --game {GAME}")
        environ = {
            "PROMONTORY_RULES_TARGETS": f"{GAME}={self.rules.ready().grpc}",
            "PROMONTORY_SCORING_TARGET": scoring,
            "PROMONTORY_POOLS_FILE": str(pools),
        }
        self.matchmaking = self._processes.start("matchmaking", "serve matchmaking", environ)
        self._channel = grpc.aio.insecure_channel(self.matchmaking.ready().grpc)
        self.stub = MatchmakingServiceStub(self._channel)

    def _pool(self, number: int) -> str:
        window = f"{{ points = {self.window}, points_per_second = 0, most_points = {self.window} }}"
        return f'[[pools]]\nid = "{_pool_id(number)}"\ngame = "{GAME}"\nseats = 2\nrated = true\nwindow = {window}\n'

    async def stop(self) -> None:
        """End the processes."""
        await self._channel.close(None)
        self._processes.close()

    async def fill(self) -> None:
        """Have tickets wait in every pool, none within the reach of another."""
        each = self.load.waiting // self.load.pools
        async with connect(self._server.url) as connections:
            tickets = RedisTickets(Server(connections.commands, blocking=connections.blocking), retention_seconds=60)
            for number in range(self.load.pools):
                made = [_ticket(number, RATINGS * (place + 0.5) / each) for place in range(each)]
                await asyncio.gather(*(tickets.create(ticket, most_open=1) for ticket in made))

    def meter(self) -> Meter:
        """Return what measures the CPU time of all that takes part."""
        pids = {"matchmaking": self.matchmaking.pid, "rules": self.rules.pid, "server": self._server.pid}
        return Meter({**pids, "clients": os.getpid()})

    async def enter(self, number: int) -> tuple[str, Any]:
        """Enter a new player into some pool, and return the ticket with the player's metadata."""
        player = f"arrival-{number}-{self.rng.uniform(0, RATINGS):.2f}"
        identity = self.keys.as_player(player)
        request = pb.CreateTicketRequest(request_id="1", pool=_pool_id(self.rng.randrange(self.load.pools)))
        response = await self.stub.CreateTicket(request, metadata=identity)
        return response.ticket.ticket_id, identity

    async def wait(self, ticket: str, identity: Any) -> None:
        """Watch a ticket until it has a match."""
        async for response in self.stub.WatchTicket(pb.WatchTicketRequest(ticket_id=ticket), metadata=identity):
            if response.ticket.state == pb.TICKET_STATE_ASSIGNED:
                return

    def gaps(self) -> list[float]:
        """Return the rating gaps of all matches made so far."""
        lines = self.matchmaking.log_file.read_bytes().splitlines()
        made = [msgspec.json.decode(line) for line in lines if b'"match_made"' in line]
        return [line["rating_gap"] for line in made]


def _pool_id(number: int) -> str:
    return f"bench.pool_{number}"


def _ticket(pool: int, rating: float) -> Ticket:
    name = f"waiting-{pool}-{rating:.2f}"
    return Ticket(
        id=f"tk-{name}",
        pool=_pool_id(pool),
        entrant=Entrant(name),
        rating=rating,
        created_ms=clock.now_ms(),
        fingerprint="0" * 64,
    )


@asynccontextmanager
async def site(load: Load) -> AsyncIterator[tuple[MatchmakingSite, str]]:
    """Run everything in a temporary directory; give it with the address of the server."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with EmbeddedServer(directory / "valkey", fsync="everysec") as server:
            await load_all(server.url, require_aof=True)
            found = MatchmakingSite(load, directory, server)
            async with served([(SCORING_SERVICE, SpreadScores())], found.keys) as scoring:
                await found.start(scoring)
                try:
                    yield found, server.url
                finally:
                    await found.stop()


async def steady(where: MatchmakingSite) -> tuple[Phase, list[float], int]:
    """Have players arrive; return the phase, the waits of those who got a match, and how many got none."""
    load, waits, tasks = where.load, list[float](), list[asyncio.Task[None]]()

    async def arrive(number: int) -> None:
        began = time.perf_counter()
        await where.wait(*await where.enter(number))
        waits.append(time.perf_counter() - began)

    meter, start, before = where.meter(), time.perf_counter(), len(where.gaps())
    for number in range(int(load.rate * load.seconds)):
        await asyncio.sleep(max(0, start + number / load.rate - time.perf_counter()))
        tasks.append(asyncio.create_task(arrive(number)))
    await asyncio.sleep(SETTLED_SECONDS)
    measured, done = meter.read(), len(waits)
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended
    return _phase(measured, len(tasks), len(where.gaps()) - before), waits[:done], len(tasks) - done


async def flat_out(where: MatchmakingSite) -> Phase:
    """Enter players as fast as they are taken."""
    load, done, before = where.load, 0, len(where.gaps())
    meter, until = where.meter(), time.perf_counter() + load.seconds / 2

    async def enter(caller: int) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await where.enter(1_000_000 * (caller + 1) + done)
            done += 1

    await asyncio.gather(*(enter(caller) for caller in range(load.callers)))
    return _phase(meter.read(), done, len(where.gaps()) - before)


def _phase(measured: Measured, tickets: int, matches: int) -> Phase:
    return Phase(
        tickets=tickets,
        matches=matches,
        tickets_per_second=round(tickets / measured.seconds, 1),
        cpu_ms_per_ticket={name: round(1000 * spent / tickets, 3) for name, spent in measured.cpu.items()},
        foreign_cores=measured.foreign_cores,
    )


async def measure(load: Load, shown: Progress) -> Figures:
    """Return the figures of one run."""
    async with site(load) as (where, url):
        step = shown.add_task("Filling the pools", total=4)
        await where.fill()
        shown.update(step, advance=1, description="Players arrive")
        arrived, waits, unmatched = await steady(where)
        gaps = where.gaps()
        shown.update(step, advance=1, description="Tickets flat out")
        pressed = await flat_out(where)
        used = memory_mib(where.matchmaking.pid)
        shown.update(step, advance=1, description="One large pool")
        pairing, looks = await measure_pairing(url), measure_looks()
    gap = sum(gaps) / max(1, len(gaps))
    return Figures(
        load=load,
        steady=arrived,
        unmatched=unmatched,
        waits=spread(waits),
        mean_gap=round(gap, 2),
        gap_of_window=round(gap / where.window, 3),
        flat_out=pressed,
        memory_mib=round(used, 1),
        pairing=pairing,
        looks=looks,
        ratio_to_smallest_pool=ratios(pairing, looks),
    )


def ratios(pairing: Sequence[Pairing], looks: Sequence[Looks]) -> dict[str, float]:
    """Return the times a ticket, to that in the smallest pool of as many seats, or among the fewest who wait."""
    least = {each.seats: each.pair_us for each in reversed(pairing)}
    paired = {
        f"pair_{each.seats}_seats_{each.tickets}_tickets": round(each.pair_us / least[each.seats], 3)
        for each in pairing
    }
    come = {f"come_to_{each.tickets}_tickets": round(each.ticket_us / looks[0].ticket_us, 3) for each in looks}
    return paired | come


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = parser_of("matchmaking", __doc__)
    parser.add_argument("--waiting", type=whole, default=5000, help="tickets that wait at first (default: %(default)s)")
    parser.add_argument("--pools", type=whole, default=30, help="pools (default: %(default)s)")
    parser.add_argument("--rate", type=amount, default=60, help="arrivals a second (default: %(default)s)")
    parser.add_argument("--seconds", type=amount, default=16, help="how long players arrive (default: %(default)s)")
    parser.add_argument("--callers", type=whole, default=32, help="callers at once, flat out (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = Load(arguments.waiting, arguments.pools, arguments.rate, arguments.seconds, arguments.callers)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with progress(quiet=arguments.json) as shown:
        figures = uvloop.run(measure(load, shown))
    report(figures, _tables(figures), only_json=arguments.json)


def _tables(figures: Figures) -> Iterator[Table]:
    load, waits = figures.load, figures.waits
    title = f"{load.waiting} tickets wait in {load.pools} pools"
    made = table(title, "", f"{load.rate:g} arrivals a second", f"flat out, {load.callers} at once")
    phases = (figures.steady, figures.flat_out)
    made.add_row("tickets taken a second", *(rounded(phase.tickets_per_second) for phase in phases))
    made.add_row("matches made", *(f"{phase.matches:,}" for phase in phases))
    for name in figures.steady.cpu_ms_per_ticket:
        made.add_row(f"CPU ms a ticket: {name}", *(rounded(phase.cpu_ms_per_ticket[name]) for phase in phases))
    made.add_row("from entering to a match, ms", f"p50 {waits.p50:,.0f}, p95 {waits.p95:,.0f}, p99 {waits.p99:,.0f}")
    made.add_row("still waiting at the end", f"{figures.unmatched:,}")
    made.add_row("mean rating gap, points", f"{figures.mean_gap:.1f}, {figures.gap_of_window:.0%} of the window")
    made.add_row("cores used by others", *(f"{phase.foreign_cores:.2f}" for phase in phases))
    yield made
    made = table(
        "One pool, in the matcher itself",
        "seats",
        "tickets",
        "groups",
        "mean gap",
        "pairing, µs a ticket",
        "to the smallest",
        "reading, µs a ticket",
    )
    for each in figures.pairing:
        ratio = figures.ratio_to_smallest_pool[f"pair_{each.seats}_seats_{each.tickets}_tickets"]
        spans = (rounded(each.pair_us), f"{ratio:.2f}", rounded(each.read_us))
        made.add_row(str(each.seats), f"{each.tickets:,}", f"{each.groups:,}", rounded(each.mean_gap), *spans)
    yield made
    titles = ("who wait", "a look, nobody new, µs", f"{COMING} new a look, µs a ticket", "to the fewest")
    made = table("One pool of tickets that cannot be paired, looked at four times a second", *titles)
    for look in figures.looks:
        ratio = figures.ratio_to_smallest_pool[f"come_to_{look.tickets}_tickets"]
        made.add_row(f"{look.tickets:,}", rounded(look.idle_us), rounded(look.ticket_us), f"{ratio:.2f}")
    yield made


if __name__ == "__main__":
    run(main)
