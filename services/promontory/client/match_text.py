"""Matches as people read them: who plays, how a match stands, what happened, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from promontory.client.clocks import SeatClock
from promontory.client.matches import ForkOrigin, MatchOutcome, MatchSeat, MatchSummary, SeatKind, Update
from promontory.client.wording import told
from promontory.games.drawing import draw
from promontory.games.registry import AnyGame
from promontory.games.text import counted, listed, seats_in_words, words

if TYPE_CHECKING:
    from promontory.client.replays import Replay


def match_text(update: Update, game: AnyGame) -> str:
    """Return a match: who plays, how it stands, and the table as `game` draws it."""
    match = update.match
    heading = title(match, f"version {update.version}", seats=map(_player, match.seats))
    lines = [*_broken(update), *heading, *_delay(update), *_standing(match)]
    return "\n".join([*lines, "", draw(game, update.view)])


def update_text(update: Update, game: AnyGame) -> str:
    """Return an update of a match that is watched: what happened, and what it led to."""
    if not update.events and not update.match_events:
        return match_text(update, game)
    happened = happenings((*update.match_events, *update.events))
    return "\n".join([f"version {update.version}", *happened, *_standing(update.match), "", draw(game, update.view)])


def title(match: MatchSummary | Replay, span: str, *, seats: Iterable[str]) -> Iterator[str]:
    """Yield lines that say which match it is, what `span` of it follows, who sits at `seats`, and where it is from."""
    rated = "rated" if match.rated else "not rated"
    pool = f"pool {match.pool}" if match.pool else "private"
    yield f"{match.match_id}: {match.rules_version}, {pool}, {rated}, {span}"
    yield listed("seats", (f"{seat} {player}" for seat, player in enumerate(seats)))
    yield from _origin(match.forked_from)


def happenings(events: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each of the `events`, of a game or beside it."""
    return (f"  {told(event)}" for event in events)


def outcome_text(outcome: MatchOutcome) -> str:
    """Return how a match ended: why, and the seats in the order of their places."""
    placements = sorted(outcome.placements, key=lambda placement: placement.place)
    places = [f"{each.place}. seat {each.seat} with {each.score}" for each in placements]
    over = f"over, {words(outcome.reason)}"
    return listed(over, places) if places else over


def waiting_text(seats: tuple[int, ...]) -> str:
    """Return whose turn it is."""
    return f"waiting for {seats_in_words(seats)}"


def _origin(origin: ForkOrigin | None) -> Iterator[str]:
    if origin is not None:
        yield f"forked from {origin.match_id} at version {origin.version}"


def _broken(update: Update) -> Iterator[str]:
    if update.rewound:
        yield "the match was put back: its log lost what was shown last"
    if update.skipped:
        yield f"{counted(update.skipped, 'commit')} passed over"


def _delay(update: Update) -> Iterator[str]:
    if update.match.spectator_delay and update.match.outcome is None and update.view.seat is None:
        yield f"spectators see it {counted(update.match.spectator_delay, 'commit')} later"


def _player(seat: MatchSeat) -> str:
    if seat.kind is SeatKind.HOUSE_BOT:
        return f"{seat.player_id} (house bot)"
    notes = [f"left: {words(seat.left)}"] if seat.left else []
    notes += [f"{seat.stand_in_policy} plays"] if seat.stand_in_policy else []
    return f"{seat.player_id} ({', '.join(notes)})" if notes else seat.player_id


def _standing(match: MatchSummary) -> Iterator[str]:
    if match.outcome is not None:
        yield outcome_text(match.outcome)
        return
    yield waiting_text(match.seats_to_act)
    if match.clocks:
        yield listed("time left", map(_clock, match.clocks))
    for offer in match.offers:
        yield f"{seats_in_words(offer.seats)} for ending it: {words(offer.ending)}"


def _clock(clock: SeatClock) -> str:
    """Return what a clock shows as people read it, rounded down to seconds: `seat 1 04:05`.

    What is left of one that runs was left when it began to, so it says until when it lasts.
    """
    left = timedelta(seconds=int(clock.remaining.total_seconds()))
    running = f" (until {clock.deadline:%Y-%m-%d %H:%M:%S} UTC)" if clock.deadline else ""
    return f"seat {clock.seat} {str(left).removeprefix('0:')}{running}"
