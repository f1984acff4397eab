"""Ratings: leaderboards, a player's rating and its history."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

import msgspec

from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.client.connection import Connection, Remote
from promontory.codec.mapping import StructMapping
from promontory.codec.times import time_of

SCORING = pb.DESCRIPTOR.services_by_name["ScoringService"]
PAGE_SIZE = 100


class Rating(msgspec.Struct, frozen=True):
    """A player's estimated skill in a pool: mean `mu` and deviation `sigma` in openskill's unit (new: 25 and 25/3).

    `points` are what people read, 1500 + 40 x (mu - 25); `matches` is how many rated matches it rests on.
    """

    player_id: str
    mu: float
    sigma: float
    points: float
    matches: int


class LeaderboardEntry(msgspec.Struct, frozen=True):
    """A player's rank, from 1, equal players sharing the better one, and rating.

    The rank goes by `assured_points`, in rating points: what the player's skill almost surely exceeds.
    """

    rank: int
    rating: Rating
    assured_points: float


class RatingChange(msgspec.Struct, frozen=True):
    """What one match made of a player's rating; `place` is the finishing place from 1, `score` in the game's unit."""

    player_id: str
    seat: int
    place: int
    score: int
    before: Rating
    after: Rating


class RatingStep(msgspec.Struct, frozen=True):
    """One step of a rating's history: the match, when it was closed (UTC), and the change."""

    match_id: str
    close_time: datetime
    change: RatingChange


_RATING = StructMapping(Rating, ratings_pb2.Rating)
_ENTRY = StructMapping(LeaderboardEntry, pb.LeaderboardEntry)
_CHANGE = StructMapping(RatingChange, ratings_pb2.RatingChange)


class Ratings:
    """The scoring service."""

    def __init__(self, connection: Connection) -> None:
        self._remote = Remote(connection, SCORING)

    async def rating(self, pool: str, player: str) -> Rating:
        """Return the rating of `player` in `pool`; that of a new player if there is none yet."""
        answer = await self._remote.call("GetRating", pb.GetRatingRequest(pool=pool, player_id=player))
        rating: Rating = _RATING.decode(answer.rating)
        return rating

    async def leaderboard(self, pool: str) -> AsyncGenerator[LeaderboardEntry]:
        """Yield the players of `pool` by assured points, the best first."""
        request = pb.ListLeaderboardRequest(pool=pool, page_size=PAGE_SIZE)
        async for page in self._remote.pages("ListLeaderboard", request):
            for entry in page.entries:
                yield _ENTRY.decode(entry)

    async def history(self, pool: str, player: str) -> AsyncGenerator[RatingStep]:
        """Yield the changes of the rating of `player` in `pool`, the newest first."""
        request = pb.ListRatingHistoryRequest(pool=pool, player_id=player, page_size=PAGE_SIZE)
        async for page in self._remote.pages("ListRatingHistory", request):
            for entry in page.entries:
                change = _CHANGE.decode(entry.change)
                yield RatingStep(match_id=entry.match_id, close_time=time_of(entry.close_time), change=change)
