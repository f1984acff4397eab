"""Commits that were acknowledged lately, offered again to a log that went back behind them.

A failover, or a power cut, may lose what was acknowledged in its last moments. Whoever acknowledged it still knows it,
and the hash chain tells whether it fits: nothing else does, so a commit is never put after another history.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import structlog
from msgspec.structs import replace

from promontory.eventlog.port import (
    Appended,
    CommandIdReused,
    Fenced,
    LogCorrupt,
    Position,
    Proposed,
    StreamClosed,
    VersionConflict,
)

log = structlog.get_logger()

KEPT_SECONDS = 60.0
KEPT_BYTES = 32 * 1024 * 1024
"""What is older, or too much, is forgotten; a commit takes about 1 KB."""
KEPT_OVERHEAD = 500

_REFUSED = (VersionConflict, StreamClosed, CommandIdReused, LogCorrupt, Fenced)


class Log(Protocol):
    """The log that may have gone back. All methods may raise `EventLogUnavailable`."""

    async def append_once(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append a commit as it is; see `EventLog.append`."""

    async def positions(self, streams: Sequence[str]) -> Sequence[Position]:
        """Return where streams end."""

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of a commit; see `EventLog.find`."""


class _Kept(msgspec.Struct, frozen=True, eq=False):
    """An acknowledged commit: what it was appended to, what it holds, the position after it, and its bytes, about."""

    stream: str
    expected: Position
    proposed: Proposed
    position: Position
    since: float
    size: int

    def is_not(self, made: tuple[str, int] | None) -> bool:
        """Tell whether what its command `made`, by fingerprint and version, is another commit or none."""
        return made != (self.proposed.fingerprint, self.position.version)


class Resending:
    """Keeps what this process was acknowledged for `KEPT_SECONDS`, and offers it again where the log lacks it."""

    def __init__(self, event_log: Log, clock: Callable[[], float]) -> None:
        self._log, self._clock = event_log, clock
        self._streams: dict[str, dict[int, _Kept]] = {}
        self._ages: deque[_Kept] = deque()
        self._bytes = 0
        self._offering = asyncio.Lock()

    def keep(self, stream: str, proposed: Proposed, *, expected: Position, position: Position) -> None:
        """Remember that `proposed` was acknowledged after `expected`, and that `position` is the one after it."""
        size = KEPT_OVERHEAD + sum(len(event.payload) for event in proposed.events)
        kept = _Kept(stream, expected, proposed, position, self._clock(), size)
        self._streams.setdefault(stream, {})[position.version] = kept
        self._ages.append(kept)
        self._bytes += size
        self._forget(kept.since - KEPT_SECONDS)

    async def offer(self, stream: str) -> bool:
        """Offer what `stream` lacks, and return whether it has more now. Raises `EventLogUnavailable`."""
        async with self._offering:
            if stream not in self._streams:
                return False
            (position,) = await self._log.positions([stream])
            return await self._offer(stream, position)

    async def offer_all(self) -> None:
        """Offer what any stream lacks. Raises `EventLogUnavailable`."""
        async with self._offering:
            self._forget(self._clock() - KEPT_SECONDS)
            streams = list(self._streams)
            for stream, position in zip(streams, await self._log.positions(streams), strict=True):
                await self._offer(stream, position)

    async def _offer(self, stream: str, position: Position) -> bool:
        kept, before, offered = self._streams.get(stream, {}), position, 0
        while (lacking := kept.get(position.version + 1)) is not None and lacking.expected == position:
            appended = await self._append(lacking)
            if appended is None or appended.version != lacking.position.version:
                break
            position, offered = lacking.position, offered + (not appended.duplicate)
        if offered:
            log.warning("commits_offered_again", stream=stream, commits=offered)
        if kept and position != kept[max(kept)].position:
            await self._report_lost(stream, tuple(kept.values()))
        return position != before

    async def _append(self, kept: _Kept) -> Appended | None:
        # Its time is in its meta, under the chain; the server would only find it too long ago.
        proposed = replace(kept.proposed, recorded_at_ms=None)
        try:
            return await self._log.append_once(kept.stream, proposed, expected=kept.expected)
        except _REFUSED:
            return None

    async def _report_lost(self, stream: str, kept: Sequence[_Kept]) -> None:
        """Tell, once, of commits that were acknowledged and are not in the log, nor fit there any more."""
        found = [await self._log.find(stream, each.proposed.command_id) for each in kept]
        lost = [each.position.version for each, made in zip(kept, found, strict=True) if each.is_not(made)]
        if lost:
            log.error("commits_lost", stream=stream, first=min(lost), commits=len(lost))
            for version in lost:
                self._streams.get(stream, {}).pop(version, None)

    def _forget(self, before: float) -> None:
        while self._ages and (self._ages[0].since < before or self._bytes > KEPT_BYTES):
            oldest = self._ages.popleft()
            self._bytes -= oldest.size
            commits = self._streams.get(oldest.stream, {})
            if commits.get(oldest.position.version) is oldest:
                del commits[oldest.position.version]
            if not commits:
                self._streams.pop(oldest.stream, None)
