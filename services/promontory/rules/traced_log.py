"""The event log of a rules service that traces."""

from __future__ import annotations

from typing import Any, cast

from promontory.eventlog.port import Appended, EventLog, Position, Proposed
from promontory.runtime import tracing
from promontory.runtime.identity import Scope, caller
from promontory.runtime.tracing import Cause, Trails


class TracedLog:
    """An `EventLog` whose appends are spans, and leave a trail for those who meet the obligations that they set.

    A trace goes from a player's command to the house bots that it calls upon. With what a house bot does it ends; the
    next one's turn is a trace of its own that refers to this one, else a match among bots would be one endless trace.
    """

    def __init__(self, log: EventLog, trails: Trails) -> None:
        self._log, self._trails = log, trails

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append all of `proposed` or nothing; see `EventLog.append`."""
        with tracing.span("append", attributes=tracing.about(stream)) as span:
            owes = any(delay is not None for delay in proposed.due.values())
            if owes and (context := tracing.current()):
                await self._trails.leave(stream, _cause(context))
            appended = await self._log.append(stream, proposed, expected=expected)
            span.tell({"promontory.version": appended.version, "promontory.events": len(proposed.events)})
            return appended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def traced_log(log: EventLog, trails: Trails) -> EventLog:
    """Return `log`, with appends that are traced."""
    return cast("EventLog", TracedLog(log, trails))


def _cause(context: str) -> Cause:
    by_bot = Scope.PLAY_FOR_THE_HOUSE in caller().scopes
    return Cause(link=context) if by_bot else Cause(parent=context)
