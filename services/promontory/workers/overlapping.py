"""A pool whose tasks run beside one another in threads: most of a task is waiting for a service."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from billiard.einfo import ExceptionInfo  # type: ignore[import-untyped]
from celery.concurrency.base import BasePool
from celery.exceptions import WorkerLostError
from kombu.asynchronous import Hub

from promontory.runtime import clock

log = structlog.get_logger()


class OverlappingPool(BasePool):  # type: ignore[misc]
    """Runs `limit` tasks at a time.

    Celery's own pool of threads also tells there what became of a task, so that messages are acknowledged over a
    connection that the event loop uses. Here a bell wakes the loop, which alone uses connections to the broker.
    """

    body_can_be_buffer = True
    signal_safe = False
    limit: int

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._threads = ThreadPoolExecutor(self.limit, thread_name_prefix="task")
        self._ended: deque[tuple[Callable[..., Any], Any]] = deque()
        self._bell, self._ringing = socket.socketpair()
        self._bell.setblocking(False)
        self._ringing.setblocking(False)

    def register_with_event_loop(self, loop: Hub) -> None:
        """Tell what becomes of tasks in `loop`, from now on: it is asked again whenever the broker was away."""
        loop.add_reader(self._ringing, self._tell)  # type: ignore[no-untyped-call]
        self._ring()

    def on_apply(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        callback: Callable[..., Any],
        accept_callback: Callable[..., Any],
        **_: Any,
    ) -> None:
        """Run a task as Celery asks for it."""
        accept_callback(os.getpid(), clock.monotonic())
        self._threads.submit(self._run, partial(target, *args, **(kwargs or {})), callback)

    def on_stop(self) -> None:
        """Let the tasks that run come to their end, and tell of them: the loop closes next, and acknowledges them."""
        self._threads.shutdown()
        self._tell()

    def _run(self, target: Callable[[], Any], callback: Callable[..., Any]) -> None:
        """Run `target`, which tells what its task raised, but for what would end a process: that is a lost task."""
        try:
            outcome = target()
        except BaseException as error:  # else nobody is told, and the place of the task stays taken
            log.exception("task_lost")
            lost = WorkerLostError(repr(error))
            outcome = True, ExceptionInfo((WorkerLostError, lost, error.__traceback__)), 0.0
        self._ended.append((callback, outcome))
        self._ring()

    def _ring(self) -> None:
        with suppress(BlockingIOError):  # it rings already
            self._bell.send(b"!")

    def _tell(self) -> None:
        with suppress(BlockingIOError):
            self._ringing.recv(4096)
        while self._ended:
            callback, outcome = self._ended.popleft()
            callback(outcome)
