"""Tasks of a worker that traces, as spans."""

from __future__ import annotations

from contextlib import ExitStack
from threading import get_ident
from typing import Any, Self

from celery import signals

from promontory.client.connection import carrying
from promontory.runtime import tracing
from promontory.runtime.tracing import TRACEPARENT, Cause, Kind, Span
from promontory.workers.telemetry import outcome_of


class TracedTasks:
    """Makes each task a span of the trace that it carries, and the calls in it part of that; a context manager."""

    def __init__(self) -> None:
        self._under_way: dict[int, tuple[ExitStack, Span]] = {}  # by thread: one task may be under way twice

    def __enter__(self) -> Self:
        signals.task_prerun.connect(self._begin)
        signals.task_postrun.connect(self._end)
        return self

    def __exit__(self, *_: object) -> None:
        signals.task_prerun.disconnect(self._begin)
        signals.task_postrun.disconnect(self._end)

    def _begin(self, *, task_id: str, task: Any, **_: Any) -> None:
        carried = (task.request.headers or {}).get(TRACEPARENT, "")
        attributes = {"messaging.system": "celery", "messaging.message.id": task_id}
        stack = ExitStack()
        span = stack.enter_context(
            tracing.span(task.name, Kind.CONSUMER, cause=Cause(parent=carried), attributes=attributes)
        )
        stack.enter_context(carrying(*tracing.headers()))
        self._under_way[get_ident()] = stack, span

    def _end(self, *, retval: Any, **_: Any) -> None:
        stack, span = self._under_way.pop(get_ident())
        if (outcome := outcome_of(retval)) != "done":
            span.fail(outcome)
        stack.close()
