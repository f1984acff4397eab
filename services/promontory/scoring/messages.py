"""Ratings, their changes and leaderboards as the API shows them."""

from __future__ import annotations

from promontory.api.scoring.v1 import ratings_pb2
from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.codec.times import timestamp
from promontory.scoring.domain import Change, Rating, RatingStep, Standing


def rating_message(player_id: str, rating: Rating) -> ratings_pb2.Rating:
    """Return a player's `rating`."""
    return ratings_pb2.Rating(
        player_id=player_id, mu=rating.mu, sigma=rating.sigma, points=rating.points, matches=rating.matches
    )


def change_message(change: Change) -> ratings_pb2.RatingChange:
    """Return what a match changed for one player."""
    finish = change.finish
    return ratings_pb2.RatingChange(
        player_id=finish.player_id,
        seat=finish.seat,
        place=finish.place,
        score=finish.score,
        before=rating_message(finish.player_id, change.before),
        after=rating_message(finish.player_id, change.after),
    )


def standing_message(standing: Standing) -> pb.LeaderboardEntry:
    """Return an entry of a leaderboard."""
    return pb.LeaderboardEntry(
        rank=standing.rank,
        rating=rating_message(standing.player_id, standing.rating),
        assured_points=standing.rating.assured_points,
    )


def step_message(step: RatingStep) -> pb.RatingHistoryEntry:
    """Return an entry of a player's rating history."""
    return pb.RatingHistoryEntry(
        match_id=step.match_id, change=change_message(step.change), close_time=timestamp(step.close_time_ms)
    )
