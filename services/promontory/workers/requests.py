"""How a worker takes tasks from the broker."""

from __future__ import annotations

import logging

from celery import Task
from celery.worker.request import Request

_log = logging.getLogger(__name__)


class AcknowledgedRequest(Request):  # type: ignore[misc]
    """A request whose acknowledgement may not get lost in silence.

    Celery only logs one that fails. The message then fills the worker's one place for good: the worker looks alive and
    takes nothing any more. Here the failure is the lost connection that it is, so the worker connects anew with its
    place free; the broker offers the message again later, which does no harm.
    """

    acknowledged: bool

    def acknowledge(self) -> None:
        """Acknowledge the message as soon as the event loop comes to it; there an error ends the connection."""
        if not self.acknowledged:
            self.on_ack(_log, ())  # the errors to swallow: none
            self.acknowledged = True


class AcknowledgedTask(Task):  # type: ignore[misc]
    """A task that comes in an `AcknowledgedRequest`."""

    abstract = True
    Request = f"{AcknowledgedRequest.__module__}:{AcknowledgedRequest.__qualname__}"
