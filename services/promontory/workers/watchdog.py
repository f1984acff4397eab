"""Ending a worker whose task does not come to its end."""

from __future__ import annotations

import os
from threading import Timer
from typing import Any, Self

import structlog
from celery import signals

log = structlog.get_logger()

STUCK_EXIT_CODE = 70


class Watchdog:
    """Ends this process when a task runs for longer than `seconds`; a context manager, for a worker without a pool.

    Such a worker runs its tasks in the thread that would have to stop them: one bot that thinks for ever would make it
    deaf to all others. Whoever looks after the process starts it again, the relay sends the task again, and after some
    attempts plays for the bot itself.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timers: dict[str, Timer] = {}

    def __enter__(self) -> Self:
        signals.task_prerun.connect(self._watch)
        signals.task_postrun.connect(self._leave)
        return self

    def __exit__(self, *_: object) -> None:
        signals.task_prerun.disconnect(self._watch)
        signals.task_postrun.disconnect(self._leave)

    def _watch(self, *, task_id: str, task: Any, **_: Any) -> None:
        timer = Timer(self._seconds, self._end, [task_id, task.name])
        timer.daemon = True
        self._timers[task_id] = timer
        timer.start()

    def _leave(self, *, task_id: str, **_: Any) -> None:
        if timer := self._timers.pop(task_id, None):
            timer.cancel()

    def _end(self, task_id: str, name: str) -> None:
        log.error("task_stuck", task=name.rpartition(".")[2], task_id=task_id, limit_seconds=self._seconds)
        os._exit(STUCK_EXIT_CODE)
