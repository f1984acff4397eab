"""What `promontory leaderboard`, `promontory show`, `promontory watch` and `promontory export` read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from datetime import timedelta

from promontory.client.access import Access
from promontory.client.asynchronous import AsyncClient
from promontory.client.conduct import SeatClock
from promontory.client.matches import MatchSeat, MatchSummary, SeatKind, Update
from promontory.client.ratings import LeaderboardEntry
from promontory.client.seats import Spectator
from promontory.client.wording import shown
from promontory.games.drawing import draw
from promontory.games.registry import AnyGame, GameEntry, entry_of_match
from promontory.games.text import counted, listed, seats_in_words, words


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


def match_text(update: Update, game: AnyGame) -> str:
    """Return a match for people to read: who plays, how it stands, and the table as `game` draws it."""
    match = update.match
    rated = "rated" if match.rated else "not rated"
    pool = f"pool {match.pool}" if match.pool else "private"
    title = f"{match.match_id}: {match.rules_version}, {pool}, {rated}, version {update.version}"
    seats = listed("seats", (f"{seat.seat} {_player(seat)}" for seat in match.seats))
    lines = [*_broken(update), title, seats, *_origin(match), *_standing(match)]
    return "\n".join([*lines, "", draw(game, update.view)])


def update_text(update: Update, game: AnyGame) -> str:
    """Return an update of a match that is watched for people to read: what happened, and what it led to."""
    if not update.events and not update.match_events:
        return match_text(update, game)
    happened = [shown(event) for event in (*update.match_events, *update.events)]
    return "\n".join([f"version {update.version}", *happened, *_standing(update.match), "", draw(game, update.view)])


def _origin(match: MatchSummary) -> Iterator[str]:
    if match.forked_from is not None:
        yield f"forked from {match.forked_from.match_id} at version {match.forked_from.version}"


def _broken(update: Update) -> Iterator[str]:
    if update.rewound:
        yield "the match was put back: its log lost what was shown last"
    if update.skipped:
        yield f"{counted(update.skipped, 'commit')} passed over"


def _player(seat: MatchSeat) -> str:
    if seat.kind is SeatKind.HOUSE_BOT:
        return f"{seat.player_id} (house bot)"
    notes = [f"left: {words(seat.left)}"] if seat.left else []
    notes += [f"{seat.stand_in_policy} plays"] if seat.stand_in_policy else []
    return f"{seat.player_id} ({', '.join(notes)})" if notes else seat.player_id


def _clock(clock: SeatClock) -> str:
    """Return what a clock shows as people read it, rounded down to seconds: `seat 1 4:05 (running)`."""
    left = timedelta(seconds=int(clock.remaining.total_seconds()))
    running = " (running)" if clock.deadline else ""
    return f"seat {clock.seat} {str(left).removeprefix('0:')}{running}"


def _standing(match: MatchSummary) -> Iterator[str]:
    if match.outcome is None:
        yield f"waiting for {seats_in_words(match.seats_to_act)}"
        if match.clocks:
            yield listed("time left", map(_clock, match.clocks))
        for offer in match.offers:
            yield f"{seats_in_words(offer.seats)} for ending it: {words(offer.ending)}"
        return
    placements = sorted(match.outcome.placements, key=lambda placement: placement.place)
    places = [f"{each.place}. seat {each.seat} with {each.score}" for each in placements]
    yield listed(f"over, {words(match.outcome.reason)}", places) if places else f"over, {words(match.outcome.reason)}"
