"""The pool whose tasks run beside one another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from billiard.einfo import ExceptionInfo
from celery.exceptions import WorkerLostError, WorkerShutdown
from kombu.asynchronous import Hub

from promontory.workers.overlapping import OverlappingPool

PATIENCE_SECONDS = 10


class Loop:
    """An event loop as Celery has it, with a pool of two, and what it was told in which thread."""

    def __init__(self) -> None:
        self.hub, self.pool = Hub(), OverlappingPool(2)
        self.told: list[tuple[Any, threading.Thread]] = []
        self.accepted: list[int] = []
        self.pool.register_with_event_loop(self.hub)

    def start(self, target: Callable[..., Any], *args: Any) -> None:
        """Begin a task."""
        self.pool.on_apply(target, args, callback=self._hear, accept_callback=lambda pid, _: self.accepted.append(pid))

    def turn_until_told(self, count: int) -> None:
        """Turn until so many outcomes were told."""
        turning = self.hub.create_loop()
        while len(self.told) < count:
            next(turning)

    def _hear(self, outcome: Any) -> None:
        self.told.append((outcome, threading.current_thread()))


@pytest.fixture
def loop() -> Iterator[Loop]:
    found = Loop()
    yield found
    found.pool.stop()
    found.hub.close()


def test_tasks_overlap_and_the_loop_is_told_what_became_of_them(loop: Loop) -> None:
    """Each waits for the other; connections to the broker are used by one thread only."""
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    loop.start(both.wait)
    loop.start(both.wait)
    loop.turn_until_told(2)
    assert sorted(outcome for outcome, _ in loop.told) == [0, 1]
    assert {thread for _, thread in loop.told} == {threading.current_thread()}
    assert len(loop.accepted) == 2


def test_what_ended_while_the_broker_was_away_is_told_in_the_next_loop(loop: Loop) -> None:
    """Celery drops all that its loop waited for when a connection is lost, and registers anew."""
    loop.hub.reset()
    ended = threading.Event()
    loop.start(ended.set)
    ended.wait(PATIENCE_SECONDS)
    loop.pool.register_with_event_loop(loop.hub)
    loop.turn_until_told(1)


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), MemoryError(), WorkerShutdown(0)])
def test_a_task_that_would_end_its_worker_is_told_of_as_lost(loop: Loop, error: BaseException) -> None:
    """Nothing stays unacknowledged in the worker's places for good; Celery takes a failure apart in three."""

    def leave() -> None:
        raise error

    loop.start(leave)
    loop.turn_until_told(1)
    ((has_failed, lost, _), _) = loop.told[0]
    assert has_failed
    assert isinstance(lost, ExceptionInfo)
    assert isinstance(lost.exception.exc, WorkerLostError)


def test_a_pool_that_stops_lets_its_tasks_end_and_tells_of_them() -> None:
    """SIGTERM does not cut a turn in two, nor give its message back."""
    loop, ended = Loop(), list[str]()
    loop.start(ended.append, "turn")
    loop.pool.stop()
    assert (ended, len(loop.told)) == (["turn"], 1)
