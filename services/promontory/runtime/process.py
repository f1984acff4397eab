"""The beginning of every process."""

from __future__ import annotations

from promontory.runtime import logs, metrics
from promontory.runtime.settings import ProcessSettings


def begin(name: str, settings: ProcessSettings) -> None:
    """Let this process be known as `name` in logs and metrics; a rules service is called `rules.<game>`."""
    logs.configure(name, level=settings.log_level, style=settings.log_format)
    metrics.PROCESS.labels(process=name).set(1)
