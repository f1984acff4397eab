"""What `promontory leaderboard` and `promontory export` read."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.client.access import Access
from promontory.client.ratings import LeaderboardEntry
from promontory.games.registry import entry_by_code


async def leaderboard(access: Access, pool: str) -> list[LeaderboardEntry]:
    """Return the players of `pool`, the best first."""
    async with access.client() as client:
        return [entry async for entry in client.leaderboard(pool)]


async def export(access: Access, match_id: str) -> bytes:
    """Return the audit file of a match. Raises `FailedPrecondition` while it is open, `NotFound` if there is none."""
    game = entry_by_code(match_id.partition("-")[0]).name
    async with access.client() as client:
        return await client.export_match(game, match_id)


def leaderboard_text(pool: str, entries: Sequence[LeaderboardEntry]) -> str:
    """Return a leaderboard for people to read; `assured` is what it is ranked by."""
    if not entries:
        return f"nobody has a rating in {pool} yet"
    lines = [f"{'rank':>4}  {'player':<24} {'assured':>7} {'rating':>6} {'matches':>7}"]
    for each in entries:
        rating = each.rating
        counts = f"{each.assured_points:>7.0f} {rating.points:>6.0f} {rating.matches:>7}"
        lines.append(f"{each.rank:>4}  {rating.player_id:<24} {counts}")
    return "\n".join(lines)
