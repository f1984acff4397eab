"""Scoring's records as protobuf messages: reading a match's log, writing and reading a pool's rating log."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import DecodeError

from promontory.api.match.v1.events_pb2 import MatchClosed, MatchCreated
from promontory.api.match.v1.match_pb2 import CLOSE_REASON_ABORTED, CLOSE_REASON_CANCELLED
from promontory.api.scoring.v1 import ratings_pb2 as pb
from promontory.codec.stored import canonical
from promontory.codec.times import timestamp
from promontory.eventlog.notes import recorded_at_ms
from promontory.eventlog.port import Commit, LogCorrupt, Proposed, StoredEvent
from promontory.scoring.domain import Change, ClosedMatch, Finish, PlayerForgotten, Rating, Tally
from promontory.scoring.messages import change_message

CREATED = MatchCreated.DESCRIPTOR.full_name
CLOSED = MatchClosed.DESCRIPTOR.full_name
WITHOUT_RESULT = (CLOSE_REASON_ABORTED, CLOSE_REASON_CANCELLED)
TALLIED = pb.MatchTallied.DESCRIPTOR.full_name
FORGOTTEN = pb.PlayerForgotten.DESCRIPTOR.full_name


def stream_of(pool: str) -> str:
    """Return the id of the rating log of `pool`; pools' names have no dash, so no two share one."""
    return f"rt-000-{pool.replace('.', '-')}"


def command_id_of(match_id: str) -> str:
    """Return the command id that makes a match count once."""
    return f"tally:{match_id}"


def is_match(commits: Sequence[Commit]) -> bool:
    """Tell whether the stream of `commits` is a match's."""
    return bool(commits) and commits[0].events[0].type == CREATED


def closed_match(match_id: str, commits: Sequence[Commit]) -> ClosedMatch:
    """Return what the whole log of a closed match, `commits`, says about its end.

    Raises `LogCorrupt` if it does not end with a `MatchClosed` that places every seat, or has no result.
    """
    last = commits[-1]
    try:
        created = MatchCreated.FromString(commits[0].events[0].payload)
        closed = MatchClosed.FromString(_only(last.events[-1], CLOSED))
        finishes = _finishes(created, closed)
    except (DecodeError, ValueError) as error:
        raise LogCorrupt(match_id, last.version, f"no end of a match: {error}") from error
    return ClosedMatch(
        match_id,
        created.game,
        created.setup.pool,
        created.setup.rated,
        finishes,
        create_time_ms=recorded_at_ms(match_id, commits[0]),
        close_time_ms=recorded_at_ms(match_id, last),
        fingerprint=last.head.hex(),
    )


def proposed(tally: Tally, *, fingerprint: str) -> Proposed:
    """Return the commit that records `tally`; `fingerprint` stands for the match's log."""
    return Proposed((StoredEvent(TALLIED, encode(tally)),), command_id_of(tally.match_id), fingerprint)


def forgetting(entry: PlayerForgotten, request_id: str) -> Proposed:
    """Return the commit that records `entry`, once for each `request_id`."""
    message = pb.PlayerForgotten(
        player_id=entry.player_id, pool=entry.pool, forget_time=timestamp(entry.forget_time_ms)
    )
    command_id = f"forget:{entry.player_id}:{request_id}"
    return Proposed((StoredEvent(FORGOTTEN, canonical(message)),), command_id, entry.player_id)


def recorded(stream: str, commit: Commit) -> Tally | PlayerForgotten:
    """Return what `commit` of the rating log `stream` records. Raises `LogCorrupt` if it is nothing of the kind."""
    try:
        (event,) = commit.events
        if event.type == FORGOTTEN:
            gone = pb.PlayerForgotten.FromString(event.payload)
            return PlayerForgotten(gone.player_id, gone.pool, gone.forget_time.ToMilliseconds())
        message = pb.MatchTallied.FromString(_only(event, TALLIED))
    except (DecodeError, ValueError) as error:
        raise LogCorrupt(stream, commit.version, f"no tally: {error}") from error
    changes = tuple(map(_change, message.changes))
    times = message.create_time.ToMilliseconds(), message.close_time.ToMilliseconds()
    return Tally(message.match_id, message.game, message.pool, changes, *times)


def encode(tally: Tally) -> bytes:
    """Return the bytes under which `tally` is stored."""
    message = pb.MatchTallied(
        match_id=tally.match_id,
        game=tally.game,
        pool=tally.pool,
        changes=map(change_message, tally.changes),
        close_time=timestamp(tally.close_time_ms),
        create_time=timestamp(tally.create_time_ms) if tally.create_time_ms else None,
    )
    return canonical(message)


def _only(event: StoredEvent, wanted: str) -> bytes:
    if event.type != wanted:
        raise ValueError(f"{event.type} instead of {wanted}")
    return event.payload


def _finishes(created: MatchCreated, closed: MatchClosed) -> tuple[Finish, ...]:
    if closed.outcome.reason in WITHOUT_RESULT and not closed.outcome.placements:
        return ()
    placements = sorted(closed.outcome.placements, key=lambda placement: placement.seat)
    if [placement.seat for placement in placements] != list(range(len(created.setup.seats))):
        raise ValueError("the outcome does not place every seat once")
    return tuple(
        Finish(placement.seat, seat.player_id, placement.place, placement.score)
        for placement, seat in zip(placements, created.setup.seats, strict=True)
    )


def _change(message: pb.RatingChange) -> Change:
    finish = Finish(message.seat, message.player_id, message.place, message.score)
    return Change(finish, _rating(message.before), _rating(message.after))


def _rating(message: pb.Rating) -> Rating:
    return Rating(message.mu, message.sigma, message.matches)
