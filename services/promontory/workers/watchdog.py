"""Ending a worker whose task does not come to its end."""

from __future__ import annotations

import os
from threading import Event, Lock, Thread, get_ident
from typing import Any, Self

import structlog
from celery import signals

from promontory.runtime import clock

log = structlog.get_logger()

STUCK_EXIT_CODE = 70


class Watchdog:
    """Ends this process when a task runs for longer than `seconds`; a context manager, for a worker without children.

    Nothing stops a thread: one bot that thinks for ever would make the worker deaf to all others. Whoever looks after
    the process starts it again, the relay sends the task again, and after some attempts plays for the bot itself.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[int, tuple[float, str, str]] = {}  # by thread: one task may be under way twice
        self._changing, self._is_over = Lock(), Event()
        self._thread = Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        signals.task_prerun.connect(self._begin)
        signals.task_postrun.connect(self._leave)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        signals.task_prerun.disconnect(self._begin)
        signals.task_postrun.disconnect(self._leave)

    def _begin(self, *, task_id: str, task: Any, **_: Any) -> None:
        with self._changing:
            self._running[get_ident()] = (clock.monotonic() + self._seconds, task_id, task.name)

    def _leave(self, **_: Any) -> None:
        with self._changing:
            self._running.pop(get_ident(), None)

    def _watch(self) -> None:
        """Look again when the task that has run longest would have run for too long."""
        wait_seconds = self._seconds
        while not self._is_over.wait(wait_seconds):
            with self._changing:
                now = clock.monotonic()
                ends, task_id, name = next(iter(self._running.values()), (now + self._seconds, "", ""))
            wait_seconds = ends - now
            if wait_seconds <= 0:
                self._end(task_id, name)

    def _end(self, task_id: str, name: str) -> None:
        log.error("task_stuck", task=name.rpartition(".")[2], task_id=task_id, limit_seconds=self._seconds)
        os._exit(STUCK_EXIT_CODE)
