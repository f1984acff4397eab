"""Matches that `bench-commands` plays from Python: Promontory's, and those of the floor.

A move is over when everybody was told of it; then comes the next one. Commands are chosen with as little work as can
be, since client and servers share the machine, and choosing is not timed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, Protocol

import grpc

from promontory.api.transcontinental.v1.commands_pb2 import (
    Command,
    DiscardCards,
    DrawCard,
    EndWork,
    PlayMeld,
    TrimHand,
)
from promontory.client.stubs import Stub
from promontory.codec import registry as codecs
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.records import setup_message
from tests.bench import floor
from tests.support.serving import Keys, Metadata

GAME = "transcontinental"
PLAYERS = (0, 1)
LATE_SECONDS = 20
SERVICE = codecs.codec(GAME).service
pb: Any = codecs.codec(GAME).messages
_AS_BYTES: Any = (None, None)
_ALONE = [("grpc.use_local_subchannel_pool", 1)]


def connection(address: str) -> grpc.aio.Channel:
    """Return a connection that is shared with no other channel."""
    return grpc.aio.insecure_channel(address, options=_ALONE)


class Playable(Protocol):
    """One match that is played move by move."""

    async def open(self) -> None:
        """Get the match to where it can be played."""

    async def move(self) -> float:
        """Play the next move, and return the seconds from its submission until everybody was told."""


class Line(Protocol):
    """How two players are connected with their match."""

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        """Submit a command of a seat's, and return when it was accepted; raise if it was not."""

    def follow(self, seat: int) -> AsyncIterator[tuple[int, Any, Sequence[int]]]:
        """Yield the version, the seat's view and the seats to act, of the match as it is and then of each commit."""


class UnaryLine:
    """Commands as calls of their own, and a stream of `WatchMatch` for each seat."""

    def __init__(self, channel: grpc.aio.Channel, match_id: str, identities: Sequence[Metadata]) -> None:
        self._match_id, self._identities = match_id, identities
        self._submit: Any = channel.unary_unary(f"/{SERVICE.full_name}/SubmitCommand", *_AS_BYTES)
        self._watch: Any = channel.unary_stream(f"/{SERVICE.full_name}/WatchMatch", *_AS_BYTES)

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        """Submit a command; see `Line.submit`."""
        request = pb.SubmitCommandRequest(match_id=self._match_id, seat=seat, commands=[command], request_id=request_id)
        await self._submit(request.SerializeToString(), metadata=self._identities[seat])

    async def follow(self, seat: int) -> AsyncIterator[tuple[int, Any, Sequence[int]]]:
        """Follow the match; see `Line.follow`."""
        request = pb.WatchMatchRequest(match_id=self._match_id, seat=seat)
        async for raw in self._watch(request.SerializeToString(), metadata=self._identities[seat]):
            message = pb.WatchMatchResponse.FromString(raw)
            if message.HasField("commit"):
                commit = message.commit
                yield commit.version, commit.view, commit.match.seats_to_act
            elif message.HasField("snapshot"):
                match = message.snapshot.match
                yield match.version, message.snapshot.view, match.seats_to_act


LINES = {"unary": UnaryLine}
"""The ways to play a match of Promontory's, by kind."""


class Told:
    """Waits until everybody was told of a version."""

    def __init__(self, everybody: int) -> None:
        self._everybody, self._missing = everybody, everybody
        self._version = 0
        self._done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def expect(self, version: int) -> None:
        """Wait for `version` from now on."""
        self._version, self._missing = version, self._everybody
        self._done = asyncio.get_running_loop().create_future()

    def tell(self, version: int) -> None:
        """Note that one more was told of `version`."""
        if version == self._version:
            self._missing -= 1
            if not self._missing:
                self._done.set_result(time.perf_counter())

    def fail(self, task: asyncio.Task[None]) -> None:
        """Have the wait fail if what `task` read from broke."""
        if not task.cancelled() and (error := task.exception()) and not self._done.done():
            self._done.set_exception(error)

    async def everybody(self) -> float:
        """Return when everybody was told, by `time.perf_counter`."""
        async with asyncio.timeout(LATE_SECONDS):
            return await self._done


class Table:
    """A match of two players on Promontory, and the next one when it is over."""

    def __init__(self, kind: str, address: str, keys: Keys, *, number: int) -> None:
        self._line_kind, self._keys = LINES[kind], keys
        self._channel = connection(address)
        self._players = [f"player-{kind}-{number}-{seat}" for seat in PLAYERS]
        self._identities = [keys.as_player(player) for player in self._players]
        self._name, self._matches, self._moves = f"{kind}-{number}", 0, 0
        self._following: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Create a match and follow it from both seats."""
        self._matches += 1
        self._views: dict[int, Any] = {}
        self._version = 1
        self._to_act: Sequence[int] = (0,)
        self._told = Told(len(PLAYERS))
        self._told.expect(self._version)
        line = self._line_kind(self._channel, await self._create(), self._identities)
        self._line: Line = line
        self._following = [asyncio.create_task(self._follow(seat)) for seat in PLAYERS]
        for task in self._following:
            task.add_done_callback(self._told.fail)
        await self._told.everybody()

    async def _create(self) -> str:
        setup = setup_message(Setup(tuple(SeatSetup(player) for player in self._players)))
        request = pb.CreateMatchRequest(request_id=f"{self._name}-{self._matches}", setup=setup)
        stub: Any = Stub(self._channel, SERVICE)
        answer = await stub.CreateMatch(request, metadata=self._keys.as_service("match:create"))
        match_id: str = answer.match.match_id
        return match_id

    async def _follow(self, seat: int) -> None:
        async for version, view, to_act in self._line.follow(seat):
            self._views[seat], self._version, self._to_act = view, version, to_act
            self._told.tell(version)

    async def move(self) -> float:
        """Play the next move, after opening the next match if this one is over."""
        if not self._to_act:
            await asyncio.gather(*self._following)
            await self.open()
        seat = self._to_act[0]
        command = first_legal(self._views[seat].legal)
        self._told.expect(self._version + 1)
        self._moves += 1
        started = time.perf_counter()
        await self._line.submit(seat, command, str(self._moves))
        return await self._told.everybody() - started


def first_legal(legal: Any) -> Any:
    """Return the first of Transcontinental's legal commands in the order of a turn, with as few cards as can be."""
    if legal.draw_sources:
        return Command(draw_card=DrawCard(source=legal.draw_sources[0]))
    if legal.melds:
        return Command(play_meld=PlayMeld(card_ids=legal.melds[0].card_ids))
    if legal.end_work:
        return Command(end_work=EndWork())
    if legal.HasField("discard"):
        return Command(discard_cards=DiscardCards(card_ids=legal.discard.card_ids[: legal.discard.minimum]))
    return Command(trim_hand=TrimHand(card_ids=legal.trim.card_ids[: legal.trim.minimum]))


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
        self._append: Any = channel.unary_unary(f"/{floor.SERVICE}/Append", *_AS_BYTES)
        self._watch: Any = channel.unary_stream(f"/{floor.SERVICE}/Watch", *_AS_BYTES)

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
        play: Any = connection(address).stream_stream(f"/{floor.SERVICE}/Play", *_AS_BYTES)
        self._call = play()
        self._waiting: dict[str, asyncio.Future[float]] = {}
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._read())]

    def append(self, request: Any) -> Awaitable[float]:
        """Append, and return when the answer came, by `time.perf_counter`."""
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
