"""Playing over one stream: what a client follows and submits in all its matches of a game goes over one `Play` call.

Nothing else changes for whoever follows or submits. A stream that breaks or ends makes what waits for it fail as a call
would, and what is done about that is the same too: the submission is sent again under its request id, the match is
followed again from its resume token, over the next stream. Some things go by calls of their own all the same:

- everything, once the server turned out to know no such stream;
- a match that is followed from the same seat already, or was on this stream, since answers could not be told apart;
- who takes updates so slowly that `MOST_WAITING` wait: a call of its own keeps it from holding up the others;
- what carries metadata of its own, such as a trace;
- what is asked for over a stream that is refused as a whole, so that each gets the refusal that is its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2

from promontory.api.match.v1 import match_pb2, stream_pb2
from promontory.client.connection import Connection, Moved, Remote, is_carrying
from promontory.client.errors import (
    Cancelled,
    DeadlineExceeded,
    PromontoryError,
    Unavailable,
    Unimplemented,
    from_status,
)
from promontory.client.retrying import Patience, told_silence_seconds
from promontory.client.stubs import Stub

PLAY, FOLLOW, SUBMIT = "Play", "WatchMatch", "SubmitCommand"
TOGETHER_BYTES = 16 * 1024
"""So much is sent together at most, a quarter of what a request may have where nobody has set anything else."""
MOST_WAITING = 64
"""How many messages of a match wait for who follows it, before it is followed by a call of its own."""
RECENT_COMMITS = 8
"""How many of a match's last commits are kept, to answer submissions that are accepted by their version."""
SILENT_TICKS = 5
"""Into how many parts a silence is divided; a loop that is held up for long misses one of them at most."""
SHORT_LIFE_SECONDS = 1.0
"""A stream that ends in order, but sooner than this, is no reason to open the next one at once."""

_Followed = tuple[str, int | None]
_Asked = tuple[str, int, str]


def remote_of(connection: Connection, service: ServiceDescriptor) -> Remote:
    """Return a game's service as `connection` plays it: over one stream for all of its seats, or by calls."""
    if connection.lines is None:
        return Remote(connection, service)
    if service.full_name not in connection.lines:
        connection.lines[service.full_name] = Line(connection, service)
    return connection.lines[service.full_name]


class Line(Remote):
    """A game's service, with one stream at a time for what is followed and submitted. The rest goes by calls."""

    def __init__(self, connection: Connection, service: ServiceDescriptor) -> None:
        super().__init__(connection, service)
        request: Any = service.methods_by_name[PLAY].input_type
        self.request = GetMessageClass(request)
        self.action = GetMessageClass(request.fields_by_name["actions"].message_type)
        self.answer = GetMessageClass(service.methods_by_name[SUBMIT].output_type)
        self.usual_silence_seconds = self._timing.silence_seconds
        self._is_unknown = False
        self._stream: _Stream | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def stream(self, method: str, request: Any) -> AsyncGenerator[Any]:
        """Yield the messages of one streaming call, or what comes of following a match over the stream."""
        following = self._opened(method).follow(request) if self._takes(method, FOLLOW) else None
        if following is not None:
            try:
                async with aclosing(following.messages()) as messages:
                    async for message in messages:
                        yield message
            except _Broken as broken:
                self._note(broken)
                if following.has_told:
                    raise Moved("the stream broke", reason="STREAM_CUT") from None
            else:
                return
        async with aclosing(super().stream(method, request)) as messages:
            async for message in messages:
                yield message

    async def _attempt(self, method: str, request: Any, patience: Patience) -> Any:
        if not self._takes(method, SUBMIT):
            return await super()._attempt(method, request, patience)
        try:
            answer = await self._opened(method).submit(request, self._attempt_seconds(patience))
        except _Broken as broken:
            self._note(broken)
            answer = None
        return await super()._attempt(method, request, patience) if answer is None else answer

    def _takes(self, method: str, streamed: str) -> bool:
        return method == streamed and not self._is_unknown and not is_carrying()

    def _opened(self, method: str) -> _Stream:
        if self._stream is None or not self._stream.is_open:
            self._stream = _Stream(self, self._connection.stub(self._service))
            task = asyncio.create_task(self._stream.run())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return self._stream

    def _note(self, broken: _Broken) -> None:
        """Raise the error that broke a stream, if trying again is all it takes; else note what it says of the server.

        What was asked for then goes by a call.
        """
        match broken.error:
            case Unavailable() | Cancelled():
                raise broken.error from None
            case Unimplemented(reason="METHOD_UNKNOWN" | "UNIMPLEMENTED"):
                self._is_unknown = True

    # What a stream needs of its line

    def open(self, stub: Stub, requests: AsyncIterator[Message]) -> Any:
        """Return the call."""
        return getattr(stub, PLAY)(requests, metadata=self._connection.metadata())

    async def read(self, call: Any) -> Any:
        """Return the next message of a call, or what stands for its end; raise what it failed with."""
        with self._failures(PLAY):
            return await call.read()

    def hear(self) -> None:
        """Note that something came."""
        self._connection.outages.answered(self._connection.address(self._service))

    async def abandon(self, stub: Stub) -> None:
        """Give up the channel over which nothing comes any more."""
        await self._connection.abandon(self._service, stub)


