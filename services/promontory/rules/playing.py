"""Playing over one stream: the matches that are followed on it and the commands that come over it, brought together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

from promontory.api.match.v1 import stream_pb2
from promontory.codec.splicing import Splicing
from promontory.codec.times import duration, timestamp
from promontory.games.kernel import Seat
from promontory.rules.presenter import Told
from promontory.rules.recorder import Answer
from promontory.rules.watch import EndReason, Hub
from promontory.runtime import clock
from promontory.runtime.alarm import Alarm
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.gate import Requests

OUTBOX = 32
"""How much news waits for a reader who is slow, before what makes it waits too."""
RESPONSE_BYTES = 128 * 1024
"""A response that has so much is sent, though there be more to tell."""
UNDER_WAY = 16
"""How many actions of one stream wait for their first answer, before the next is taken."""

Followed = tuple[str, Seat | None]
"""A match, and the seat it is followed from."""


class GameService(Protocol):
    """The service of the game that is played, whose messages go in and out as they are."""

    def watched(self, request: Any) -> AsyncGenerator[Told, None]:
        """Yield the messages of `WatchMatch`."""

    async def submitted(self, request: Any) -> Answer:
        """Do what `SubmitCommand` does."""

    def accepted(self, answer: Answer, seat: Seat, *, briefly: bool) -> bytes:
        """Return the response of `SubmitCommand`, encoded; if `briefly`, with the version only."""

    def end(self, reason: EndReason) -> stream_pb2.StreamEnd:
        """Return the last message of a stream."""


class PlayStream:
    """One stream: reads `requests`, and yields the responses, encoded; the messages are of the game's package `pb`."""

    def __init__(self, service: GameService, requests: Requests, hub: Hub, pb: Any) -> None:
        self._service, self._requests, self._hub, self._pb = service, requests, hub, pb
        self._news, self._response = Splicing(pb.PlayNews), Splicing(pb.PlayResponse)
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(OUTBOX)
        """News as fields of the response; nothing follows on what is empty."""
        self._has_ended = False
        self._followers: dict[Followed, _Follower] = {}
        self._submitting: set[asyncio.Task[None]] = set()
        self._last_of: dict[str, asyncio.Task[None]] = {}
        """The last submission of each match, after which the next is taken."""
        self._places = asyncio.Semaphore(UNDER_WAY)
        self._quiet = Alarm(self._beat)

    async def responses(self) -> AsyncGenerator[bytes, None]:
        """Yield what there is to tell, up to the end of the stream. Raises the `Refusal` that ends it."""
        work = asyncio.create_task(self._work())
        try:
            yield self._keep_alive()
            while not self._has_ended:
                if response := await self._next():
                    yield response
            await work
        finally:
            self._quiet.stop()
            tasks = [work, *self._submitting, *(each.task for each in self._followers.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _next(self) -> bytes:
        """Return all that there is to tell by now; after the last, nothing at all."""
        self._quiet.put_off(self._hub.heartbeat_seconds)
        news = [await self._outbox.get()]
        size = len(news[0])
        while news[-1] and not self._outbox.empty() and size < RESPONSE_BYTES:
            news.append(self._outbox.get_nowait())
            size += len(news[-1])
        self._has_ended = not news[-1]
        return b"".join(news)

    def _beat(self) -> None:
        if self._outbox.empty():
            self._outbox.put_nowait(self._keep_alive())

    async def _work(self) -> None:
        """Read the requests and do what they ask for until the stream is to end, and put what comes of it out."""
        try:
            reason = await self._read_until_end()
            if self._submitting:
                await asyncio.wait(self._submitting)
            if reason is EndReason.MAX_AGE:
                for follower in self._followers.values():
                    follower.task.cancel()
            if self._followers:
                await asyncio.wait([each.task for each in self._followers.values()])
            if reason is not None:
                await self._outbox.put(self._of_none(end=self._service.end(reason)))
        except Exception:
            await self._outbox.put(b"")
            raise
        await self._outbox.put(b"")

    async def _read_until_end(self) -> EndReason | None:
        """Read requests until there are no more, or the stream has to end, and return why if it has to."""
        reading = asyncio.create_task(self._read())
        ending = asyncio.create_task(self._hub.drained())
        try:
            age = min(self._hub.max_stream_seconds, self._requests.good_seconds)
            await asyncio.wait([reading, ending], timeout=age, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
                return None
            return EndReason.SERVER_DRAINING if ending.done() else EndReason.MAX_AGE
        finally:
            for task in (reading, ending):
                task.cancel()
            await asyncio.wait([reading, ending])

    async def _read(self) -> None:
        async for request in self._requests:
            if not request.actions:
                raise malformed("actions", "are one at least")
            for action in request.actions:
                await self._take(action)

    async def _take(self, action: Any) -> None:
        match action.WhichOneof("kind"):
            case "follow":
                await self._or_refuse(partial(self._follow, action.follow), self._about(action.follow))
            case "unfollow":
                await self._or_refuse(partial(self._unfollow, action.unfollow), self._about(action.unfollow))
            case "submit":
                await self._places.acquire()
                self._submit(action.submit)
            case _:
                raise malformed("kind", "is one of follow, unfollow and submit")

    async def _or_refuse(self, do: Callable[[], Coroutine[Any, Any, None]], about: bytes) -> None:
        """Do what is asked for; tell the refusal if there is one."""
        try:
            await do()
        except Exception as error:  # noqa: BLE001 - as at the edge: every error is answered
            await self._tell(about, "refused", self._requests.refuse(error).SerializeToString())

    # What is told

    async def _tell(self, about: bytes, kind: str, content: bytes) -> None:
        """Put news out: what it is `about`, which are fields of its message, and its `kind`."""
        await self._outbox.put(self._response.part("news", about + self._news.part(kind, content)))

    def _about(self, request: Any) -> bytes:
        """Return what news is about that is of something to follow."""
        match_id, seat = _followed(request)
        about: bytes = self._pb.PlayNews(match_id=match_id, seat=seat).SerializeToString()
        return about

    def _about_commands(self, request: Any) -> bytes:
        """Return what news is about that is of a submission."""
        named = self._pb.PlayNews(match_id=request.match_id, seat=request.seat, request_id=request.request_id)
        about: bytes = named.SerializeToString()
        return about

    def _of_none(self, **kind: Any) -> bytes:
        """Return news that is about no match."""
        return self._response.part("news", self._pb.PlayNews(**kind).SerializeToString())

    def _keep_alive(self) -> bytes:
        interval = duration(round(1000 * self._hub.heartbeat_seconds))
        alive = stream_pb2.KeepAlive(server_time=timestamp(clock.now_ms()), heartbeat_interval=interval)
        return self._of_none(keep_alive=alive)

    # What is followed

    async def _follow(self, request: Any) -> None:
        self._requests.spend(commands=False)
        key, about = _followed(request), self._about(request)
        if key in self._followers:
            text = "the match is followed from there on this stream already"
            raise Refusal(Kind.EXISTS, "ALREADY_FOLLOWED", text, metadata={"matchId": request.match_id})
        await self._places.acquire()
        follower = _Follower(partial(self._tell, about, "update"), self._places.release)
        follower.task = asyncio.create_task(self._or_refuse(partial(self._followed_by, follower, request), about))
        self._followers[key] = follower
        follower.task.add_done_callback(lambda _: self._forget(key, follower))

    async def _followed_by(self, follower: _Follower, request: Any) -> None:
        with self._requests.streaming():
            async with aclosing(self._service.watched(request)) as updates:
                await follower.follow(updates)

    async def _unfollow(self, request: Any) -> None:
        self._requests.spend(commands=False)
        if follower := self._followers.pop(_followed(request), None):
            follower.task.cancel()

    def _forget(self, key: Followed, follower: _Follower) -> None:
        follower.leave()
        if self._followers.get(key) is follower:
            del self._followers[key]
        del follower.task  # one that was cancelled holds the frames that hold the follower

    # What is submitted

    def _submit(self, request: Any) -> None:
        """Submit commands after those of the same match that came before."""
        before = self._last_of.get(request.match_id)
        about = self._about_commands(request)
        task = asyncio.create_task(self._or_refuse(partial(self._submitted, before, request, about), about))
        self._last_of[request.match_id] = task
        self._submitting.add(task)
        task.add_done_callback(lambda _: self._has_submitted(request.match_id, task))

    def _has_submitted(self, match_id: str, task: asyncio.Task[None]) -> None:
        self._places.release()
        self._submitting.discard(task)
        if self._last_of.get(match_id) is task:
            del self._last_of[match_id]

    async def _submitted(self, before: asyncio.Task[None] | None, request: Any, about: bytes) -> None:
        """Submit commands, and answer with the version only if the commit was told, and none of its number before.

        What was told before is an earlier answer, or of a history that the log has lost.
        """
        if before is not None:
            await asyncio.wait([before])
        self._requests.spend(commands=True)
        follower = self._followers.get((request.match_id, request.seat))
        before_version = 0 if follower is None else follower.version
        async with self._requests.turn():
            answer = await self._service.submitted(request)
        version = answer.step.version
        is_told = follower is not None and version > before_version and await follower.tells(version)
        await self._tell(about, "accepted", self._service.accepted(answer, request.seat, briefly=is_told))


class _Follower:
    """Follows a match, and knows how far its reader was told of it."""

    task: asyncio.Task[None]

    def __init__(self, tell: Callable[[bytes], Coroutine[Any, Any, None]], begun: Callable[[], None]) -> None:
        """Call `begun` once the first is told, or nothing ever."""
        self._tell, self._begun = tell, begun
        self.version = 0
        """Where the last that was told brought its reader, which may be back, where the log lost commits."""
        self._has_begun = self._has_left = False
        self._moved = asyncio.Event()

    async def follow(self, updates: AsyncIterator[Told]) -> None:
        """Tell all that there is to tell."""
        async for update in updates:
            await self._tell(update.message)
            self.version = update.version
            self._move()

    async def tells(self, version: int) -> bool:
        """Return whether `version` is told, once it was or nothing is told any more."""
        while self.version < version and not self._has_left:
            await self._moved.wait()
        return self.version >= version

    def leave(self) -> None:
        """Note that nothing is told any more."""
        self._has_left = True
        self._move()

    def _move(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._begun()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


def _followed(request: Any) -> Followed:
    return request.match_id, request.seat if request.HasField("seat") else None
