"""Commits to append, and writers that append them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promontory.eventlog.port import START, Appended, EventLog, EventLogUnavailable, Position, Proposed, StoredEvent

EVENT = StoredEvent("promontory.api.transcontinental.v1.MeldPlayed", b"\x08\x01\x00\xff")


def proposal(
    command_id: str = "0:first",
    *,
    events: Sequence[StoredEvent] = (EVENT,),
    fingerprint: str = "content",
    closes: bool = False,
    due: Mapping[str, int | None] | None = None,
) -> Proposed:
    """Return a commit to append, ordinary but for what is given."""
    return Proposed(tuple(events), command_id, fingerprint, meta=b"meta", closes=closes, due=due or {})


async def append_chain(log: EventLog, stream: str, count: int, *, after: Position = START) -> Position:
    """Append `count` one-event commits, with command ids `0:<version>`, and return the position after them."""
    for version in range(after.version + 1, after.version + count + 1):
        appended = await log.append(stream, proposal(f"0:{version}"), expected=after)
        after = position(appended)
    return after


def position(appended: Appended) -> Position:
    """Return the position after a commit this call made."""
    assert appended.head is not None
    return Position(appended.version, appended.head)


class Writer:
    """Appends to one stream until the log is gone; `acknowledged` is the last position it was promised."""

    def __init__(self, log: EventLog, stream: str) -> None:
        self._log = log
        self.stream = stream
        self.acknowledged = START

    async def run(self) -> None:
        """Append until the outcome of an append is unknown."""
        try:
            while True:
                self.acknowledged = await append_chain(self._log, self.stream, 1, after=self.acknowledged)
        except EventLogUnavailable:
            return

    async def repeat_last(self) -> Appended:
        """Append once more what the writer was left in doubt about."""
        command_id = f"0:{self.acknowledged.version + 1}"
        return await self._log.append(self.stream, proposal(command_id), expected=self.acknowledged)
