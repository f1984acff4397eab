"""Matches of Promontory's that `bench-commands` and `bench-scale` play; those of the floor are in `peers/`.

A move is over when everybody was told of it; then comes the next one. Commands are chosen with as little work as can
be, since client and servers share the machine, and choosing is not timed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
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
from promontory.runtime.identity import PLAYER_SCOPES, Scope
from tests.bench.reporting import BenchFailed
from tests.support.serving import Keys, Metadata

GAME = "transcontinental"
PLAYERS = (0, 1)
LATE_SECONDS = 20
TOKEN_LIFE = timedelta(hours=3)
SERVICE = codecs.codec(GAME).service
pb: Any = codecs.codec(GAME).messages
AS_BYTES: Any = (None, None)
_ALONE = [("grpc.use_local_subchannel_pool", 1)]


def connection(address: str) -> grpc.aio.Channel:
    """Return a connection that is shared with no other channel."""
    return grpc.aio.insecure_channel(address, options=_ALONE)


def identity(keys: Keys, player: str) -> Metadata:
    """Return the metadata of a player's calls, good for longer than anything is measured."""
    return _bearer(keys.players.mint(player, PLAYER_SCOPES, life=TOKEN_LIFE))


def _bearer(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),)


@asynccontextmanager
async def in_time(what: str, seconds: float = 0.0) -> AsyncIterator[None]:
    """Raise `BenchFailed` if something takes much longer than so many seconds: what serves it may be gone."""
    try:
        async with asyncio.timeout(seconds + LATE_SECONDS):
            yield
    except TimeoutError as error:
        raise BenchFailed(f"{what} did not end in {seconds + LATE_SECONDS:.0f} s") from error


class Playable(Protocol):
    """One match that is played move by move."""

    async def open(self) -> None:
        """Get the match to where it can be played."""

    async def move(self) -> float:
        """Play the next move, and return the seconds from its submission until everybody was told."""


News = tuple[int, Any, Sequence[int]]
"""The version of a match, a seat's view of it, and the seats to act."""


class Line(Protocol):
    """How two players are connected with their match."""

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        """Submit a command of a seat's, and return when it was accepted; raise if it was not."""

    def follow(self, seat: int) -> AsyncIterator[News]:
        """Yield the match as it is, and then each commit."""


class Lines(Protocol):
    """A way to play on one server, for all matches that are played in that way."""

    def players(self, number: int) -> Sequence[str]:
        """Return the players of the match `number`, in the order of the seats."""

    def line(self, number: int, match_id: str) -> Line:
        """Connect the players of the match `number`, which is now called `match_id`."""

    def close(self) -> None:
        """Send and read no more."""


class UnaryLines:
    """Commands as calls of their own and a stream of `WatchMatch` for each seat; each table has two players."""

    def __init__(self, address: str, keys: Keys) -> None:
        self._address, self._keys = address, keys
        self._channels: dict[int, grpc.aio.Channel] = {}

    def players(self, number: int) -> Sequence[str]:
        """Return the players; see `Lines.players`."""
        return [f"player-{number}-{seat}" for seat in PLAYERS]

    def line(self, number: int, match_id: str) -> Line:
        """Connect the players; see `Lines.line`."""
        channel = self._channels.setdefault(number, connection(self._address))
        return _UnaryLine(channel, match_id, [identity(self._keys, player) for player in self.players(number)])

    def close(self) -> None:
        """Do nothing: streams end with who reads them."""


class _UnaryLine:
    def __init__(self, channel: grpc.aio.Channel, match_id: str, identities: Sequence[Metadata]) -> None:
        self._match_id, self._identities = match_id, identities
        self._submit: Any = channel.unary_unary(f"/{SERVICE.full_name}/SubmitCommand", *AS_BYTES)
        self._watch: Any = channel.unary_stream(f"/{SERVICE.full_name}/WatchMatch", *AS_BYTES)

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        request = pb.SubmitCommandRequest(match_id=self._match_id, seat=seat, commands=[command], request_id=request_id)
        await self._submit(request.SerializeToString(), metadata=self._identities[seat])

    async def follow(self, seat: int) -> AsyncIterator[News]:
        request = pb.WatchMatchRequest(match_id=self._match_id, seat=seat)
        async for raw in self._watch(request.SerializeToString(), metadata=self._identities[seat]):
            for news in _news(pb.WatchMatchResponse.FromString(raw)):
                yield news


class StreamLines:
    """Everything over streams of `Play`: one player has the first seat of all matches, another one the second."""

    def __init__(self, address: str, keys: Keys) -> None:
        self._streams = [_PlayStream(address, identity(keys, player)) for player in self.players(0)]

    def players(self, number: int) -> Sequence[str]:
        """Return the players; see `Lines.players`."""
        return [f"player-of-all-{seat}" for seat in PLAYERS]

    def line(self, number: int, match_id: str) -> Line:
        """Connect the players; see `Lines.line`."""
        return _StreamLine(self._streams, match_id)

    def close(self) -> None:
        """Send and read no more."""
        for stream in self._streams:
            stream.close()


