"""What `promontory leaderboard`, `promontory show` and `promontory export` read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promontory.client.access import Access
from promontory.client.matches import MatchSeat, MatchSummary, SeatKind, Update
from promontory.client.ratings import LeaderboardEntry
from promontory.games.drawing import draw
from promontory.games.registry import AnyGame, entry_by_code
from promontory.games.text import listed, seats_in_words, words


async def leaderboard(access: Access, pool: str) -> list[LeaderboardEntry]:
    """Return the players of `pool`, the best first."""
    async with access.client() as client:
        return [entry async for entry in client.leaderboard(pool)]


async def export(access: Access, match_id: str) -> bytes:
    """Return the audit file of a match. Raises `FailedPrecondition` while it is open, `NotFound` if there is none."""
    async with access.client() as client:
        return await client.export_match(_game_of(match_id), match_id)


async def look(access: Access, match_id: str, *, seat: int | None, version: int | None) -> tuple[Update, AnyGame]:
    """Return a match as `seat`, or a spectator, may see it now or at `version`, with the game as it is played.

    Raises `PermissionDenied` for a seat of somebody else, `NotFound` if there is no such match.
    """
    game = _game_of(match_id)
    async with access.client() as client:
        watched = client.spectate(game, match_id) if seat is None else client.seat(game, match_id, seat)
        return await watched.look(version), await watched.rules()


def _game_of(match_id: str) -> str:
    return entry_by_code(match_id.partition("-")[0]).name


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


def match_text(update: Update, game: AnyGame) -> str:
    """Return a match for people to read: who plays, how it stands, and the table as `game` draws it."""
    match = update.match
    rated = "rated" if match.rated else "not rated"
    pool = f"pool {match.pool}" if match.pool else "private"
    title = f"{match.match_id}: {match.rules_version}, {pool}, {rated}, version {update.version}"
    seats = listed("seats", (f"{seat.seat} {_player(seat)}" for seat in match.seats))
    return "\n".join([title, seats, *_standing(match), "", draw(game, update.view)])


def _player(seat: MatchSeat) -> str:
    return f"{seat.player_id} (house bot)" if seat.kind is SeatKind.HOUSE_BOT else seat.player_id


def _standing(match: MatchSummary) -> Iterator[str]:
    if match.outcome is None:
        yield f"waiting for {seats_in_words(match.seats_to_act)}"
        return
    placements = sorted(match.outcome.placements, key=lambda placement: placement.place)
    places = [f"{each.place}. seat {each.seat} with {each.score}" for each in placements]
    yield listed(f"over, {words(match.outcome.reason)}", places)
