"""What the index is to know of an archived match."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from promontory.api.match.v1.events_pb2 import MatchCreated
from promontory.archive.port import Entry
from promontory.archive.segment import Segment
from promontory.eventlog.notes import recorded_at_ms
from promontory.eventlog.port import LogCorrupt


def entry_of(segment: Segment) -> Entry:
    """Return the entry of a match; raise `LogCorrupt` if its log does not say who played it, and until when."""
    try:
        created = MatchCreated.FromString(segment.commits[0].events[0].payload)
    except DecodeError as error:
        raise LogCorrupt(segment.match_id, 1, "it does not begin with a creation") from error
    return Entry(
        match_id=segment.match_id,
        game=segment.match_id.partition("-")[0],
        players=tuple(seat.player_id for seat in created.setup.seats),
        ended_at_ms=recorded_at_ms(segment.match_id, segment.commits[-1]),
    )
