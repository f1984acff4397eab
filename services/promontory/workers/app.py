"""The workers' Celery app: its settings, and its tasks with what they need."""

from __future__ import annotations

from typing import Any

from celery import Celery

from promontory.runtime.broker import broker_url, celery_settings
from promontory.runtime.identity import Scope, ServiceIdentity, load_key
from promontory.runtime.settings import WorkerSettings
from promontory.workers.archiving import Archiving
from promontory.workers.requests import AcknowledgedTask
from promontory.workers.services import Services
from promontory.workers.tasks import add_archive_task, add_tasks

SCOPES = frozenset({Scope.PLAY_FOR_THE_HOUSE, Scope.TALLY_MATCH, Scope.LIST_MATCH})


def create_app(settings: WorkerSettings) -> Celery:
    """Return the app of a worker with `settings`. Connects to nothing; the clients are made by the first task.

    Raises `SettingsError` if an address is malformed, `OSError` if the key cannot be read.
    """
    app = Celery("promontory", set_as_current=False, task_cls=AcknowledgedTask)
    app.conf.update(celery_settings(broker_url(settings.broker_url, settings.redis_url)))
    app.conf.update(_worker_settings(settings.task_seconds))
    identity = ServiceIdentity(load_key(settings.service_key_file), "worker", SCOPES)
    add_tasks(app, Services(settings, identity))
    add_archive_task(app, Archiving(settings))
    return app


def _worker_settings(task_seconds: float) -> dict[str, Any]:
    """Return the settings that only workers have.

    A message is acknowledged after its task, and none is held back behind a task that runs; neither is trusted, since
    the transport loses and repeats messages when a worker dies. A broker that refuses, its disk full, is as good as one
    that is away: the worker connects again until it does not.
    """
    return {
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,
        "task_time_limit": task_seconds,
        "worker_prefetch_multiplier": 1,
        "worker_soft_shutdown_timeout": 10,
        "worker_enable_remote_control": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_send_task_events": False,
        "broker_heartbeat": 0,
        "broker_channel_error_retry": True,
    }
