"""Scoring: tallies, placements, ratings, leaderboards."""
