"""Structured logs: one canonical line per RPC and per task, JSON unless on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog

log = structlog.get_logger()

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(process: str, *, level: str = "info", style: str = "auto") -> None:
    """Send structlog's lines to standard output; `style` is `json`, `console` or `auto` (console on a terminal).

    What libraries log, from warnings on, becomes such lines too.
    """
    console = style == "console" or (style == "auto" and sys.stdout.isatty())
    renderer = structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(),  # a line and its end in one write: a kill leaves none half
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(process=process)
    root = logging.getLogger()
    root.handlers = [_Libraries()]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


class _Libraries(logging.Handler):
    """Turns what libraries log into structured lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log `record`."""
        log.log(record.levelno, "library_said", logger=record.name, text=record.getMessage(), exc_info=record.exc_info)