class _Broken(Exception):
    """The stream broke or ended with `error`, and what was asked for over it was not answered."""

    def __init__(self, error: PromontoryError) -> None:
        super().__init__(str(error))
        self.error = error


class _Stream:
    """One `Play` call: what was asked for over it, and what came of that, until it breaks or ends."""

    def __init__(self, line: Line, stub: Stub) -> None:
        self.is_open = True
        self._line, self._stub = line, stub
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._unsent: deque[Message] = deque()
        self._sending = asyncio.Event()
        self._is_over = False
        self._asked: dict[_Asked, list[asyncio.Future[Any]]] = {}
        self._following: dict[_Followed, _Following] = {}
        self._left: set[_Followed] = set()
        """What was followed and no longer is, though there may be more to come of it."""
        self._slow: set[_Followed] = set()
        """What was followed by who took too little of it."""
        self._dead: asyncio.Future[PromontoryError] = self._loop.create_future()
        self._call = line.open(stub, self._requests())
        self.silence = _Silence(line.usual_silence_seconds, self._die)

    async def run(self) -> None:
        """Listen until the stream breaks or ends, and tell all who wait for anything why."""
        reading = asyncio.create_task(self._read())
        error: PromontoryError = Unavailable("the stream was given up", reason="STREAM_CUT")
        try:
            await asyncio.wait([reading, self._dead], return_when=asyncio.FIRST_COMPLETED)
            error = self._dead.result() if self._dead.done() else reading.result()
        finally:
            self.silence.end()
            reading.cancel()
            self._call.cancel()
            self._fail(error)
        if self._dead.done():
            await self._line.abandon(self._stub)

    async def submit(self, request: Any, seconds: float) -> Any:
        """Return the answer to a submission; None if it says no more than the version, and nothing else does.

        Raises the refusal, `DeadlineExceeded`, or `_Broken`.
        """
        key = request.match_id, request.seat, request.request_id
        heard, asked = self.silence.heard, self._loop.create_future()
        self._asked.setdefault(key, []).append(asked)
        self._send(submit=request)
        try:
            async with asyncio.timeout(seconds):
                return await asked
        except TimeoutError:
            if heard == self.silence.heard:
                self._die(f"nothing came over the stream for {seconds:g} seconds")
            raise DeadlineExceeded(f"no answer came in {seconds:g} seconds") from None
        finally:
            self._forget(key, asked)

    def follow(self, request: Any) -> _Following | None:
        """Follow a match; None if what came could not be told from what else comes of it, or would not be taken."""
        key = request.match_id, request.seat if request.HasField("seat") else None
        if key in self._following or key in self._left or key in self._slow:
            return None
        self._following[key] = _Following(self, key)
        self._send(follow=request)
        return self._following[key]

    def leave(self, following: _Following) -> None:
        """Follow a match no longer. Nothing is said of that if it has ended, or is closed, which ends it by itself."""
        key = following.key
        if self._following.get(key) is not following:
            return
        del self._following[key]
        if self.is_open and following.has_more:
            self._left.add(key)
            if not following.is_closed and not following.has_ended:
                self._unfollow(key)

    def give_up(self, following: _Following) -> None:
        """Follow a match no longer, nor later, since what is told of it is not taken."""
        self._slow.add(following.key)
        self.leave(following)

    def retire(self) -> None:
        """Ask for nothing more over the stream, which the server is about to end."""
        self.is_open = False

    def ended(self) -> PromontoryError:
        """Return the error of what is still to be done when the server ends the stream, or a match's part in it."""
        text = "the server ended the stream to have it go on elsewhere"
        is_short = self._loop.time() - self._began < SHORT_LIFE_SECONDS
        return (Unavailable if is_short else Moved)(text, reason="STREAM_CUT")

    # What is sent

    async def _requests(self) -> AsyncIterator[Message]:
        """Yield what is to be sent, together as far as it came together."""
        while not self._is_over:
            await self._sending.wait()
            self._sending.clear()
            while self._unsent:
                yield self._together()

    def _together(self) -> Any:
        request: Any = self._line.request(actions=[self._unsent.popleft()])
        size = request.ByteSize()
        while self._unsent and (size := size + self._unsent[0].ByteSize()) < TOGETHER_BYTES:
            request.actions.append(self._unsent.popleft())
        return request

    def _send(self, **kind: Any) -> None:
        self._unsent.append(self._line.action(**kind))
        self._sending.set()

    def _unfollow(self, key: _Followed) -> None:
        match_id, seat = key
        self._send(unfollow=stream_pb2.Unfollow(match_id=match_id, seat=seat))

    # What is heard

    async def _read(self) -> PromontoryError:
        """Read to the end, and return why that came."""
        try:
            while response := await self._line.read(self._call):
                self.silence.heard += 1
                self._line.hear()
                for news in response.news:
                    self._hear(news)
                    if news.WhichOneof("kind") == "end":
                        return self.ended()
        except PromontoryError as error:
            return error
        return Unavailable("the stream ended before its time", reason="STREAM_CUT")

    def _hear(self, news: Any) -> None:
        match news.WhichOneof("kind"):
            case "update":
                self._update(news)
            case "accepted":
                self._accepted(news)
            case "refused":
                self._refused(news)
            case "keep_alive":
                self.silence.last(told_silence_seconds(news.keep_alive) or self.silence.seconds)

    def _update(self, message: Any) -> None:
        key, ends = _followed(message), message.update.WhichOneof("kind") == "end"
        if ends and message.update.end.reason == stream_pb2.STREAM_END_REASON_SERVER_DRAINING:
            self.retire()
        if key in self._following:
            self._following[key].tell(message.update)
        elif ends:
            self._left.discard(key)

    def _accepted(self, message: Any) -> None:
        answer = message.accepted
        if not answer.HasField("view"):
            following = self._following.get(_followed(message))
            commit = following.commits.get(answer.version) if following else None
            answer = commit and self._line.answer(
                version=commit.version, events=commit.events, view=commit.view, match=commit.match
            )
        self._resolve(message, answer=answer)

    def _refused(self, message: Any) -> None:
        error = from_status(status_pb2.Status.FromString(message.refused.SerializeToString()))
        key = _followed(message)
        if message.request_id:
            self._resolve(message, error=error)
        elif key in self._following:
            self._following[key].fail(error)
        elif key in self._left and error.retry_after is not None:  # to leave came too fast
            self._loop.call_later(error.retry_after, self._unfollow, key)

    def _resolve(self, message: Any, *, answer: Any = None, error: PromontoryError | None = None) -> None:
        key = message.match_id, message.seat, message.request_id
        asked = next((each for each in self._asked.get(key, ()) if not each.done()), None)
        if asked is not None and error is not None:
            asked.set_exception(error)
        elif asked is not None:
            asked.set_result(answer)

    def _forget(self, key: _Asked, asked: asyncio.Future[Any]) -> None:
        self._asked[key].remove(asked)
        if not self._asked[key]:
            del self._asked[key]

    # How it ends

    def _die(self, text: str) -> None:
        if not self._dead.done():
            self._dead.set_result(Unavailable(text, reason="STREAM_SILENT"))

    def _fail(self, error: PromontoryError) -> None:
        self.is_open = False
        self._is_over = True
        self._sending.set()
        for asked in [each for several in self._asked.values() for each in several if not each.done()]:
            asked.set_exception(_Broken(error))
        for following in self._following.values():
            following.fail(_Broken(error))


