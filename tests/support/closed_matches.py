"""Match logs as the rules service leaves them, as far as scoring reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from promontory.api.match.v1.events_pb2 import MatchClosed, MatchCreated
from promontory.api.match.v1.match_pb2 import (
    CLOSE_REASON_PLAYED_OUT,
    CloseReason,
    MatchSetup,
    Outcome,
    Placement,
    SeatSetup,
)
from promontory.eventlog.port import START, EventLog, Proposed, StoredEvent

POOL = "transcontinental.ranked"
CLOSED_AT_MS = 1_700_000_000_000


class Played(msgspec.Struct, frozen=True):
    """A match to write: its players in the order of seats and their places; scores are 100 less per place."""

    name: str
    players: Sequence[str]
    places: Sequence[int]
    pool: str = POOL
    rated: bool = True
    reason: CloseReason.ValueType = CLOSE_REASON_PLAYED_OUT
    created_at_ms: int = CLOSED_AT_MS
    closed_at_ms: int = CLOSED_AT_MS

    @property
    def match_id(self) -> str:
        """The match's id, which follows from its name."""
        return match_id(self.name)


def match_id(name: str) -> str:
    """Return the id of the match called `name`, in bucket `tc:0a7`."""
    return f"tc-0a7-{hashlib.sha256(name.encode()).hexdigest()[:26]}"


async def write_open(log: EventLog, match: Played) -> None:
    """Write the beginning of `match`."""
    seats = [SeatSetup(player_id=player) for player in match.players]
    setup = MatchSetup(seats=seats, pool=match.pool, rated=match.rated)
    created = MatchCreated(match_id=match.match_id, game="transcontinental", setup=setup)
    await log.append(match.match_id, _commit("create", created, match.created_at_ms), expected=START)


async def write_closed(log: EventLog, match: Played) -> str:
    """Write all of `match`, with the obligation to tally it, and return its id."""
    await write_open(log, match)
    placements = [
        Placement(seat=seat, place=place, score=1000 - 100 * place) for seat, place in enumerate(match.places)
    ]
    closed = MatchClosed(outcome=Outcome(reason=match.reason, placements=placements))
    due = {f"tally|{match.match_id}": 0} if match.rated else {}
    head = await log.head(match.match_id)
    assert head is not None
    proposed = msgspec.structs.replace(_commit("0:last", closed, match.closed_at_ms), closes=True, due=due)
    await log.append(match.match_id, proposed, expected=head.position)
    return match.match_id


def _commit(command_id: str, message: MatchCreated | MatchClosed, at_ms: int) -> Proposed:
    event = StoredEvent(message.DESCRIPTOR.full_name, message.SerializeToString())
    return Proposed((event,), command_id, "fingerprint", meta=b'{"recorded_at_ms":%d}' % at_ms)
