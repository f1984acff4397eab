"""What `bench-scale` plays on: rules processes side by side, a relay, and one server or a real cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from promontory.eventlog.port import game_buckets
from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import connect
from promontory.games.registry import entry
from promontory.local.functions import load_all
from tests.bench.contenders import Tables
from tests.bench.processes import Processes
from tests.bench.tables import GAME, LINES, Creating, Line, Lines, News, Table
from tests.support.standing_by import Group, one_server, primaries_only

BYSTANDER = "bystander"
BUCKETS = 64
FEED_LENGTH = 1000
TELL_SECONDS = 0.005
LETTERS = str.maketrans("0123456789", "abcdefghij")
STORES: Mapping[str, Callable[[Path], AbstractContextManager[Group]]] = {
    "one server": one_server,
    "cluster of 1": partial(primaries_only, count=1),
    "cluster of 3": partial(primaries_only, count=3),
}
"""The stores, by name: reached by TCP, written to disk every second, without replicas."""


class SplitLines:
    """Players whose connections are spread over processes, as a balancer does that knows nothing of matches.

    Of two processes, every second match has its players on different ones, and each process has half of all players.
    """

    def __init__(self, lines: Sequence[Lines]) -> None:
        self._lines = lines

    def players(self, number: int) -> Sequence[str]:
        """Return the players; see `Lines.players`."""
        return self._lines[0].players(number)

    def line(self, number: int, match_id: str) -> Line:
        """Connect each player of the match `number` with a process; see `Lines.line`."""
        count = len(self._lines)
        places = (number % count, number // count % count)
        return _SplitLine([self._lines[place].line(number, match_id) for place in places])

    def close(self) -> None:
        """Send and read no more."""
        for each in self._lines:
            each.close()


class _SplitLine:
    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        await self._lines[seat].submit(seat, command, request_id)

    def follow(self, seat: int) -> AsyncIterator[News]:
        return self._lines[seat].follow(seat)


class Site:
    """The rules processes of Transcontinental, a relay, and a store; players use the first processes, or all.

    A process that none of them uses is only told of all commits, as every one is. The relay's `broker_url` is a server
    of its own, for a cluster cannot be one; nothing is published here.
    """

    def __init__(self, directory: Path, *, store: str, processes: int, broker_url: str = "") -> None:
        directory.mkdir()
        self._count, self._stack, self._broker_url = processes, ExitStack(), broker_url
        self._store = self._stack.enter_context(STORES[store](directory))
        self._processes = Processes(directory, self._store.url)
        self._stack.callback(self._processes.close)
        self._tables: dict[int, Tables] = {}
        self._pids: dict[str, int] = {}

    @property
    def store_url(self) -> str:
        """The address of the store."""
        return self._store.url

    async def start(self) -> None:
        """Start all processes and wait until they serve."""
        await load_all(self._store.url, require_aof=True)
        start, numbers = self._processes.start, range(1, self._count + 1)
        rules = [start(f"rules-{number}", f"serve rules --game {GAME}") for number in numbers]
        addresses = [each.ready().grpc for each in rules]
        broker = {"PROMONTORY_BROKER_URL": self._broker_url} if self._broker_url else {}
        relay = start("relay", "relay", {"PROMONTORY_RULES_TARGETS": f"{GAME}={addresses[0]}", **broker})
        relay.ready()
        stores = {f"store-{number}": each.pid for number, each in enumerate(self._store.servers.values(), 1)}
        self._pids = {**{each.name: each.pid for each in (*rules, relay)}, **stores}
        self._connect(addresses)

    def _connect(self, addresses: Sequence[str]) -> None:
        keys = self._processes.keys
        creating = Creating(addresses[0], keys)
        lines = {kind: [make(address, keys) for address in addresses] for kind, make in LINES.items()}
        for kind in lines.values():
            self._stack.callback(SplitLines(kind).close)
        for count in range(1, self._count + 1):
            makers = {kind: partial(_table, SplitLines(each[:count]), creating) for kind, each in lines.items()}
            self._tables[count] = Tables(makers)

    def pids(self, processes: int) -> dict[str, int]:
        """Return what serves while the first `processes` are used, by name; one that is not used is `BYSTANDER`."""
        idle = {f"rules-{number}" for number in range(processes + 1, self._count + 1)}
        return {BYSTANDER if name in idle else name: pid for name, pid in self._pids.items()}

    async def tell(self, rate: float, seconds: float) -> int:
        """Tell all processes of so many commits a second that no match of theirs has, and return of how many."""
        buckets = game_buckets(entry(GAME).code, BUCKETS)
        loop, told = asyncio.get_running_loop(), 0
        async with connect(self._store.url) as connections:
            caller = Caller(connections.commands, attempts=1, deadline_seconds=0)
            began = loop.time()
            while (passed := loop.time() - began) < seconds:
                numbers = range(told, told := max(told, round(rate * passed)))
                await caller.pipeline(*(_note(buckets[number % BUCKETS], number) for number in numbers))
                await asyncio.sleep(TELL_SECONDS)
        return told

    def tables(self, processes: int) -> Tables:
        """Return the matches that are played on the first `processes`."""
        return self._tables[processes]

    def close(self) -> None:
        """End all processes."""
        self._stack.close()


def _note(bucket: str, number: int) -> tuple[Any, ...]:
    """Return the command that tells of a commit of a match in `bucket`, as appending one does."""
    match_id = f"{bucket.replace(':', '-')}-{str(number).translate(LETTERS).rjust(26, 'a')}"
    return ("XADD", f"{{{bucket}}}:feed", "MAXLEN", "~", FEED_LENGTH, "*", "r", match_id, "v", 1, "e", 0, "d", "")


def _table(lines: Lines, creating: Creating, number: int) -> Table:
    return Table(lines, creating, number=number)
