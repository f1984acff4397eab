"""The limits that calls are refused for: what each is called, and the refusal `LIMIT_REACHED` in its name."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from promontory.runtime.errors import LIMIT_NAME, Kind, Refusal


class Limit(StrEnum):
    """The limits, each called like its setting."""

    REQUEST_BYTES = "max_request_bytes"
    METADATA_BYTES = "max_metadata_bytes"
    STREAMS = "max_streams_per_player"
    CALLS = "max_calls_per_second"
    COMMANDS = "max_commands_per_second"
    CREATIONS = "max_creations_per_minute"
    TICKETS = "max_open_tickets"
    TABLES = "max_open_tables"
    MATCHES = "max_open_matches"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a server takes of one call, and of one player on one process; services are held to the sizes only.

    A commanding call is one that changes something: one that carries a request id. A stream whose reader takes nothing
    for `stall_seconds` is cut.
    """

    request_bytes: int = 64 * 1024
    metadata_bytes: int = 8 * 1024
    streams_per_player: int = 100
    calls_per_second: int = 500
    commands_per_second: int = 200
    stall_seconds: float = 30


def limit_reached(limit: Limit, most: int, message: str, *, retry_seconds: float = 0) -> Refusal:
    """Return the refusal `LIMIT_REACHED` of what `limit` allows `most` of.

    `retry_seconds` is how long to wait before the next attempt, 0 where waiting does not help.
    """
    metadata: dict[str, str | int] = {LIMIT_NAME: limit.value, "limit": most}
    if retry_seconds:
        metadata["retrySeconds"] = f"{retry_seconds:g}"
    return Refusal(Kind.TOO_MANY, "LIMIT_REACHED", message, metadata=metadata)
