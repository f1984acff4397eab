"""ScoringService over gRPC: decode, call one use case, encode."""

from __future__ import annotations

from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.runtime.identity import Scope, caller
from promontory.runtime.rpc import Context
from promontory.scoring.messages import change_message, rating_message, standing_message, step_message
from promontory.scoring.usecases import ForgetPlayer, Ratings, TallyMatch


class ScoringServicer:
    """Serves `promontory.api.scoring.v1.ScoringService`."""

    def __init__(self, tally: TallyMatch, ratings: Ratings, forget: ForgetPlayer) -> None:
        self._tally, self._ratings, self._forget = tally, ratings, forget

    async def TallyMatch(self, request: pb.TallyMatchRequest, context: Context) -> pb.TallyMatchResponse:
        """Tally a closed match."""
        caller().require(Scope.TALLY_MATCH)
        tallied = await self._tally(request.match_id)
        return pb.TallyMatchResponse(tallied=tallied.fresh, changes=map(change_message, tallied.changes))

    async def GetRating(self, request: pb.GetRatingRequest, context: Context) -> pb.GetRatingResponse:
        """Return a player's rating."""
        player_id = request.player_id or caller().subject
        rating = await self._ratings.rating(request.pool, player_id)
        return pb.GetRatingResponse(rating=rating_message(player_id, rating))

    async def ListLeaderboard(self, request: pb.ListLeaderboardRequest, context: Context) -> pb.ListLeaderboardResponse:
        """Return a page of a pool's players."""
        page = await self._ratings.leaderboard(request.pool, size=request.page_size, token=request.page_token)
        return pb.ListLeaderboardResponse(entries=map(standing_message, page.entries), next_page_token=page.next_token)

    async def ListRatingHistory(
        self, request: pb.ListRatingHistoryRequest, context: Context
    ) -> pb.ListRatingHistoryResponse:
        """Return a page of a player's rating history."""
        player_id = request.player_id or caller().subject
        page = await self._ratings.history(request.pool, player_id, size=request.page_size, token=request.page_token)
        return pb.ListRatingHistoryResponse(entries=map(step_message, page.entries), next_page_token=page.next_token)

    async def ForgetPlayer(self, request: pb.ForgetPlayerRequest, context: Context) -> pb.ForgetPlayerResponse:
        """Take a player from leaderboards."""
        caller().require(Scope.FORGET_PLAYER)
        pools = await self._forget(
            request.player_id, request.pools, request_id=request.request_id, pending=request.pending_pools
        )
        return pb.ForgetPlayerResponse(pools=pools)