class _PlayStream:
    """One stream of `Play`: what is sent, and what of it is for whom."""

    def __init__(self, address: str, identity: Metadata) -> None:
        self._channel, self._identity = connection(address), identity
        self._unsent: asyncio.Queue[Any] = asyncio.Queue()
        self._accepted: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._updates: dict[str, asyncio.Queue[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def follow(self, request: Any) -> asyncio.Queue[Any]:
        """Follow a match, and return where its updates come in."""
        updates = self._updates[request.match_id] = asyncio.Queue[Any]()
        self._send(pb.PlayAction(follow=request))
        return updates

    def submit(self, request: Any) -> asyncio.Future[None]:
        """Submit commands, and return what is done when they are accepted."""
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._accepted[request.match_id, request.request_id] = accepted
        self._send(pb.PlayAction(submit=request))
        return accepted

    def close(self) -> None:
        """Send and read no more."""
        for task in self._tasks:
            task.cancel()

    def _send(self, action: Any) -> None:
        if any(task.done() for task in self._tasks):
            raise BenchFailed("the stream over which is played has ended")
        if not self._tasks:
            play: Any = self._channel.stream_stream(f"/{SERVICE.full_name}/Play", *AS_BYTES)
            call = play(metadata=self._identity)
            self._tasks = [asyncio.create_task(self._write(call)), asyncio.create_task(self._read(call))]
        self._unsent.put_nowait(action)

    async def _write(self, call: Any) -> None:
        while True:
            actions = [await self._unsent.get()]
            while not self._unsent.empty():
                actions.append(self._unsent.get_nowait())
            await call.write(pb.PlayRequest(actions=actions).SerializeToString())

    async def _read(self, call: Any) -> None:
        async for raw in call:
            for news in pb.PlayResponse.FromString(raw).news:
                self._hear(news)

    def _hear(self, news: Any) -> None:
        match news.WhichOneof("kind"):
            case "update":
                self._updates[news.match_id].put_nowait(news.update)
            case "accepted":
                self._accepted.pop((news.match_id, news.request_id)).set_result(None)
            case "refused":
                refused = BenchFailed(f"{news.match_id}: {news.refused.message}")
                self._accepted.pop((news.match_id, news.request_id)).set_exception(refused)


class _StreamLine:
    def __init__(self, streams: Sequence[_PlayStream], match_id: str) -> None:
        self._streams, self._match_id = streams, match_id

    async def submit(self, seat: int, command: Any, request_id: str) -> None:
        request = pb.SubmitCommandRequest(match_id=self._match_id, seat=seat, commands=[command], request_id=request_id)
        await self._streams[seat].submit(request)

    async def follow(self, seat: int) -> AsyncIterator[News]:
        updates = self._streams[seat].follow(pb.WatchMatchRequest(match_id=self._match_id, seat=seat))
        while True:
            update = await updates.get()
            for news in _news(update):
                yield news
            if update.HasField("end"):
                return


def _news(update: Any) -> Iterator[News]:
    if update.HasField("commit"):
        commit = update.commit
        yield commit.version, commit.view, commit.match.seats_to_act
    elif update.HasField("snapshot"):
        match = update.snapshot.match
        yield match.version, update.snapshot.view, match.seats_to_act


LINES: dict[str, Callable[[str, Keys], Lines]] = {"unary": UnaryLines}
"""The ways to play a match of Promontory's, by kind."""
if "Play" in SERVICE.methods_by_name:
    LINES["stream"] = StreamLines


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
        return await self._done


class Creating:
    """Creates matches."""

    def __init__(self, address: str, keys: Keys) -> None:
        self._stub: Any = Stub(connection(address), SERVICE)
        token = keys.services.mint("service:bench", frozenset({Scope.CREATE_MATCH}), life=TOKEN_LIFE)
        self._identity, self._created = _bearer(token), 0

    async def create(self, players: Sequence[str]) -> str:
        """Return the id of a new match of these players."""
        self._created += 1
        setup = setup_message(Setup(tuple(SeatSetup(player) for player in players)))
        request = pb.CreateMatchRequest(request_id=f"match-{self._created}", setup=setup)
        answer = await self._stub.CreateMatch(request, metadata=self._identity)
        match_id: str = answer.match.match_id
        return match_id


class Table:
    """A match of two players on Promontory, and the next one when it is over."""

    def __init__(self, lines: Lines, creating: Creating, *, number: int) -> None:
        self._lines, self._creating, self._number = lines, creating, number
        self._moves = 0
        self._following: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Create a match and follow it from both seats."""
        self._views: dict[int, Any] = {}
        self._version = 1
        self._to_act: Sequence[int] = (0,)
        self._told = Told(len(PLAYERS))
        self._told.expect(self._version)
        match_id = await self._creating.create(self._lines.players(self._number))
        self._line = self._lines.line(self._number, match_id)
        self._following = [asyncio.create_task(self._follow(seat)) for seat in PLAYERS]
        for task in self._following:
            task.add_done_callback(self._told.fail)
        await self._told.everybody()

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
