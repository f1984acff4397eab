"""Ratings from scoring: those of players when they enter, and those of the house bots at hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from promontory.api.scoring.v1 import scoring_service_pb2 as scoring_pb
from promontory.api.scoring.v1.scoring_service_pb2_grpc import ScoringServiceStub
from promontory.matchmaking.domain import NEW_PLAYER_POINTS, Pool
from promontory.matchmaking.filling import RatedBot
from promontory.matchmaking.pools import Pools
from promontory.matchmaking.ports import Ratings
from promontory.runtime.errors import Refusal
from promontory.runtime.peers import Peer, peer_errors

log = structlog.get_logger()

RERATE_SECONDS = 15.0


class RatingsClient:
    """The port `Ratings`, over the channel to scoring."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._stub = peer, ScoringServiceStub(peer.channel)

    async def points(self, pool: str, player: str) -> float:
        """Return the player's rating in the pool in rating points; see `Ratings.points`."""
        request = scoring_pb.GetRatingRequest(pool=pool, player_id=player)
        with peer_errors("scoring"):
            response: scoring_pb.GetRatingResponse = await self._stub.GetRating(request, **self._peer.call())
        return response.rating.points


class HouseRatings:
    """The house bots of all pools with their ratings, asked for again every few seconds."""

    def __init__(self, pools: Pools, ratings: Ratings) -> None:
        self._pools, self._ratings = pools, ratings
        self._points: dict[tuple[str, str], float] = {}

    def __call__(self, pool: Pool) -> Sequence[RatedBot]:
        """Return the pool's house bots; one whose rating is not known yet counts as a new player."""
        return [RatedBot(bot, self._points.get((pool.id, bot.player), NEW_PLAYER_POINTS)) for bot in pool.house_bots]

    async def run(self) -> None:
        """Keep the ratings up to date until cancelled."""
        while True:
            try:
                await self.refresh()
            except Refusal as refusal:
                log.warning("house_ratings_unavailable", reason=refusal.reason)
            await asyncio.sleep(RERATE_SECONDS)

    async def refresh(self) -> None:
        """Ask for all ratings. Raises the refusal `PEER_UNAVAILABLE`."""
        for pool in self._pools.values():
            for bot in pool.house_bots if pool.rated else ():
                self._points[pool.id, bot.player] = await self._ratings.points(pool.id, bot.player)
