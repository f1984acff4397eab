"""An alarm that is put off again and again, as one is that tells of silence: that must cost next to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls `ring` once the time is over that it was last put off for. It is silent until it is put off first."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring, self._loop = ring, asyncio.get_running_loop()
        self._at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def put_off(self, seconds: float) -> None:
        """Ring `seconds` from now, and not before.

        A timer that is set for an earlier time is left to itself, and set anew only when that has come.
        """
        self._at = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._at:
            self._cancel()
        if self._timer is None:
            self._timer = self._loop.call_at(self._at, self._look)

    def stop(self) -> None:
        """Never ring again, and let go of who was to hear it: they hold the alarm, and are free at once without it."""
        self._cancel()
        self._ring = _nobody_hears

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._loop.time() < self._at:
            self._timer = self._loop.call_at(self._at, self._look)
        else:
            self._timer = None
            self._ring()


def _nobody_hears() -> None:
    pass
