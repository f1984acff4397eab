"""Records as they are stored: one that this release cannot read counts as not there, and is left alone.

A later release, from which somebody went back to this one, may have written what this one does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

log = structlog.get_logger()

T = TypeVar("T")


def read(decode: Callable[[bytes], T], row: bytes | None) -> T | None:
    """Return what `decode` makes of `row`, or None if there is no row, or one that cannot be read."""
    if not row:
        return None
    try:
        return decode(row)
    except msgspec.MsgspecError as error:
        log.warning("record_unreadable", cause=str(error))
        return None
