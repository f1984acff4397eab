"""Setting a restored log right where the archive knows more."""

from __future__ import annotations

from typing import Protocol

from promontory.eventlog.port import Position, StreamStatus, bucket_of
from promontory.eventlog.pruning import KEPT_SECONDS
from promontory.eventlog.redis_calls import Caller


class Restored(Protocol):
    """The log that was restored."""

    @property
    def caller(self) -> Caller:
        """The calls to its server."""


async def surrender_to_archive(log: Restored, stream: str, end: Position, location: str) -> None:
    """Give up what the log has of `stream` and owes to it: it goes on to `end` in the archive at `location`.

    Only while nothing else writes to the log: an open match in a log from a backup, which was over before the backup
    was needed, must not be played on to another end.
    """
    bucket = bucket_of(stream)
    prefix = f"{{{bucket}}}:m:{stream}"
    owed = await log.caller.command("ZRANGE", f"{{{bucket}}}:due", 0, -1)
    names = [name for name in owed if name.decode().split("|")[1:2] == [stream]]
    await log.caller.pipeline(
        *(("ZREM", f"{{{bucket}}}:due", name) for name in names),
        *(("HDEL", f"{{{bucket}}}:tries", name) for name in names),
        ("HSET", f"{prefix}:head", *_head(end, location)),
        ("EXPIRE", f"{prefix}:head", KEPT_SECONDS),
        ("UNLINK", f"{prefix}:log", f"{prefix}:idem", f"{prefix}:snap"),
    )


def _head(end: Position, location: str) -> tuple[str | int | bytes, ...]:
    return ("v", end.version, "h", end.head, "s", StreamStatus.ARCHIVED.value, "l", location)
