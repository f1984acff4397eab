"""The record of acts: a hash-chained stream that only grows, in which an act stands before it is done."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping

from promontory.admin.domain import STREAM, applied, command_id_of, content_of, stored
from promontory.api.admin.v1 import acts_pb2 as pb
from promontory.eventlog.port import START, Appended, EventLog, LogCorrupt, Position, Proposed, VersionConflict
from promontory.runtime import metrics

PAGE_COMMITS = 500
MAX_CONFLICTS = 20


class Record:
    """The acts of all admins, folded as far as the log has them each time it is asked."""

    def __init__(self, log: EventLog) -> None:
        self._log, self._lock = log, asyncio.Lock()
        metrics.begin(metrics.LOG_REWINDS, kind=["acts"])
        self._rewind()

    def _rewind(self) -> None:
        self._position, self._acts = START, dict[int, pb.Act]()

    async def acts(self) -> Mapping[int, pb.Act]:
        """Return all acts by number. Raises `LogCorrupt` if the record does not verify."""
        async with self._lock:
            await self._catch_up()
            return dict(self._acts)

    async def begin(self, event: pb.ActBegun) -> tuple[pb.Act, bool]:
        """Record that an act begins, unless it is recorded already; return it, and whether it is new.

        Raises `CommandIdReused` if the admin used the request id for something else, and what `EventLog.append` raises.
        """
        fingerprint = hashlib.sha256(content_of(event)).hexdigest()
        appended = await self._append(Proposed((stored(event),), command_id_of(event), fingerprint))
        return (await self.acts())[appended.version], not appended.duplicate

    async def end(self, event: pb.ActEnded) -> pb.Act:
        """Record what came of an act, unless that is recorded already, and return the act."""
        await self._append(Proposed((stored(event),), f"end:{event.number}", "end"))
        return (await self.acts())[event.number]

    async def _append(self, proposed: Proposed) -> Appended:
        for _ in range(MAX_CONFLICTS):
            try:
                return await self._log.append(STREAM, proposed, expected=await self._end())
            except VersionConflict as conflict:
                version = conflict.version
        raise VersionConflict(version)

    async def _end(self) -> Position:
        async with self._lock:
            await self._catch_up()
            return self._position

    async def _catch_up(self) -> None:
        try:
            await self._follow()
        except LogCorrupt:
            if self._position == START:
                raise
            self._rewind()  # a restored server may hold another history than the one folded so far
            await self._follow()
            metrics.LOG_REWINDS.labels(kind="acts").inc()

    async def _follow(self) -> None:
        more = True
        while more:
            page = await self._log.read(STREAM, after=self._position, limit=PAGE_COMMITS)
            for commit in page:
                applied(self._acts, commit)
                self._position = commit.position
            more = len(page) == PAGE_COMMITS
