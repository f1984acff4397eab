"""Promontory: play ranked, turn-based board games; the SDK's front door.

async with promontory.AsyncClient("play.example.org:443", token=token) as client:
    seated = await client.play("transcontinental.ranked")
    update = await seated.play(choose)
    print(update.match.outcome)

`promontory.Client` is the same without asyncio. Names load when they are first used, so that the rules in
`promontory.games` can be used without gRPC.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promontory.client.asynchronous import AsyncClient
    from promontory.client.blocking import Client, ForkError
    from promontory.client.clocks import TimeControl
    from promontory.client.endpoints import EndpointError
    from promontory.client.errors import (
        Aborted,
        AlreadyExists,
        Cancelled,
        ClientClosed,
        DataLoss,
        DeadlineExceeded,
        FailedPrecondition,
        Incompatible,
        Internal,
        InvalidArgument,
        NotFound,
        OutOfRange,
        PermissionDenied,
        PromontoryError,
        ResourceExhausted,
        TableClosed,
        TicketCancelled,
        Unauthenticated,
        Unavailable,
        Unimplemented,
        Unknown,
        VersionConflict,
    )
    from promontory.client.matches import MatchSummary, Update
    from promontory.client.recordings import RecordingError
    from promontory.client.replays import Replay, replay_file
    from promontory.client.retrying import Timing
    from promontory.client.tables import TableOptions
    from promontory.codec.conduct import Ending
    from promontory.games.registry import UnknownGameError, game

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "AlreadyExists",
    "AsyncClient",
    "Cancelled",
    "Client",
    "ClientClosed",
    "ClockKind",
    "DataLoss",
    "DeadlineExceeded",
    "Ending",
    "EndpointError",
    "FailedPrecondition",
    "ForkError",
    "Incompatible",
    "Internal",
    "InvalidArgument",
    "MatchSummary",
    "NotFound",
    "OutOfRange",
    "PermissionDenied",
    "PromontoryError",
    "RecordingError",
    "Replay",
    "ResourceExhausted",
    "TableClosed",
    "TableOptions",
    "TicketCancelled",
    "TimeControl",
    "Timing",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "Unknown",
    "UnknownGameError",
    "Update",
    "VersionConflict",
    "game",
    "replay_file",
]

_HOMES = {
    "AsyncClient": "promontory.client.asynchronous",
    "Client": "promontory.client.blocking",
    "ClockKind": "promontory.codec.terms",
    "Ending": "promontory.codec.conduct",
    "EndpointError": "promontory.client.endpoints",
    "ForkError": "promontory.client.blocking",
    "MatchSummary": "promontory.client.matches",
    "RecordingError": "promontory.client.recordings",
    "Replay": "promontory.client.replays",
    "TableOptions": "promontory.client.tables",
    "TimeControl": "promontory.client.clocks",
    "Timing": "promontory.client.retrying",
    "UnknownGameError": "promontory.games.registry",
    "Update": "promontory.client.matches",
    "game": "promontory.games.registry",
    "replay_file": "promontory.client.replays",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'promontory' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "promontory.client.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
