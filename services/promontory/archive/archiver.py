"""Moving a closed match from the log to the archive: copied, verified by replay, indexed, and only then given up."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import structlog

from promontory.archive.entries import entry_of
from promontory.archive.port import Archive, ArchiveIndex
from promontory.archive.segment import Segment, pack, unpack
from promontory.eventlog.obligations import archive_name, list_name, tally_name
from promontory.eventlog.port import ArchiveUnavailable, LogCorrupt, StreamStatus, bucket_of
from promontory.eventlog.pruning import PrunableLog, Pruning, Surrender
from promontory.games.registry import GAMES, UnknownGameError, entry_of_match
from promontory.runtime import clock, metrics

log = structlog.get_logger()

REST_SECONDS = 5.0
"""How long an archive that did not answer is left alone, so that those who wait for it do not hold up other tasks."""

FIRST_DELAY_MS, LONGEST_DELAY_MS = 15_000, 900_000
MOST_DOUBLINGS = 6

Judge = Callable[[bytes], str | None]
"""Replays a match's audit file, and returns what is wrong with it, or None."""


class Outcome(StrEnum):
    """What became of an attempt to archive a match."""

    ARCHIVED = "archived"
    REPEATED = "repeated"
    OPEN = "open"
    UNTALLIED = "untallied"
    UNAVAILABLE = "unavailable"
    UNVERIFIED = "unverified"


SETTLED = frozenset({Outcome.ARCHIVED, Outcome.REPEATED, Outcome.OPEN})
"""After these nothing is left to do."""


class _NotNow(Exception):
    """The match cannot be given up now."""

    def __init__(self, outcome: Outcome, cause: str) -> None:
        super().__init__(cause)
        self.outcome = outcome


class Archiver:
    """Archives matches, each in steps that may be repeated, by any number of processes, and left at any point.

    A match is given up only when the file read back from the archive holds exactly what the log does, `judge` finds
    nothing wrong with its replay, the index has it, and it is tallied and listed.
    """

    def __init__(self, event_log: PrunableLog, archive: Archive, index: ArchiveIndex, judge: Judge) -> None:
        self._log, self._archive, self._index, self._judge = event_log, archive, index, judge
        self._rests_until = 0.0
        metrics.begin(metrics.ARCHIVINGS, game=[game.name for game in GAMES], outcome=Outcome)

    async def archive(self, match_id: str, closed_at_ms: int, *, attempt: int = 1) -> Outcome:
        """Meet the obligation to archive a match, or put it off: the longer, the more attempts there were.

        Raises `EventLogUnavailable` if the log does not answer; then the obligation's lease brings it back.
        """
        outcome, cause = await self._outcome(match_id, closed_at_ms)
        metrics.ARCHIVINGS.labels(game=_game_of(match_id), outcome=outcome.value).inc()
        if outcome not in SETTLED:
            log.warning("match_not_archived", match_id=match_id, outcome=outcome.value, cause=cause, attempt=attempt)
            name = archive_name(match_id, closed_at_ms)
            await self._log.postpone(bucket_of(match_id), name, delay_ms=delay_ms(attempt))
        return outcome

    async def _outcome(self, match_id: str, closed_at_ms: int) -> tuple[Outcome, str]:
        """Return what became of an attempt, and the cause if something is left to do."""
        try:
            return await self._attempt(match_id, closed_at_ms), ""
        except _NotNow as not_now:
            return not_now.outcome, str(not_now)
        except LogCorrupt as error:
            return Outcome.UNVERIFIED, str(error)
        except ArchiveUnavailable as error:
            self._rests_until = clock.monotonic() + REST_SECONDS
            return Outcome.UNAVAILABLE, str(error)

    async def _attempt(self, match_id: str, closed_at_ms: int) -> Outcome:
        bucket, name = bucket_of(match_id), archive_name(match_id, closed_at_ms)
        head = await self._log.head(match_id)
        if head is None or head.status is not StreamStatus.CLOSED:
            is_open = head is not None and head.status is StreamStatus.OPEN  # its end will oblige somebody anew
            await self._log.settle(bucket, name)
            return Outcome.OPEN if is_open else Outcome.REPEATED
        first = (tally_name(match_id), list_name(match_id))
        if not set(first).isdisjoint(await self._log.owed(bucket)):
            raise _NotNow(Outcome.UNTALLIED, "it is not tallied or not listed yet")
        segment = await self._stored(await self._copied(match_id))
        await self._index.add(entry_of(segment))
        surrender = Surrender(segment.position, self._archive.location(match_id), meets=name, after=first)
        pruned = await self._log.prune(match_id, surrender)
        if pruned is not Pruning.DONE:
            raise _NotNow(Outcome.UNVERIFIED, f"the log does not give it up: {pruned.value}")
        return Outcome.ARCHIVED

    async def _copied(self, match_id: str) -> Segment:
        """Return the match as the log has it, with the fingerprints of its command ids."""
        commits = tuple(await self._log.read(match_id))
        made = await self._log.command_ids(match_id)
        found = [made.get(commit.command_id, ("", 0)) for commit in commits]
        if [version for _, version in found] != [commit.version for commit in commits]:
            raise _NotNow(Outcome.UNVERIFIED, "the command ids of the log are not those of its commits")
        return Segment(match_id, commits, tuple(fingerprint for fingerprint, _ in found))

    async def _stored(self, segment: Segment) -> Segment:
        """Store `segment`, and return it as it was read back and judged."""
        match_id = segment.match_id
        if clock.monotonic() < self._rests_until:
            raise _NotNow(Outcome.UNAVAILABLE, "the archive did not answer a moment ago")
        content = pack(segment)
        is_new = await self._archive.put(match_id, content)
        found = unpack(match_id, await self._archive.get(match_id) or b"")
        if found != segment:
            raise _NotNow(Outcome.UNVERIFIED, "the archive holds another match under this id")
        if cause := self._judge(found.audit_file):
            raise _NotNow(Outcome.UNVERIFIED, cause)
        if is_new:
            metrics.ARCHIVED_BYTES.inc(len(content))
        return found


def _game_of(match_id: str) -> str:
    try:
        return entry_of_match(match_id).name
    except UnknownGameError:
        return "unknown"


def delay_ms(attempt: int) -> int:
    """Return how long to wait after the `attempt`-th one, from 1, that failed."""
    doublings = min(max(attempt, 1) - 1, MOST_DOUBLINGS)
    return min(FIRST_DELAY_MS << doublings, LONGEST_DELAY_MS)
