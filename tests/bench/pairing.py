"""How long the matcher takes over one pool of many tickets: the pairing, which is pure, and reading the queue.

First all come at once, and nearly all get a match. Then as many wait, too far from each other to be paired, while their
windows widen and the matcher looks at them four times a second: a look at which nobody has come, and looks at which
some have, each of whom gets a match, while others take the places of those who left.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from promontory.eventlog.redis_server import connect
from promontory.matchmaking.domain import Entrant, Pool, Ticket, Window
from promontory.matchmaking.pairing import Line, pair
from promontory.matchmaking.redis_tickets import RedisTickets, Server, key
from promontory.matchmaking.stretch import Group

SIZES = (1_000, 10_000, 100_000)
SEATS = (2, 4)
NOW_MS = 1_800_000_000_000
LONGEST_WAIT_MS = 120_000
WINDOW = Window(points=100, points_per_second=5, most_points=600)
FILLING = 1_000
"""Tickets that are put into the server's queue by one command."""
TRIED = 20_000
"""Small pools are paired as often as it takes for so many tickets."""
NARROW = Window(points=0.3, points_per_second=0.004, most_points=0.8)
"""Those who wait stand a point apart, and never accept each other by this; one who comes between two accepts one."""
LOOKS, LOOK_MS = 40, 250
COMING = 50
"""How many come to a look, and get a match."""


class Pairing(msgspec.Struct, frozen=True):
    """One pool with so many tickets: CPU µs a ticket to pair all, elapsed µs a ticket to read them from the server."""

    seats: int
    tickets: int
    groups: int
    mean_gap: float
    pair_us: float
    read_us: float


class Looks(msgspec.Struct, frozen=True):
    """So many who wait and cannot be paired: CPU µs of a look with nobody new, and of looks for each who came."""

    tickets: int
    idle_us: float
    ticket_us: float


def one_pool(seats: int, window: Window = WINDOW) -> Pool:
    """Return a pool as those that are shipped."""
    return Pool(id="crowd", game="transcontinental", seats=seats, rated=True, window=window)


def crowd(count: int) -> list[Ticket]:
    """Return tickets with ratings that are spread as players' are, who have waited for up to two minutes."""
    rng = Random(count)
    return [
        _ticket(number, round(rng.gauss(1500, 350), 1), NOW_MS - rng.randrange(LONGEST_WAIT_MS))
        for number in range(count)
    ]


def _ticket(number: int, rating: float, created_ms: int) -> Ticket:
    return Ticket(
        id=f"tk-{number:026}",
        pool="crowd",
        entrant=Entrant(f"player-{number}"),
        rating=rating,
        created_ms=created_ms,
        fingerprint="0" * 64,
    )


def measure_looks(sizes: Sequence[int] = SIZES) -> list[Looks]:
    """Return what looks at a line cost for each size."""
    return [_looks(size) for size in sizes]


def _looks(size: int) -> Looks:
    rng, line = Random(size), Line(one_pool(2, NARROW))
    for number in rng.sample(range(size), size):
        line.put(_ticket(number, float(number), NOW_MS - rng.randrange(LONGEST_WAIT_MS)))
    line.take(NOW_MS)
    idle = sum(_look(line, NOW_MS + LOOK_MS * look, ()) for look in range(LOOKS))
    number, now_ms, left, spent = size, NOW_MS + LOOK_MS * LOOKS, list[int](), 0.0
    for look in range(LOOKS):
        places = rng.sample(range(size), 2 * COMING)
        near = [place + 0.2 for place in places if place not in left][:COMING]
        ratings = map(float, (*near, *left))
        coming = [_ticket(number + i, rating, now_ms + LOOK_MS * look) for i, rating in enumerate(ratings)]
        spent += _look(line, now_ms + LOOK_MS * look, coming)
        number, left = number + len(coming), [int(place) for place in near]
    return Looks(size, round(1e6 * idle / LOOKS, 2), round(1e6 * spent / (number - size), 2))


def _look(line: Line, now_ms: int, coming: Sequence[Ticket]) -> float:
    """Return the CPU seconds of a look at which `coming` are new, of whom `COMING` get a match."""
    began = time.process_time()
    for ticket in coming:
        line.put(ticket)
    groups = line.take(now_ms)
    spent = time.process_time() - began
    if len(groups) != min(COMING, len(coming)):
        raise RuntimeError(f"{len(groups)} matches were made of {len(coming)} newcomers")
    return spent


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
