"""Trails in the server that keeps the event log: one key for each match that was changed lately, which expires."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from promontory.eventlog.port import EventLogUnavailable, bucket_of
from promontory.eventlog.redis_calls import Caller
from promontory.runtime.tracing import NO_CAUSE, Cause

log = structlog.get_logger()

KEPT_SECONDS = 300
_LINK = "~"


class RedisTrails:
    """`Trails` by way of `caller`. A key is no part of the log, and written before the commit that it belongs to."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def leave(self, match_id: str, cause: Cause) -> None:
        """Note `cause`; see `Trails.leave`."""
        text = cause.parent or _LINK + cause.link
        try:
            await self._caller.command("SET", _key(match_id), text, "EX", KEPT_SECONDS)
        except EventLogUnavailable as error:
            log.debug("trail_not_left", match_id=match_id, cause=str(error))

    async def found(self, match_ids: Sequence[str]) -> Sequence[Cause]:
        """Return the cause last left for each of `match_ids`; see `Trails.found`."""
        try:
            found = await self._caller.pipeline(*(("GET", _key(match_id)) for match_id in match_ids))
        except EventLogUnavailable:
            return [NO_CAUSE for _ in match_ids]
        return [_cause((text or b"").decode()) for text in found]


def _key(match_id: str) -> str:
    return f"{{{bucket_of(match_id)}}}:trail:{match_id}"


def _cause(text: str) -> Cause:
    return Cause(link=text.removeprefix(_LINK)) if text.startswith(_LINK) else Cause(parent=text)
