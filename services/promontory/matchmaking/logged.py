"""What the log of a match says for the lists."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import DecodeError
from msgspec.structs import replace

from promontory.api.match.v1.events_pb2 import MatchClosed, MatchCreated
from promontory.codec.port import Undecodable
from promontory.eventlog.notes import recorded_at_ms
from promontory.eventlog.port import Commit, LogCorrupt
from promontory.matchmaking.listing import Listed
from promontory.matchmaking.rules_client import ended

_CREATED = MatchCreated.DESCRIPTOR.full_name
_CLOSED = MatchClosed.DESCRIPTOR.full_name


def match_in(match_id: str, commits: Sequence[Commit]) -> Listed | None:
    """Return the match whose log has `commits`: of a closed one all of them, of an open one the first is enough.

    None for what no list holds: a stream that is no match's, and a fork. Raises `LogCorrupt` if it cannot be read.
    """
    if not commits or commits[0].events[0].type != _CREATED:
        return None
    try:
        return _match_in(match_id, commits)
    except (DecodeError, Undecodable) as error:
        raise LogCorrupt(match_id, commits[-1].version, f"no log of a match: {error}") from error


def _match_in(match_id: str, commits: Sequence[Commit]) -> Listed | None:
    created = MatchCreated.FromString(commits[0].events[0].payload)
    setup, last = created.setup, commits[-1]
    if created.HasField("forked_from"):
        return None
    match = Listed(
        match_id=match_id,
        game=created.game,
        players=tuple(seat.player_id for seat in setup.seats),
        policies=tuple(seat.bot_policy for seat in setup.seats),
        created_ms=recorded_at_ms(match_id, commits[0]),
        pool=setup.pool,
        rated=setup.rated,
        stand_in=setup.stand_in_policy,
        spectator_delay=setup.spectator_delay,
    )
    if last.events[-1].type != _CLOSED:
        return match
    outcome = MatchClosed.FromString(last.events[-1].payload).outcome
    return replace(match, ended=ended(outcome, recorded_at_ms(match_id, last)))
