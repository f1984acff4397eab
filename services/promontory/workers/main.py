"""The worker process: a Celery worker, started from here so that its settings are the platform's."""

from __future__ import annotations

import os
import socket
from contextlib import nullcontext
from typing import Any

import structlog
from celery import signals

from promontory.runtime import process, server
from promontory.runtime.broker import BOTS, QUEUES
from promontory.runtime.settings import SettingsError, WorkerSettings, targets
from promontory.workers.app import create_app
from promontory.workers.overlapping import OverlappingPool
from promontory.workers.telemetry import Telemetry, structure_logging
from promontory.workers.traced_tasks import TracedTasks
from promontory.workers.watchdog import Watchdog

log = structlog.get_logger()


def _check(settings: WorkerSettings) -> None:
    queues = settings.queues.split(",")
    if strange := [queue for queue in queues if queue not in QUEUES]:
        raise SettingsError(f"PROMONTORY_QUEUES names {', '.join(strange)}; there are {', '.join(QUEUES)}")
    if BOTS in queues and not targets(settings.rules_targets):
        raise SettingsError("PROMONTORY_RULES_TARGETS names no game: bots play with game=host:port,game=host:port")


def run_worker(settings: WorkerSettings) -> int:
    """Run a worker until SIGTERM, which lets the running tasks end; return the exit code.

    With a concurrency of 1 tasks run in this process, `overlap` beside one another: the metrics it serves are theirs.
    With more they run in forked processes whose metrics nobody sees, so several workers are better than one with more.
    """
    is_alone = settings.concurrency == 1  # else the pool ends what takes too long
    _check(settings)
    structure_logging()
    app = create_app(settings)

    def announce(**_: Any) -> None:
        server.announce(settings)

    def trace(**_: Any) -> None:
        process.trace("worker", settings)

    signals.worker_ready.connect(announce)
    signals.worker_process_init.connect(trace)  # what sends traces does not survive the fork of a pool
    if is_alone:
        trace()
    worker = app.Worker(
        hostname=f"worker-{os.getpid()}@{socket.gethostname()}",
        queues=settings.queues.split(","),
        concurrency=settings.overlap if is_alone else settings.concurrency,
        pool=OverlappingPool if is_alone else "prefork",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    traced = TracedTasks() if settings.traces_url else nullcontext()
    with Telemetry(), traced, Watchdog(settings.task_seconds) if is_alone else nullcontext():
        worker.start()
    log.info("worker_stopped")
    return int(worker.exitcode or 0)
