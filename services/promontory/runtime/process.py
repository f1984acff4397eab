"""The beginning of every process."""

from __future__ import annotations

from promontory.runtime import logs, metrics, tracing
from promontory.runtime.settings import ProcessSettings, SettingsError


def begin(name: str, settings: ProcessSettings) -> None:
    """Let this process be known as `name` in logs and metrics; a rules service is called `rules.<game>`."""
    logs.configure(name, level=settings.log_level, style=settings.log_format)
    metrics.PROCESS.labels(process=name).set(1)


def trace(name: str, settings: ProcessSettings) -> None:
    """Send traces from this process, called `name`, if the settings say where to.

    Raises `SettingsError` if the extra `tracing` is not installed.
    """
    if not settings.traces_url:
        return
    try:
        from promontory.runtime.spans import OpenTelemetryTracer, exporter
    except ModuleNotFoundError as error:
        raise SettingsError("PROMONTORY_TRACES_URL needs the extra: pip install 'promontory[tracing]'") from error
    tracing.use(OpenTelemetryTracer(name, exporter(settings.traces_url), ratio=settings.traces_ratio))
