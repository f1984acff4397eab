"""How long the matcher takes over one pool of many tickets: the pairing, which is pure, and reading the queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from promontory.eventlog.redis_server import connect
from promontory.matchmaking.domain import Entrant, Pool, Ticket, Window
from promontory.matchmaking.pairing import Group, pair
from promontory.matchmaking.redis_tickets import RedisTickets, Server, key

SIZES = (1_000, 10_000, 100_000)
SEATS = (2, 4)
NOW_MS = 1_800_000_000_000
LONGEST_WAIT_MS = 120_000
WINDOW = Window(points=100, points_per_second=5, most_points=600)
FILLING = 1_000
TRIED = 20_000


class Pairing(msgspec.Struct, frozen=True):
    """One pool with so many tickets: CPU µs a ticket to pair all, elapsed µs a ticket to read them from the server."""

    seats: int
    tickets: int
    groups: int
    mean_gap: float
    pair_us: float
    read_us: float


def one_pool(seats: int) -> Pool:
    """Return a pool as those that are shipped."""
    return Pool(id="crowd", game="transcontinental", seats=seats, rated=True, window=WINDOW)


def crowd(count: int) -> list[Ticket]:
    """Return tickets with ratings that are spread as players' are, who have waited for up to two minutes."""
    rng = Random(count)
    return [
        Ticket(
            id=f"tk-{number:026}",
            pool="crowd",
            entrant=Entrant(f"player-{number}"),
            rating=round(rng.gauss(1500, 350), 1),
            created_ms=NOW_MS - rng.randrange(LONGEST_WAIT_MS),
            fingerprint="0" * 64,
        )
        for number in range(count)
    ]


async def measure_pairing(url: str, seats: Sequence[int] = SEATS, sizes: Sequence[int] = SIZES) -> list[Pairing]:
    """Return the figures for each number of seats and each size, with queues that are kept in the server at `url`."""
    found = []
    for size in sizes:
        tickets = crowd(size)
        read_us = await _read_us(url, tickets)
        for each in seats:
            groups, pair_us = _paired(one_pool(each), tickets)
            gaps = [max(place.rating for place in group) - min(place.rating for place in group) for group in groups]
            gap = round(sum(gaps) / len(gaps), 2)
            found.append(Pairing(each, size, len(groups), gap, round(pair_us, 2), round(read_us, 2)))
    return sorted(found, key=lambda each: (each.seats, each.tickets))


def _paired(pool: Pool, tickets: Sequence[Ticket]) -> tuple[Sequence[Group], float]:
    """Return the groups, and the CPU µs a ticket of the best of some attempts, more where they are short."""
    taken = []
    for _ in range(max(2, TRIED // len(tickets))):
        began = time.process_time()
        groups = pair(pool, tickets, NOW_MS)
        taken.append(time.process_time() - began)
    return groups, 1e6 * min(taken) / len(tickets)


async def _read_us(url: str, tickets: Sequence[Ticket]) -> float:
    async with connect(url) as connections:
        client: Any = connections.commands
        await client.delete(key("w", "crowd"))
        for first in range(0, len(tickets), FILLING):
            rows = {each.id: b"0|0|" + msgspec.json.encode(each) for each in tickets[first : first + FILLING]}
            await client.hset(key("w", "crowd"), mapping=rows)
        stored = RedisTickets(Server(client, blocking=connections.blocking), retention_seconds=60)
        began = time.perf_counter()
        read = await stored.waiting("crowd")
        taken = time.perf_counter() - began
        await client.delete(key("w", "crowd"))
    if len(read) != len(tickets):
        raise RuntimeError(f"{len(read)} of {len(tickets)} tickets were read")
    return 1e6 * taken / len(tickets)
