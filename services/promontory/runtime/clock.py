"""The one place where processes read the time."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def now_ms() -> int:
    """Return the present time in ms since the epoch."""
    return time.time_ns() // 1_000_000


def from_ms(ms: int) -> datetime:
    """Return a time in ms since the epoch, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def monotonic() -> float:
    """Return a clock's reading in seconds that never goes back; only differences mean something."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Block this thread; only for code that waits on other processes."""
    time.sleep(seconds)
