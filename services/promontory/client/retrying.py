"""How long to wait between attempts, and when to give up."""

from __future__ import annotations

import asyncio
from random import SystemRandom
from typing import Any

import msgspec

from promontory.client.errors import PromontoryError

HEARTBEAT_FIELD = "heartbeat_interval"
SILENT_HEARTBEATS = 2.5
"""After how many heartbeats that did not come a stream is dead."""


class Timing(msgspec.Struct, frozen=True):
    """How long the client waits for what.

    An attempt at a call takes at most `call_seconds`. Between attempts the client waits about `first_pause_seconds`,
    twice as long each time, up to `longest_pause_seconds`. A quiet stream has a heartbeat every `heartbeat_seconds`, or
    as often as it says itself; one that is silent 2.5 times as long is dead.
    """

    call_seconds: float = 10
    first_pause_seconds: float = 0.1
    longest_pause_seconds: float = 5
    heartbeat_seconds: float = 10

    @property
    def silence_seconds(self) -> float:
        """How long a live stream can be silent."""
        return SILENT_HEARTBEATS * self.heartbeat_seconds


def told_silence_seconds(message: Any) -> float:
    """Return how long a live stream can be silent as its first `message` says, 0 if the message does not say."""
    if HEARTBEAT_FIELD not in message.DESCRIPTOR.fields_by_name:
        return 0
    return SILENT_HEARTBEATS * float(message.heartbeat_interval.ToTimedelta().total_seconds())


class Patience:
    """The pauses between the attempts at one thing, for `retry_seconds` in all."""

    def __init__(self, timing: Timing, retry_seconds: float) -> None:
        self._timing = timing
        self._retry_seconds = retry_seconds
        self._random = SystemRandom()
        self.renew()

    def renew(self) -> None:
        """Begin anew: there was progress."""
        self._failures = 0
        self._gives_up: float | None = None

    def seconds_left(self) -> float:
        """Return how long is left, at least 0; the clock starts when this is asked for the first time."""
        now = asyncio.get_running_loop().time()
        if self._gives_up is None:
            self._gives_up = now + self._retry_seconds
        return max(0.0, self._gives_up - now)

    async def pause(self, error: PromontoryError) -> None:
        """Wait before the next attempt after `error`, or raise it if the time is up before that."""
        seconds = self._pause_seconds(error)
        if seconds >= self.seconds_left():
            raise error
        self._failures += 1
        await asyncio.sleep(seconds)

    def _pause_seconds(self, error: PromontoryError) -> float:
        doubled = self._timing.first_pause_seconds * 2.0 ** min(self._failures, 30)
        longest = min(doubled, self._timing.longest_pause_seconds)
        return (error.retry_after or 0.0) + self._random.uniform(longest / 2, longest)
