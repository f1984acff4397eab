"""A client whose commands share one connection: many are under way at a time, and each is answered in its turn.

redis-py's own client takes a connection out of its pool for each command, and a task and two timers for each write and
read: five to ten times the processor time of what is left when commands that come together are written together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from promontory.eventlog.redis_packing import pack_command

Command = Sequence[Any]

OPENINGS = 3
"""How many connections are opened for one command, where each is gone before the command gets hold of it."""


class SharedRedis(Redis):
    """A client whose commands share a connection out of `lines`; none may wait at the server, as a blocking read does.

    Whatever is no answer within `answer_seconds` ends the connection, and all that are under way on it get none; the
    next command opens another one. `lines` must have no timeouts of its own. Pipelines, which redis-py sends by itself,
    use `pool`. `before` is called before each command.
    """

    def __init__(
        self, pool: ConnectionPool, lines: ConnectionPool, *, answer_seconds: float, before: Callable[[], None]
    ) -> None:
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True
        self._lines, self._answer_seconds, self._before = lines, answer_seconds, before
        self._line: _Line | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_closed = False

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Return the server's answer to one command."""
        (answer,) = (await self._present_line()).ask([args])
        return self._shaped(await answer, args[0], options)

    async def execute_all(self, commands: Sequence[Command]) -> list[Any]:
        """Return the answers to `commands`, written one right after the other; raise the first error among them."""
        answers = (await self._present_line()).ask(commands)
        found = await asyncio.gather(*answers, return_exceptions=True)
        if failures := [each for each in found if isinstance(each, BaseException)]:
            raise failures[0]
        return [self._shaped(each, command[0], {}) for each, command in zip(found, commands, strict=True)]

    async def leave(self) -> None:
        """Give the next command a new connection; what is under way ends on the present one."""
        line, self._line = self._line, None
        if line is not None:
            line.retire()
        await _leave_idle(self._lines)
        await _leave_idle(self.connection_pool)

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close all connections; whoever waits for an answer gets none."""
        self._is_closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._line is not None:
            await self._line.aclose()
        await self._lines.aclose()
        await super().aclose(close_connection_pool)

    async def _present_line(self) -> _Line:
        """Return a line that takes commands, as long as nothing else is awaited."""
        self._before()
        openings = 0
        while self._line is None or not self._line.is_open:
            if openings == OPENINGS:
                raise RedisConnectionError("each connection was closed as soon as it was opened")
            openings += 1
            if self._opening is None:
                self._opening = asyncio.create_task(self._open())
                self._opening.add_done_callback(self._opened)
            await asyncio.shield(self._opening)
        return self._line

    async def _open(self) -> None:
        if self._is_closed:
            raise RedisConnectionError("the client is closed")
        try:
            async with asyncio.timeout(self._answer_seconds):
                connection = await self._lines.get_connection()
        except TimeoutError as error:
            raise RedisTimeoutError("the server did not answer to a new connection") from error
        line = _Line(connection, self._lines, answer_seconds=self._answer_seconds)
        await asyncio.sleep(0)  # a task that is cancelled before it has begun gives no connection back
        self._line = line

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._opening = None
        _ignore(opening)

    def _shaped(self, answer: Any, name: str, options: dict[str, Any]) -> Any:
        """Return an answer in the form that redis-py gives it."""
        shape = self.response_callbacks.get(name)
        options.pop("keys", None)
        return answer if shape is None else shape(answer, **options)


class _Line:
    """A connection that is in use, and who waits for answers on it, in the order in which they come."""

    def __init__(self, connection: Any, pool: ConnectionPool, *, answer_seconds: float) -> None:
        self._connection: Connection = connection
        self._pool, self._answer_seconds = pool, answer_seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._unsent: list[bytes] = []
        self._has_unsent = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._failure: Exception = RedisConnectionError("the connection was closed")
        self._is_retired = self._is_closing = False
        self._work = asyncio.create_task(self._run())

    @property
    def is_open(self) -> bool:
        """Whether commands may be sent."""
        return not self._is_retired and self._connection.is_connected and not self._work.done()

    def ask(self, commands: Sequence[Command]) -> list[asyncio.Future[Any]]:
        """Send `commands`, and return what their answers will come in."""
        packed = [part for command in commands for part in pack_command(*command)]  # raises before any is to be sent
        ends = self._loop.time() + self._answer_seconds
        answers = [self._loop.create_future() for _ in commands]
        self._unsent += packed
        self._waiting.extend((ends, answer) for answer in answers)
        self._has_unsent.set()
        if self._alarm is None:
            self._alarm = self._loop.call_at(ends, self._check_time)
        return answers

    def retire(self) -> None:
        """Take no more commands, and close once all are answered."""
        self._is_retired = True
        if not self._waiting:
            self._stop()

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._stop()
        await asyncio.wait([self._work])

    def _stop(self) -> None:
        """End the work, unless it ends already and gives the connection back."""
        if not self._is_closing:
            self._work.cancel()

    def _check_time(self) -> None:
        self._alarm = None
        if not self._waiting:
            return
        ends, _ = self._waiting[0]
        if ends <= self._loop.time():
            self._failure = RedisTimeoutError(f"no answer within {self._answer_seconds:g} s")
            self._stop()
        else:
            self._alarm = self._loop.call_at(ends, self._check_time)

    async def _run(self) -> None:
        writing = asyncio.create_task(self._write())
        writing.add_done_callback(_ignore)
        try:
            await self._read()
        except asyncio.CancelledError:
            pass  # by `retire`, `aclose` or the alarm
        except Exception as error:  # noqa: BLE001 - whoever waits for an answer is told
            self._failure = error
        finally:
            writing.cancel()
            await self._close()

    async def _write(self) -> None:
        """Send what is unsent, all that came together in one write. A failure closes the connection."""
        while True:
            await self._has_unsent.wait()
            self._has_unsent.clear()
            unsent, self._unsent = self._unsent, []
            if not self._connection.is_connected:
                return  # redis-py would connect anew, and answers to that come among those that are waited for
            await self._connection.send_packed_command(b"".join(unsent), check_health=False)

    async def _read(self) -> None:
        while self._waiting or not self._is_retired:
            try:
                answer = await self._connection.read_response()
            except ResponseError as refusal:
                self._fail(refusal)
            else:
                _, waiting = self._waiting.popleft()
                if not waiting.done():
                    waiting.set_result(answer)

    def _fail(self, error: Exception) -> None:
        """Tell `error` to who waited longest, unless they gave up."""
        _, waiting = self._waiting.popleft()
        if not waiting.done():
            waiting.set_exception(error)

    async def _close(self) -> None:
        self._is_retired = self._is_closing = True
        if self._alarm is not None:
            self._alarm.cancel()
        try:
            await self._connection.disconnect(nowait=True)
        finally:
            while self._waiting:
                self._fail(self._failure)
            await self._pool.release(self._connection)


async def in_one_write(client: Redis, commands: Sequence[Command]) -> list[Any]:
    """Return the answers of one server to `commands`, sent right after each other; raise the first error in them."""
    if isinstance(client, SharedRedis):
        return await client.execute_all(commands)
    async with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        return await pipe.execute()


async def leave(client: Redis) -> None:
    """Have the next command of `client` go over a new connection; what is under way is left to itself."""
    if isinstance(client, SharedRedis):
        await client.leave()
    else:
        await _leave_idle(client.connection_pool)


async def _leave_idle(pool: ConnectionPool) -> None:
    """Close the connections that nobody uses; over TLS a server that hangs has a while to agree to that."""
    with suppress(RedisTimeoutError):
        await pool.disconnect(inuse_connections=False)


def _ignore(task: asyncio.Task[Any]) -> None:
    """Take note of how `task` ended, which nobody else may wait for."""
    if not task.cancelled():
        task.exception()
