"""What matchmaking asks scoring about one player: all their ratings, and to forget them."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.api.scoring.v1.scoring_service_pb2_grpc import ScoringServiceStub
from promontory.codec.times import time_of
from promontory.matchmaking.exporting import RatingRecord, StepRecord
from promontory.runtime.peers import Peer, peer_errors

PAGE_SIZE = 500


class ScoringClient:
    """The ports `Scoring` and `RatingRecords`, over the channel to scoring."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._stub = peer, ScoringServiceStub(peer.channel)

    async def forget(
        self, player: str, pools: Sequence[str], *, request_id: str, pending: Sequence[str]
    ) -> Sequence[str]:
        """Take `player` from leaderboards; see `Scoring.forget`."""
        request = pb.ForgetPlayerRequest(player_id=player, pools=pools, request_id=request_id, pending_pools=pending)
        with peer_errors("scoring"):
            response: pb.ForgetPlayerResponse = await self._stub.ForgetPlayer(request, **self._peer.call())
        return tuple(response.pools)

    async def record(self, pool: str, player: str) -> RatingRecord:
        """Return the player's rating in `pool` with its whole history; see `RatingRecords.record`."""
        request = pb.GetRatingRequest(pool=pool, player_id=player)
        with peer_errors("scoring"):
            response: pb.GetRatingResponse = await self._stub.GetRating(request, **self._peer.call())
        rating = response.rating
        history = await self._history(pool, player) if rating.matches else ()
        return RatingRecord(pool, rating.mu, rating.sigma, rating.points, rating.matches, history)

    async def _history(self, pool: str, player: str) -> tuple[StepRecord, ...]:
        request, found, more = pb.ListRatingHistoryRequest(pool=pool, player_id=player, page_size=PAGE_SIZE), [], True
        while more:
            with peer_errors("scoring"):
                page: pb.ListRatingHistoryResponse = await self._stub.ListRatingHistory(request, **self._peer.call())
            found += [_step(entry) for entry in page.entries]
            request.page_token = page.next_page_token
            more = bool(page.next_page_token)
        return tuple(found)


def _step(entry: pb.RatingHistoryEntry) -> StepRecord:
    change: ratings_pb2.RatingChange = entry.change
    return StepRecord(
        match_id=entry.match_id,
        closed=time_of(entry.close_time).isoformat(timespec="milliseconds"),
        place=change.place,
        score=change.score,
        mu_before=change.before.mu,
        sigma_before=change.before.sigma,
        mu_after=change.after.mu,
        sigma_after=change.after.sigma,
    )
