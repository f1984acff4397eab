"""Times as protobuf's `Timestamp` and `Duration`: from the servers' ms, to the SDK's `datetime` and `timedelta`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(ms: int) -> Timestamp:
    """Return a time in ms since the epoch as a message."""
    return Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def time_of(message: Timestamp) -> datetime:
    """Return the time of a message, in UTC."""
    return message.ToDatetime(tzinfo=UTC)


def duration(ms: int) -> Duration:
    """Return a span of `ms`, 0 or more, as a message."""
    return Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def span_of(message: Duration) -> timedelta:
    """Return the span of a message, rounded down to whole ms."""
    return timedelta(milliseconds=ms_of(message))


def in_ms(span: timedelta) -> int:
    """Return a span in whole ms."""
    return round(span.total_seconds() * 1000)


def ms_of(message: Duration) -> int:
    """Return the span of a message in whole ms, rounded down."""
    return message.seconds * 1000 + message.nanos // 1_000_000
