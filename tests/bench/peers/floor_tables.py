"""Matches that `bench-commands` plays on the floor: a move is an append, over when all were told of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from tests.bench.peers import floor
from tests.bench.reporting import BenchFailed
from tests.bench.tables import AS_BYTES, PLAYERS, Told, connection


class FloorLoad:
    """What the floor appends: the entries of real commits, one after another."""

    def __init__(self, commits: Sequence[Sequence[bytes]]) -> None:
        self._commits = commits

    def request(self, match: str, version: int) -> Any:
        """Return the request of the append after `version`."""
        entries = self._commits[version % len(self._commits)]
        return floor.Append(match=match, expected=version, command_id=f"0:{version}", entries=entries)


class UnaryFloorTable:
    """Appends by calls of their own."""

    def __init__(self, address: str, load: FloorLoad, *, number: int) -> None:
        channel = connection(address)
        self._match, self._version, self._load = f"{type(self).__name__}-{number}", 0, load
        self._append: Any = channel.unary_unary(f"/{floor.SERVICE}/Append", *AS_BYTES)
        self._watch: Any = channel.unary_stream(f"/{floor.SERVICE}/Watch", *AS_BYTES)

    async def open(self) -> None:
        """Append for the first time."""
        await self.move()

    async def move(self) -> float:
        """Append, and return how long it took."""
        request = self._load.request(self._match, self._version)
        started = time.perf_counter()
        await self._append(request.SerializeToString())
        self._version += 1
        return time.perf_counter() - started


class WatchedFloorTable(UnaryFloorTable):
    """The same with two streams that tell of every append, as both players of a match have one."""

    async def open(self) -> None:
        """Open the streams."""
        self._told = Told(len(PLAYERS))
        self._told.expect(0)
        self._following = [asyncio.create_task(self._follow()) for _ in PLAYERS]
        for task in self._following:
            task.add_done_callback(self._told.fail)
        await self._told.everybody()

    async def _follow(self) -> None:
        async for raw in self._watch(floor.Append(match=self._match).SerializeToString()):
            self._told.tell(floor.Appended.FromString(raw).version)

    async def move(self) -> float:
        """Append, and return how long it took until both streams told."""
        self._told.expect(self._version + 1)
        started = time.perf_counter()
        await super().move()
        return await self._told.everybody() - started


class FloorStream:
    """One stream in both directions for all matches."""

    def __init__(self, address: str) -> None:
        play: Any = connection(address).stream_stream(f"/{floor.SERVICE}/Play", *AS_BYTES)
        self._call = play()
        self._waiting: dict[str, asyncio.Future[float]] = {}
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._read())]

    def append(self, request: Any) -> Awaitable[float]:
        """Append, and return when the answer came, by `time.perf_counter`."""
        if any(task.done() for task in self._tasks):
            raise BenchFailed("the stream to the floor has ended")
        answer = self._waiting[request.match] = asyncio.get_running_loop().create_future()
        self._unsent.put_nowait(request.SerializeToString())
        return answer

    def close(self) -> None:
        """Send and read no more."""
        for task in self._tasks:
            task.cancel()

    async def _write(self) -> None:
        while True:
            await self._call.write(await self._unsent.get())

    async def _read(self) -> None:
        async for raw in self._call:
            self._waiting.pop(floor.Appended.FromString(raw).match).set_result(time.perf_counter())


class StreamedFloorTable:
    """Appends over a stream that is shared with all other matches."""

    def __init__(self, stream: FloorStream, load: FloorLoad, *, number: int) -> None:
        self._stream, self._match, self._version, self._load = stream, f"stream-{number}", 0, load

    async def open(self) -> None:
        """Append for the first time."""
        await self.move()

    async def move(self) -> float:
        """Append, and return how long it took."""
        started = time.perf_counter()
        answered = await self._stream.append(self._load.request(self._match, self._version))
        self._version += 1
        return answered - started
