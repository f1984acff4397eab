"""What scoring does: tallies closed matches and answers questions about ratings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from promontory.eventlog.obligations import tally_name
from promontory.eventlog.port import EventLog, StreamStatus, bucket_of
from promontory.runtime import metrics
from promontory.runtime.errors import match_not_found, match_open
from promontory.runtime.forms import LOGGED_MATCH_ID, PLAYER_ID, POOL_ID, REQUEST_ID
from promontory.scoring.domain import Change, ClosedMatch, PlayerForgotten, Rating, RatingStep, Standing
from promontory.scoring.ladders import Ladders
from promontory.scoring.pages import Page, cursor, page
from promontory.scoring.records import closed_match, is_match


class Tallied(msgspec.Struct, frozen=True):
    """What tallying a match came to: whether this call counted it, and what the match changed, if it counts."""

    fresh: bool
    changes: Sequence[Change]


class TallyMatch:
    """Tallies a closed match exactly once, then settles the match's obligation `tally|<match id>`."""

    def __init__(self, log: EventLog, ladders: Ladders) -> None:
        self._log, self._ladders = log, ladders

    async def __call__(self, match_id: str) -> Tallied:
        """Tally the match and return what it changed.

        Raises the refusals `MATCH_NOT_FOUND` and `MATCH_OPEN`, and `LogCorrupt` if a log does not verify.
        """
        match = await self._closed(LOGGED_MATCH_ID.checked(match_id, "match_id"))
        tallied = await self._tally(match)
        await self._log.settle(bucket_of(match_id), tally_name(match_id))
        return tallied

    async def _closed(self, match_id: str) -> ClosedMatch:
        commits = await self._log.read(match_id)
        if not is_match(commits):
            raise match_not_found(match_id)
        head = await self._log.head(match_id)
        if head is None or head.status is StreamStatus.OPEN or head.position != commits[-1].position:
            raise match_open(match_id)
        return closed_match(match_id, commits)

    async def _tally(self, match: ClosedMatch) -> Tallied:
        if not match.counts:
            metrics.TALLIES.labels(pool=match.pool, outcome="unrated").inc()
            return Tallied(fresh=False, changes=())
        recorded = await self._ladders.record(match)
        metrics.TALLIES.labels(pool=match.pool, outcome="tallied" if recorded.fresh else "repeated").inc()
        return Tallied(recorded.fresh, recorded.tally.changes)


class ForgetPlayer:
    """Takes a player from the leaderboards of pools; `clock` tells the time in ms since the epoch."""

    def __init__(self, ladders: Ladders, clock: Callable[[], int]) -> None:
        self._ladders, self._clock = ladders, clock

    async def __call__(
        self, player_id: str, pools: Sequence[str], *, request_id: str, pending: Collection[str]
    ) -> Sequence[str]:
        """Return those of `pools` in which the player has had a rating, or is expected to get one by old matches.

        In the pools in `pending` matches that the player has left may be tallied still. Repeating it under the same
        `request_id` changes nothing.
        """
        PLAYER_ID.checked(player_id, "player_id")
        REQUEST_ID.checked(request_id, "request_id")
        found = []
        for pool in dict.fromkeys(POOL_ID.checked(pool, "pools") for pool in (*pools, *pending)):
            entry = PlayerForgotten(player_id, pool, self._clock())
            if await self._ladders.forget(entry, request_id=request_id, always=pool in pending):
                found.append(pool)
        return found


class Ratings:
    """Answers about ratings, each from the rating log as it is at that moment. Unknown pools are empty ones."""

    def __init__(self, ladders: Ladders) -> None:
        self._ladders = ladders

    async def rating(self, pool: str, player_id: str) -> Rating:
        """Return the player's rating in `pool`."""
        PLAYER_ID.checked(player_id, "player_id")
        return (await self._ladders.ratings(POOL_ID.checked(pool, "pool"))).rating(player_id)

    async def leaderboard(self, pool: str, *, size: int, token: str) -> Page[Standing]:
        """Return a page of the pool's players, the best first; all pages show the table that the first one did."""
        ratings, listing = await self._ladders.ratings(POOL_ID.checked(pool, "pool")), f"leaderboard {pool}"
        start = cursor(listing, token, version=ratings.version)
        return page(listing, ratings.standings(version=start.version), start, size=size)

    async def history(self, pool: str, player_id: str, *, size: int, token: str) -> Page[RatingStep]:
        """Return a page of the player's steps in `pool`, the newest first."""
        PLAYER_ID.checked(player_id, "player_id")
        POOL_ID.checked(pool, "pool")
        ratings, listing = await self._ladders.ratings(pool), f"history {pool} {player_id}"
        start = cursor(listing, token, version=ratings.version)
        return page(listing, ratings.history(player_id, version=start.version)[::-1], start, size=size)
