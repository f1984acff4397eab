"""What `promontory leaderboard`, `promontory show`, `promontory watch` and `promontory export` read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing

from promontory.client.access import Access
from promontory.client.asynchronous import AsyncClient
from promontory.client.matches import Update
from promontory.client.ratings import LeaderboardEntry
from promontory.client.seats import Spectator
from promontory.games.registry import AnyGame, GameEntry, entry_of_match


async def leaderboard(access: Access, pool: str) -> list[LeaderboardEntry]:
    """Return the players of `pool`, the best first."""
    async with access.client() as client:
        return [entry async for entry in client.leaderboard(pool)]


async def export(access: Access, match_id: str) -> bytes:
    """Return the audit file of a match. Raises `FailedPrecondition` while it is open, `NotFound` if there is none."""
    async with access.client() as client:
        return await client.export_match(entry_of_match(match_id).name, match_id)


async def look(access: Access, match_id: str, *, seat: int | None, version: int | None) -> tuple[Update, AnyGame]:
    """Return a match as `seat`, or a spectator, may see it now or at `version`, with the game as it is played.

    Raises `PermissionDenied` for a seat of somebody else, `NotFound` if there is no such match.
    """
    game = entry_of_match(match_id)
    async with access.client() as client:
        watched = _watched(client, game, match_id, seat)
        return await watched.look(version), await watched.rules()


async def watch(access: Access, match_id: str, tell: Callable[[Update, AnyGame], None], *, seat: int | None) -> None:
    """Give `tell` a match as `seat`, or a spectator, may see it, now and after every commit until it is over.

    Raises what `look` does.
    """
    game = entry_of_match(match_id)
    async with access.client() as client:
        watched = _watched(client, game, match_id, seat)
        rules = await watched.rules()
        async with aclosing(watched.updates()) as updates:
            async for update in updates:
                tell(update, rules)


def _watched(client: AsyncClient, game: GameEntry, match_id: str, seat: int | None) -> Spectator:
    return client.spectate(game.name, match_id) if seat is None else client.seat(game.name, match_id, seat)


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
