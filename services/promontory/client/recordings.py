"""Audit files as clients read them: what a match was created from, and what each of its commits recorded."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

import msgspec

from promontory.api.match.v1 import events_pb2
from promontory.client.matches import MatchOutcome, outcome_of
from promontory.codec import conduct
from promontory.codec.conduct import MatchEvent
from promontory.codec.port import GameCodec, Undecodable
from promontory.codec.stored import parse
from promontory.codec.times import time_of, timestamp

FORMAT = "promontory-match/1"
CREATED = events_pb2.MatchCreated.DESCRIPTOR.full_name
CLOSED = events_pb2.MatchClosed.DESCRIPTOR.full_name


class RecordingError(ValueError):
    """A file is no audit file of a match, or the cards or tiles that it was played with are not here."""


class Recorded(msgspec.Struct, frozen=True):
    """One commit: when it was recorded (UTC), the game's events, what happened beside the game, and how it ended."""

    record_time: datetime
    events: tuple[Any, ...]
    match_events: tuple[MatchEvent, ...]
    outcome: MatchOutcome | None


class _Header(msgspec.Struct, frozen=True):
    format: str


class _Event(msgspec.Struct, frozen=True):
    type: str
    payload: str

    @property
    def stored(self) -> bytes:
        return base64.b64decode(self.payload, validate=True)


class _Line(msgspec.Struct, frozen=True):
    version: int
    meta: str
    events: tuple[_Event, ...]


class _Meta(msgspec.Struct, frozen=True):
    recorded_at_ms: int


class Recording(msgspec.Struct, frozen=True):
    """A match that is over, as its audit file tells it; whether that is right, `promontory audit` says."""

    created: events_pb2.MatchCreated
    lines: tuple[_Line, ...]

    def commits(self, game_codec: GameCodec) -> tuple[Recorded, ...]:
        """Return all commits, with the game's events as `game_codec` decodes them. Raises `RecordingError`."""
        return tuple(_recorded(line, game_codec) for line in self.lines)


def read(raw: bytes) -> Recording:
    """Return what the audit file `raw` tells. Raises `RecordingError`."""
    try:
        first, *lines, _ = raw.splitlines()
        header = msgspec.json.decode(first, type=_Header)
        commits = tuple(msgspec.json.decode(line, type=_Line) for line in lines)
        created = parse(events_pb2.MatchCreated, commits[0].events[0].stored)
        is_whole = header.format == FORMAT and commits[-1].events[-1].type == CLOSED
    except (IndexError, ValueError, Undecodable) as error:
        raise RecordingError(
            "it is no audit file of a match, or not in order; `promontory audit FILE` says where"
        ) from error
    if not is_whole:
        raise RecordingError("it is no audit file of a match that is over, or cut off")
    return Recording(created, commits)


def _recorded(line: _Line, game_codec: GameCodec) -> Recorded:
    events, beside, outcome = list[Any](), list[MatchEvent](), None
    try:
        for event in line.events:
            if event.type == CLOSED:
                outcome = outcome_of(parse(events_pb2.MatchClosed, event.stored).outcome)
            elif conduct.is_match_event(event.type):
                beside.append(conduct.restore(event.type, event.stored))
            elif event.type != CREATED:
                events.append(game_codec.restore(event.type, event.stored))
        recorded_at_ms = msgspec.json.decode(line.meta, type=_Meta).recorded_at_ms
    except (ValueError, Undecodable) as error:
        raise RecordingError(f"commit {line.version} is not understood ({error})") from error
    return Recorded(time_of(timestamp(recorded_at_ms)), tuple(events), tuple(beside), outcome)
