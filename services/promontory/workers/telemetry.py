"""What the workers tell: metrics and one canonical line per task, and Celery's own warnings as structured lines."""

from __future__ import annotations

import logging
import warnings
from threading import get_ident
from typing import Any, Self

import structlog
from celery import signals
from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer.consumer import CONNECTION_ERROR
from kombu.transport.redis import get_redis_error_classes

from promontory.client.errors import DeadlineExceeded, Unavailable
from promontory.eventlog.port import EventLogUnavailable
from promontory.runtime import clock, metrics
from promontory.runtime.broker import TASKS

log = structlog.get_logger()

_QUIET = "celery.app.trace"  # tells of each failed task, as the canonical line does
_BROKER_ERRORS = tuple(
    kind
    for kinds in get_redis_error_classes()  # type: ignore[no-untyped-call]
    for kind in kinds
    if not issubclass(kind, LookupError)  # that is what a bug raises, too
)


class Telemetry:
    """Listens to Celery's signals, as a context manager, in this process and those forked from it."""

    def __init__(self) -> None:
        self._started: dict[int, float] = {}  # by thread: one task may be under way twice
        metrics.begin(metrics.TASKS, task=map(_short, TASKS), outcome=("done", "failed", "unavailable"))

    def __enter__(self) -> Self:
        signals.task_prerun.connect(self._before)
        signals.task_postrun.connect(self._after)
        return self

    def __exit__(self, *_: object) -> None:
        signals.task_prerun.disconnect(self._before)
        signals.task_postrun.disconnect(self._after)

    def _before(self, **_: Any) -> None:
        self._started[get_ident()] = clock.monotonic()

    def _after(self, *, task: Any, args: Any, retval: Any, **_: Any) -> None:
        name = _short(task.name)
        seconds = clock.monotonic() - self._started.pop(get_ident(), clock.monotonic())
        outcome = outcome_of(retval)
        metrics.TASKS.labels(task=name, outcome=outcome).inc()
        metrics.TASK_SECONDS.labels(task=name).observe(seconds)
        keys = {"task": name, "arguments": list(args), "duration_seconds": round(seconds, 6)}
        if outcome == "done":
            log.info("task_done", result=retval, **keys)
        elif outcome == "unavailable":
            log.warning("task_gave_up", cause=str(retval), **keys)
        else:
            log.error("task_failed", exc_info=retval, **keys)


def _short(task: str) -> str:
    """Return the metrics' word for the task called `promontory.<word>`."""
    return task.rpartition(".")[2]


def outcome_of(retval: object) -> str:
    """Return the metrics' word for what became of a task that returned or raised `retval`."""
    match retval:
        case Unavailable() | DeadlineExceeded() | EventLogUnavailable():
            return "unavailable"
        case BaseException():
            return "failed"
    return "done"


def structure_logging() -> None:
    """Send what Celery and other libraries log, from warnings on, and Python's own warnings through structlog."""
    signals.setup_logging.connect(_keep_logging, weak=False)
    root = logging.getLogger()
    root.handlers = [StructuredHandler()]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    warnings.simplefilter("ignore", CPendingDeprecationWarning)
    logging.getLogger(_QUIET).setLevel(logging.CRITICAL)


def _keep_logging(**_: Any) -> None:
    """Celery leaves logging alone if anybody listens to its `setup_logging`."""


class StructuredHandler(logging.Handler):
    """Turns the lines of libraries into structured ones. A broker that fails is an outage: a warning, and no trace."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log `record`."""
        if _tells_of_outage(record):
            log.warning("library_said", logger=record.name, text=record.getMessage())
        else:
            log.log(
                record.levelno, "library_said", logger=record.name, text=record.getMessage(), exc_info=record.exc_info
            )


def _tells_of_outage(record: logging.LogRecord) -> bool:
    """Tell whether the broker failed at what Celery tries again: to connect, or what it does every few seconds."""
    cause = record.exc_info[1] if record.exc_info else None
    return record.levelno == logging.ERROR and (record.msg == CONNECTION_ERROR or isinstance(cause, _BROKER_ERRORS))
