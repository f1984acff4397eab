"""What `bench-commands` compares: Promontory, the floor, and other projects' servers, each in processes of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Protocol

import redis

from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.settings import inherited
from tests.bench.peers.floor_tables import (
    FloorLoad,
    FloorStream,
    StreamedFloorTable,
    UnaryFloorTable,
    WatchedFloorTable,
)
from tests.bench.processes import Processes
from tests.bench.reporting import BenchFailed
from tests.bench.tables import GAME, LINES, Creating, Lines, Playable, Table, in_time

HERE = Path(__file__).parent
PROFILING = HERE / "profiling"
FSYNCS = ("everysec", "always")
TOLD_BYTES = 1500
"""What the floor tells watchers, about as much as Promontory does with a commit and a view."""


class Contender(Protocol):
    """A server that is measured: `pids` are its processes by name, `client` is the process that plays on it.

    `kinds` are the ways to play on it, `fsyncs` the ways it writes to disk. It is at its usual speed once it was played
    for `warming_seconds`.
    """

    name: str
    kinds: Sequence[str]
    fsyncs: Sequence[str]
    warming_seconds: float
    pids: Mapping[str, int]
    client: int

    async def open(self, kind: str, matches: int) -> None:
        """Have so many matches ready to be played."""

    async def use(self, fsync: str) -> None:
        """Write to disk as `fsync` says."""

    async def play(self, kind: str, matches: int, seconds: float) -> list[float]:
        """Play so many matches at once for so long, and return how long each move took, in seconds."""

    def close(self) -> None:
        """End all processes."""


class Tables:
    """Matches of one contender that are played from this process, by kind; each is opened once."""

    def __init__(self, makers: Mapping[str, Callable[[int], Playable]]) -> None:
        self._makers = makers
        self._opened: dict[str, list[Playable]] = {kind: [] for kind in makers}

    async def open(self, kind: str, matches: int) -> None:
        """Open what is missing to so many."""
        opened = self._opened[kind]
        for number in range(len(opened), matches):
            table = self._makers[kind](number)
            async with in_time(f"opening a match, {kind},"):
                await table.open()
            opened.append(table)

    async def play(self, kind: str, matches: int, seconds: float) -> list[float]:
        """Play so many at once, each until `seconds` are over."""
        times: list[float] = []
        until = time.perf_counter() + seconds

        async def play(table: Playable) -> None:
            while time.perf_counter() < until:
                times.append(await table.move())

        async with in_time(f"playing, {kind},", seconds), asyncio.TaskGroup() as playing:
            for table in self._opened[kind][:matches]:
                playing.create_task(play(table))
        return times


class Durable:
    """A contender on an embedded server of its own, played from this process."""

    fsyncs: Sequence[str] = FSYNCS
    warming_seconds = 0.4
    pids: Mapping[str, int]

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory, self._stack, self.client = directory, ExitStack(), os.getpid()
        self._store = self._stack.enter_context(EmbeddedServer(directory / "valkey", fsync="everysec"))
        self._tables = Tables({})

    async def open(self, kind: str, matches: int) -> None:
        """Have so many matches ready; see `Contender.open`."""
        await self._tables.open(kind, matches)

    async def play(self, kind: str, matches: int, seconds: float) -> list[float]:
        """Play; see `Contender.play`."""
        return await self._tables.play(kind, matches, seconds)

    async def use(self, fsync: str) -> None:
        """Have the server write to disk as `fsync` says."""
        with redis.Redis.from_url(self._store.url) as client:
            client.config_set("appendfsync", fsync)

    def close(self) -> None:
        """End all processes."""
        self._stack.close()


class Platform(Durable):
    """Promontory: the rules process of Transcontinental, the relay, and the store."""

    name = "promontory"
    kinds: Sequence[str] = tuple(LINES)

    def __init__(self, directory: Path, *, profile: Path | None = None, checkout: Path | None = None) -> None:
        """Profile into a file, or run another `checkout` of the project, which is then called `against`."""
        super().__init__(directory)
        self._processes = Processes(directory, self._store.url)
        self._stack.callback(self._processes.close)
        path = [str(checkout.resolve() / "services")] if checkout else []
        if profile is not None:
            path.append(str(PROFILING))
        if checkout is not None:
            self.name, self.kinds = "against", _kinds(checkout)
        path.append(inherited().get("PYTHONPATH", ""))
        self._own = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "BENCH_PROFILE": str(profile or "")}

    async def start(self) -> None:
        """Start the processes and wait until they serve."""
        self._processes.start("functions", "load-functions", self._own).succeed()
        rules = self._processes.start("rules", f"serve rules --game {GAME}", self._own)
        address, keys = rules.ready().grpc, self._processes.keys
        relay = self._processes.start("relay", "relay", {"PROMONTORY_RULES_TARGETS": f"{GAME}={address}", **self._own})
        relay.ready()
        self.pids = {"rules": rules.pid, "relay": relay.pid, "store": self._store.pid}
        creating = Creating(address, keys)
        lines = {kind: make(address, keys) for kind, make in LINES.items()}
        for each in lines.values():
            self._stack.callback(each.close)
        self._tables = Tables({kind: _tables(each, creating) for kind, each in lines.items()})

    def commits(self) -> list[list[bytes]]:
        """Return the entries of the commits of one match that was played, each with all its bytes."""
        with redis.Redis.from_url(self._store.url) as client:
            key = max(client.scan_iter("{*}:m:*:log", count=1000), key=client.xlen)
            entries = [(name.partition(b"-")[0], b"".join(fields.values())) for name, fields in client.xrange(key)]
        grouped = groupby(entries, key=lambda entry: entry[0])
        return [[content for _, content in commit] for _, commit in grouped][1:]


def _kinds(checkout: Path) -> Sequence[str]:
    """Return the ways to play that the service has in another checkout."""
    service = checkout / "protos" / "promontory" / "api" / GAME / "v1" / f"{GAME}_service.proto"
    return tuple(kind for kind in LINES if kind != "stream" or "message PlayAction " in service.read_text())


def _tables(lines: Lines, creating: Creating) -> Callable[[int], Playable]:
    return lambda number: Table(lines, creating, number=number)


class FloorProcess(Durable):
    """The floor, and the store it appends to."""

    name = "floor"
    kinds: Sequence[str] = ("unary", "stream", "watched")

    async def start(self, load: FloorLoad) -> None:
        """Start the server; see `floor.main`."""
        command = [sys.executable, "-m", "tests.bench.peers.floor", str(self._store.socket_path), str(TOLD_BYTES)]
        process, port = serving(command, cwd=HERE.parents[1], log=self._directory / "floor.log")
        self._stack.callback(process.kill)
        self.pids = {"server": process.pid, "store": self._store.pid}
        address = f"127.0.0.1:{port}"
        stream = FloorStream(address)
        self._stack.callback(stream.close)
        self._tables = Tables(
            {
                "unary": lambda number: UnaryFloorTable(address, load, number=number),
                "watched": lambda number: WatchedFloorTable(address, load, number=number),
                "stream": lambda number: StreamedFloorTable(stream, load, number=number),
            }
        )


def started(command: Sequence[str], *, cwd: Path, log: Path) -> subprocess.Popen[str]:
    """Return a process that is talked to by lines, and ends with its input; what it complains of goes to `log`."""
    environ = {**inherited(), "NODE_ENV": "production"}
    with log.open("ab") as errors:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # as Promontory's processes are, so that a busy machine treats all alike
        )


def serving(command: Sequence[str], *, cwd: Path, log: Path) -> tuple[subprocess.Popen[str], int]:
    """Return a process that has printed the port it listens on, and the port."""
    process = started(command, cwd=cwd, log=log)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            return process, json.loads(line)["port"]
    raise BenchFailed(f"{command} ended before it served: see {log}:\n{log.read_text()[-2000:]}")