class _Silence:
    """Notices that nothing came over a stream for `seconds`; `heard` counts what did."""

    def __init__(self, seconds: float, notice: Callable[[str], None]) -> None:
        """Call `notice` with what is amiss, in words."""
        self.seconds, self.heard = seconds, 0
        self._notice, self._loop = notice, asyncio.get_running_loop()
        self._timer = self._tick_later(silent=0)

    def last(self, seconds: float) -> None:
        """Notice nothing sooner than after so many seconds, from now on."""
        if seconds != self.seconds:
            self.seconds = seconds
            self._timer.cancel()
            self._timer = self._tick_later(silent=0)

    def end(self) -> None:
        """Notice nothing any more."""
        self._timer.cancel()

    def _tick_later(self, *, silent: int) -> asyncio.TimerHandle:
        return self._loop.call_later(self.seconds / SILENT_TICKS, self._tick, self.heard, silent)

    def _tick(self, heard: int, silent: int) -> None:
        silent = silent + 1 if heard == self.heard else 0
        if silent == SILENT_TICKS:
            self._notice(f"the stream was silent for {self.seconds:g} seconds")
        else:
            self._timer = self._tick_later(silent=silent)


class _Following:
    """A match that is followed over a stream: its messages for who follows it, and its last commits."""

    def __init__(self, stream: _Stream, key: _Followed) -> None:
        self.key = key
        self.has_told = self.has_ended = self.is_closed = False
        self.has_more = True
        """Whether anything may come that is about it: after the end no more than the refusal of a slow reader."""
        self.commits: dict[int, Any] = {}
        self._stream = stream
        self._waiting: asyncio.Queue[Any] = asyncio.Queue()

    async def messages(self) -> AsyncGenerator[Any]:
        """Yield the messages up to the last one. Raises the refusal, or `_Broken`; leaving ends it."""
        try:
            while not self.has_ended or not self._waiting.empty():
                message = await self._next()
                if isinstance(message, Exception):
                    raise message
                self.has_told = True
                yield message
                if message.WhichOneof("kind") == "end":
                    self._go_on(message.end)
        finally:
            self._stream.leave(self)

    async def _next(self) -> Any:
        seconds = self._stream.silence.seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._waiting.get()
        except TimeoutError:
            return Unavailable(f"nothing came of the match for {seconds:g} seconds", reason="STREAM_SILENT")

    def tell(self, message: Any) -> None:
        """Have `message` told, unless it says that nothing happens and there is more to tell, or too much waits."""
        match message.WhichOneof("kind"):
            case "heartbeat" if not self._waiting.empty():
                return
            case "snapshot":
                self.is_closed = _is_closed(message.snapshot.match)
            case "commit":
                self.is_closed = _is_closed(message.commit.match)
                self._keep(message.commit)
            case "end":
                self.has_ended = True
                self.has_more = message.end.reason == stream_pb2.STREAM_END_REASON_SLOW_READER
        if self._waiting.qsize() < MOST_WAITING or self.has_ended:
            self._waiting.put_nowait(message)
        else:
            self._stream.give_up(self)
            self.fail(Moved("updates were not taken", reason="SLOW_READER"))

    def fail(self, error: Exception) -> None:
        """Have `error` raised after what there is to tell."""
        self._waiting.put_nowait(error)

    def _keep(self, commit: Any) -> None:
        self.commits[commit.version] = commit
        if len(self.commits) > RECENT_COMMITS:
            del self.commits[next(iter(self.commits))]

    def _go_on(self, end: stream_pb2.StreamEnd) -> None:
        """Have it go on elsewhere at once, if the server is why it ended."""
        if end.resumable and not self.has_more:
            raise self._stream.ended()


def _followed(message: Any) -> _Followed:
    return message.match_id, message.seat if message.HasField("seat") else None


def _is_closed(match: match_pb2.Match) -> bool:
    return match.state == match_pb2.MATCH_STATE_CLOSED
