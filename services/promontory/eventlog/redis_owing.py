"""The obligations of a log in a Redis 7 or Valkey server, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from promontory.eventlog.owing import Owing
from promontory.eventlog.redis_calls import Caller


class Obliged(Protocol):
    """The log whose obligations they are."""

    @property
    def caller(self) -> Caller:
        """The calls to its server."""

    async def settle(self, bucket: str, name: str) -> None:
        """See `EventLog.settle`."""

    async def postpone(self, bucket: str, name: str, *, delay_ms: int) -> None:
        """See `PrunableLog.postpone`."""


class RedisOwings:
    """The port `Owings` beside a `RedisEventLog`."""

    def __init__(self, log: Obliged) -> None:
        self._log, self._caller = log, log.caller

    async def owings(self, bucket: str) -> Sequence[Owing]:
        """Return the obligations of `bucket`, the earliest due first."""
        due, tries = await self._caller.pipeline(
            ("ZRANGE", f"{{{bucket}}}:due", 0, -1, "WITHSCORES"), ("HGETALL", f"{{{bucket}}}:tries")
        )
        fields = tries if isinstance(tries, dict) else dict(zip(tries[::2], tries[1::2], strict=True))
        pairs = zip(due[::2], due[1::2], strict=True)
        return [Owing(name.decode(), int(float(ms)), int(fields.get(name, 0))) for name, ms in pairs]

    async def renew(self, bucket: str, name: str) -> None:
        """Have the obligation `name` due now and its attempts forgotten, in this order: it is never lost in between."""
        await self._caller.command("HDEL", f"{{{bucket}}}:tries", name)
        await self._log.postpone(bucket, name, delay_ms=0)

    async def settle(self, bucket: str, name: str) -> None:
        """Remove the obligation `name`; nothing happens if it is gone."""
        await self._log.settle(bucket, name)
