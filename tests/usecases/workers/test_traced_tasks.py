"""Tasks as spans."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from celery import signals

from promontory.runtime import tracing
from promontory.runtime.broker import PLAY_BOT_TURN
from promontory.workers.traced_tasks import TracedTasks
from tests.support.tracing import Traced

TASK = SimpleNamespace(name=PLAY_BOT_TURN, request=SimpleNamespace(headers=None))
TURN: dict[str, Any] = {"sender": PLAY_BOT_TURN, "task_id": "bot|a match|0|1", "task": TASK}


@pytest.fixture
def traced() -> Iterator[Traced]:
    yield Traced(ratio=1)
    tracing.use(None)


def test_a_task_that_is_delivered_again_while_it_runs_has_spans_of_its_own(traced: Traced) -> None:
    """A lease ends before a slow turn does, and the worker's other thread takes the task too."""
    with TracedTasks(), ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        first.submit(signals.task_prerun.send, **TURN).result()
        second.submit(signals.task_prerun.send, **TURN).result()
        first.submit(signals.task_postrun.send, **TURN, retval=ValueError()).result()
        second.submit(signals.task_postrun.send, **TURN, retval=0).result()
    begun = sorted(traced.spans(), key=lambda span: span.start_time or 0)
    assert [span.status.is_ok for span in begun] == [False, True]
