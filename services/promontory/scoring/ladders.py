"""Every pool's ratings as its rating log tells them, and recording a match there exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from promontory.eventlog.port import START, CommandIdReused, Commit, EventLog, LogCorrupt, Position, VersionConflict
from promontory.runtime import metrics
from promontory.scoring.domain import ClosedMatch, PlayerForgotten, PoolRatings, Tally, tally
from promontory.scoring.records import forgetting, proposed, recorded, stream_of

MAX_CONFLICTS = 100
PAGE_COMMITS = 500


class Recorded(msgspec.Struct, frozen=True):
    """A match's tally as the rating log holds it; `fresh` if this call made it."""

    tally: Tally
    fresh: bool


class Ladder:
    """One pool: folds its rating log as far as it is written, each time it is asked."""

    def __init__(self, log: EventLog, pool: str) -> None:
        self._log = log
        self._stream = stream_of(pool)
        self._lock = asyncio.Lock()
        self._rewind()

    def _rewind(self) -> None:
        self._position = START
        self._ratings = PoolRatings()

    async def ratings(self) -> PoolRatings:
        """Return the pool's ratings now. Raises `LogCorrupt` if the rating log does not verify."""
        async with self._lock:
            return await self._caught_up()

    async def record(self, match: ClosedMatch) -> Recorded:
        """Record `match`, rated after all that the log holds by then, unless it is recorded already.

        Raises:
            LogCorrupt: the rating log does not verify, or holds this match with another end.
            VersionConflict: others kept getting ahead; try again.
        """
        async with self._lock:
            for _ in range(MAX_CONFLICTS):
                ratings = await self._caught_up()
                if known := ratings.tally_of(match.match_id):
                    return Recorded(known, fresh=False)
                fresh = tally(match, ratings)
                if await self._append(fresh, match.fingerprint):
                    return Recorded(fresh, fresh=True)
            raise VersionConflict(self._position.version)

    async def forget(self, entry: PlayerForgotten, *, request_id: str, always: bool) -> bool:
        """Record `entry` if the player has a rating, or `always`, but once for each `request_id`; return whether so.

        Raises what `record` does.
        """
        async with self._lock:
            for _ in range(MAX_CONFLICTS):
                ratings = await self._caught_up()
                if not always and not ratings.history(entry.player_id, version=ratings.version):
                    return False
                with suppress(VersionConflict):
                    await self._log.append(self._stream, forgetting(entry, request_id), expected=self._position)
                    return True
            raise VersionConflict(self._position.version)

    async def _append(self, fresh: Tally, fingerprint: str) -> bool:
        """Append `fresh` and return True, or return False when the log has more than has been folded."""
        try:
            appended = await self._log.append(
                self._stream, proposed(fresh, fingerprint=fingerprint), expected=self._position
            )
        except VersionConflict:
            return False
        except CommandIdReused as error:
            cause = f"it holds {fresh.match_id} with another end than the match's own log"
            raise LogCorrupt(self._stream, error.version, cause) from error
        return not appended.duplicate

    async def _caught_up(self) -> PoolRatings:
        try:
            await self._follow()
        except LogCorrupt:
            if self._position == START:
                raise
            self._rewind()  # a restored server may hold another history than the one folded so far
            await self._follow()
            metrics.LOG_REWINDS.labels(kind="ratings").inc()
        return self._ratings

    async def _follow(self) -> None:
        async for commit in commits_after(self._log, self._stream, self._position):
            self._ratings.apply(recorded(self._stream, commit))
            self._position = commit.position


class Ladders:
    """The ladders of all pools that hold a match; asking about another pool remembers nothing."""

    def __init__(self, log: EventLog) -> None:
        metrics.begin(metrics.LOG_REWINDS, kind=["ratings"])
        self._log = log
        self._ladders: dict[str, Ladder] = {}

    async def ratings(self, pool: str) -> PoolRatings:
        """Return the ratings of `pool` now. Raises `LogCorrupt` if its rating log does not verify."""
        ladder = self._ladders.get(pool) or Ladder(self._log, pool)
        ratings = await ladder.ratings()
        if ratings.version:
            self._ladders.setdefault(pool, ladder)
        return ratings

    async def record(self, match: ClosedMatch) -> Recorded:
        """Record `match` in its pool's rating log; see `Ladder.record`."""
        return await self._kept(match.pool).record(match)

    async def forget(self, entry: PlayerForgotten, *, request_id: str, always: bool) -> bool:
        """Record `entry` in its pool's rating log; see `Ladder.forget`."""
        return await self._kept(entry.pool).forget(entry, request_id=request_id, always=always)

    def _kept(self, pool: str) -> Ladder:
        return self._ladders.setdefault(pool, Ladder(self._log, pool))


async def commits_after(log: EventLog, stream: str, position: Position) -> AsyncIterator[Commit]:
    """Yield the commits of `stream` after `position`, read in pages. Raises `LogCorrupt` where they do not verify."""
    more = True
    while more:
        page = await log.read(stream, after=position, limit=PAGE_COMMITS)
        for commit in page:
            position = commit.position
            yield commit
        more = len(page) == PAGE_COMMITS
