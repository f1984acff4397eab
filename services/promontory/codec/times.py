"""Times as protobuf's `Timestamp`: from the servers' ms since the epoch, to the SDK's `datetime`."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(ms: int) -> Timestamp:
    """Return a time in ms since the epoch as a message."""
    return Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def time_of(message: Timestamp) -> datetime:
    """Return the time of a message, in UTC."""
    return message.ToDatetime(tzinfo=UTC)
