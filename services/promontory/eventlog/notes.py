"""What every commit's meta says, whichever service made the commit."""

from __future__ import annotations

import msgspec

from promontory.eventlog.port import Commit, LogCorrupt


class _Note(msgspec.Struct, frozen=True):
    recorded_at_ms: int


def recorded_at_ms(stream: str, commit: Commit) -> int:
    """Return when `commit` of `stream` was made, in ms since the epoch; raise `LogCorrupt` if it does not say so."""
    try:
        return msgspec.json.decode(commit.meta, type=_Note).recorded_at_ms
    except msgspec.MsgspecError as error:
        raise LogCorrupt(stream, commit.version, f"its meta: {error}") from error
