"""Calls to the server that know what is unknown: an answer, a refusal, or no answer at all.

redis-py's own retries are off (`redis_server.connect`): they repeat a write whose reply was lost. Here a call is
repeated because whoever makes it has made that safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import DataError, ResponseError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_after_delay, wait_random_exponential

from promontory.eventlog.functions import LibraryMissing, is_missing_function
from promontory.eventlog.port import EventLogUnavailable
from promontory.eventlog.redis_cluster import ClusterRedis, primaries
from promontory.eventlog.redis_shared import in_one_write, leave

T = TypeVar("T")

# Answers that mean: nothing was written, and nothing will be until an operator acts.
_REFUSALS = frozenset({"OOM", "MISCONF", "NOREPLICAS", "NOPERM"})
# Answers that mean: nothing was written; another moment or another connection may do.
_PASSING = frozenset({"READONLY", "BUSY", "TRYAGAIN", "UNBLOCKED", "CLUSTERDOWN", "MASTERDOWN"})


class ServerRefused(EventLogUnavailable):
    """The server answered that it takes no such call now; nothing was written, and repeating at once is no use."""


class Caller:
    """Calls one server through `client`: at most `attempts` times within `deadline_seconds`, until it answers.

    `unanswered` counts the calls that got no answer, or one from a server that is not in charge.
    """

    def __init__(self, client: Redis, *, attempts: int, deadline_seconds: float) -> None:
        self._client = client
        self._attempts = attempts
        self._deadline_seconds = deadline_seconds
        self.unanswered = 0

    async def command(self, *arguments: Any) -> Any:
        """Return the server's answer to one command, which must be safe to repeat."""
        return await self.call(lambda: self._client.execute_command(*arguments))

    async def pipeline(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Return the server's answers to `commands`, sent in one write (to each node) and safe to repeat."""

        async def send() -> list[Any]:
            if isinstance(self._client, ClusterRedis):
                return await self._client.execute_all(commands)
            return await in_one_write(self._client, commands)

        return await self.call(send)

    async def by_node(self, keys: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return `keys` in groups, those of one node together; all of them, if there is one server."""
        client = self._client
        return await self.call(lambda: client.by_node(keys)) if isinstance(client, ClusterRedis) else [keys]

    async def keys(self, pattern: str, *, page: int) -> AsyncIterator[list[bytes]]:
        """Yield the keys that match `pattern`, in pages of `page` looked at, from all nodes; some may come twice."""
        for server in await self.call(lambda: primaries(self._client)):
            cursor, more = 0, True
            while more:
                scan = partial(server.execute_command, "SCAN", cursor, "MATCH", pattern, "COUNT", page)
                cursor, found = await self.call(scan)
                yield found
                more = cursor != 0

    async def call(self, send: Callable[[], Awaitable[T]]) -> T:
        """Return what `send` returns; it is repeated while no answer comes.

        Raises `EventLogUnavailable` when the outcome stays unknown, `ServerRefused` when the server said no.
        """
        try:
            return await self._once(send)
        except EventLogUnavailable as error:
            if self._attempts == 1 or not _may_pass(error):
                raise
        return await self._again(send)

    async def _again(self, send: Callable[[], Awaitable[T]]) -> T:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._attempts - 1) | stop_after_delay(self._deadline_seconds),
            wait=wait_random_exponential(multiplier=0.02, max=0.5),
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        return await retrying(self._once, send)

    async def _once(self, send: Callable[[], Awaitable[T]]) -> T:
        try:
            return await _cancellable(send)
        except (DataError, LibraryMissing):
            raise
        except ResponseError as error:
            raise await self._translated(error) from error
        except Exception as error:
            # Transports leak TypeError and AttributeError when the peer closes: whatever is no reply leaves it unknown.
            await self._leave_connection()
            raise EventLogUnavailable(f"the server did not answer: {error!r}") from error

    async def _translated(self, error: ResponseError) -> Exception:
        code = error.status_code or str(error).split(" ", 1)[0]
        if is_missing_function(error):
            return ServerRefused(f"{error}: run `promontory load-functions` against this server")
        if code in _REFUSALS:
            return ServerRefused(f"the server refused: {code} {error}")
        if code in _PASSING:
            await self._leave_connection()
            return EventLogUnavailable(f"the server refused for now: {code} {error}")
        return error

    async def _leave_connection(self) -> None:
        self.unanswered += 1
        await leave(self._client)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, EventLogUnavailable) and not isinstance(error, ServerRefused)


async def _cancellable(send: Callable[[], Awaitable[T]]) -> T:
    """Return what `send` returns, unless the task was cancelled meanwhile.

    redis-py writes under `asyncio.wait_for`, which in Python 3.11 loses a cancellation that comes as the write ends: a
    task told to stop would go on for ever.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        return await send()
    finally:
        if task and task.cancelling() > before:
            raise asyncio.CancelledError
