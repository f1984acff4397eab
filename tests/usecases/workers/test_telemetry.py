"""What Celery says goes into the worker's log as structured lines; only what is wrong is an error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from celery.worker.consumer.consumer import CONNECTION_ERROR
from redis.exceptions import OutOfMemoryError
from structlog.testing import capture_logs

from promontory.workers.telemetry import StructuredHandler


@pytest.fixture
def library() -> Iterator[logging.Logger]:
    """A library's logger that goes where the worker's do."""
    logger, handler = logging.getLogger("some.library"), StructuredHandler()
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


def _failing(logger: logging.Logger, level: int, error: Exception) -> dict[str, Any]:
    with capture_logs() as lines:
        try:
            raise error
        except type(error):
            logger.log(level, "Error in timer: %r", error, exc_info=sys.exc_info())
    return dict(lines[0])


@pytest.mark.parametrize("error", [OutOfMemoryError("maxmemory"), ConnectionRefusedError(111, "refused")])
def test_a_broker_that_fails_what_is_tried_again_is_a_warning_without_a_trace(
    library: logging.Logger, error: Exception
) -> None:
    """[style 8] [event_log R13] A full or absent broker fails the worker's timers, which come again."""
    line = _failing(library, logging.ERROR, error)
    assert (line["log_level"], line["text"], "exc_info" in line) == ("warning", f"Error in timer: {error!r}", False)


def test_a_vain_attempt_to_connect_is_a_warning(library: logging.Logger) -> None:
    """[style 8] Celery makes the next one."""
    with capture_logs() as lines:
        library.error(CONNECTION_ERROR, "redis://there", OSError(), "Trying again")
    assert [line["log_level"] for line in lines] == ["warning"]


@pytest.mark.parametrize(
    ("level", "error"), [(logging.ERROR, KeyError("bug")), (logging.CRITICAL, OutOfMemoryError("the end"))]
)
def test_what_no_outage_explains_keeps_its_level_and_trace(
    library: logging.Logger, level: int, error: Exception
) -> None:
    """[style 8] Bugs, and what ends the worker."""
    line = _failing(library, level, error)
    assert (line["log_level"], line["exc_info"][1]) == (logging.getLevelName(level).lower(), error)
