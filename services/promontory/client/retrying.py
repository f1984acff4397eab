"""How long to wait between attempts, and when to give up."""

from __future__ import annotations

import asyncio
from random import SystemRandom

import msgspec

from promontory.client.errors import PromontoryError


class Timing(msgspec.Struct, frozen=True):
    """How long the client waits for what.

    An attempt at a call takes at most `call_seconds`. Between attempts the client waits about `first_pause_seconds`,
    twice as long each time, up to `longest_pause_seconds`. Servers send a heartbeat on a quiet stream every
    `heartbeat_seconds`; a stream that is silent three times as long is dead.
    """

    call_seconds: float = 10
    first_pause_seconds: float = 0.1
    longest_pause_seconds: float = 5
    heartbeat_seconds: float = 10

    @property
    def silence_seconds(self) -> float:
        """How long a live stream can be silent."""
        return 3 * self.heartbeat_seconds


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
