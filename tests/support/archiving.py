"""Archives to test with, and matches that are ready to be archived."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import msgspec

from promontory.archive.archiver import Archiver, Judge, Outcome
from promontory.archive.memory import MemoryArchive, MemoryArchiveIndex
from promontory.archive.reading import ArchivedEventLog
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.obligations import archive_name, list_name, tally_name
from promontory.eventlog.port import bucket_of
from promontory.rules.domain import Match, Setup
from promontory.runtime.clock import now_ms
from promontory.workers.archiving import judge_by
from tests.support.refereeing import ADA, TWO_PLAYERS, Bench, next_command, ruleset

MATCH = "tc-0a7-aaaaaaaaaaaaaaaaaaaaaaaaaa"
OTHERS = ("pc-000-bbbbbbbbbbbbbbbbbbbbbbbbbb", "tc-03f-cccccccccccccccccccccccccc", "tc-0a7-zzzzzzzzzzzzzzzzzzzzzzzzzz")


class Depot:
    """A log, an archive and an index in memory, and what is done with them."""

    def __init__(self, log: MemoryEventLog | None = None) -> None:
        self.log = log or MemoryEventLog(clock=now_ms)
        self.archive, self.index = MemoryArchive(), MemoryArchiveIndex()
        self.judge: Judge = judge_by([ruleset()])

    @property
    def readable(self) -> ArchivedEventLog:
        """The log as a process reads it that has just started."""
        return ArchivedEventLog(self.log, self.archive, self.index)

    @property
    def bench(self) -> Bench:
        """A referee that has just started."""
        return Bench(self.readable)  # type: ignore[arg-type]

    async def closed(self, setup: Setup = TWO_PLAYERS, *, request_id: str = "creation") -> Match:
        """Return a match that was played for a while and resigned, is listed, and whose archiving is owed."""
        bench = self.bench
        match = await bench.create(setup, request_id=request_id)
        while match.version < 4:
            match = (await bench.submit(match, next_command(match))).step.match
        match = (await bench.referee.resign(ADA, match.match_id, 0, request_id="enough")).step.match
        bucket = bucket_of(match.match_id)
        await self.log.settle(bucket, list_name(match.match_id))
        await self.log.owe(bucket, archive_name(match.match_id, match.updated_at_ms), delay_ms=0)
        return match

    async def archive_it(self, match: Match, *, dying: Steps | None = None, attempt: int = 1) -> Outcome:
        """Try to archive `match` in a process that has just started, and that dies at a step."""
        ports: Sequence[Any] = (self.log, self.archive, self.index)
        log, archive, index = ports if dying is None else [Dying(port, dying) for port in ports]
        archiver = Archiver(log, archive, index, self.judge)
        return await archiver.archive(match.match_id, match.updated_at_ms, attempt=attempt)

    async def archived(self, setup: Setup = TWO_PLAYERS) -> Match:
        """Return a match that was played and archived."""
        match = await self.closed(setup)
        await self.log.settle(bucket_of(match.match_id), tally_name(match.match_id))
        assert await self.archive_it(match) is Outcome.ARCHIVED
        return match

    async def owed(self, match: Match) -> Sequence[str]:
        """Return what is owed in the match's bucket."""
        return await self.log.owed(bucket_of(match.match_id))


class Killed(BaseException):
    """The process dies here."""


class Steps(msgspec.Struct):
    """Counts what a process has begun and what it has done, and dies before the count gets to `dies_at`."""

    dies_at: int
    count: int = 0

    def pass_one(self) -> None:
        """Go on, or die."""
        if self.count == self.dies_at:
            raise Killed
        self.count += 1


class Dying:
    """A port of a process that dies before or after one of its calls."""

    def __init__(self, target: Any, steps: Steps) -> None:
        self._target, self._steps = target, steps

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*arguments: Any, **options: Any) -> Any:
            self._steps.pass_one()
            answer = await method(*arguments, **options)
            self._steps.pass_one()
            return answer

        return call
