"""The Celery app's settings, its tasks, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from structlog.testing import capture_logs

from promontory.api.scoring.v1.scoring_service_pb2 import TallyMatchResponse
from promontory.client.errors import NotFound, Unavailable
from promontory.eventlog.port import EventLogUnavailable
from promontory.runtime.broker import ARCHIVE_MATCH, LIST_MATCH, PLAY_BOT_TURN, TALLY_MATCH
from promontory.runtime.settings import SettingsError, WorkerSettings
from promontory.workers.app import create_app
from promontory.workers.archiving import Archiving
from promontory.workers.main import run_worker
from promontory.workers.tasks import add_tasks
from promontory.workers.telemetry import Telemetry
from tests.support.serving import create_keys


class Scoring:
    """Scoring that tallies, or fails with `error`."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def tally(self, match_id: str) -> TallyMatchResponse:
        if self._error:
            raise self._error
        return TallyMatchResponse(tallied=True)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    with Telemetry() as telemetry:
        yield telemetry


def settings(directory: Path, **given: Any) -> WorkerSettings:
    return WorkerSettings(service_key_file=create_keys(directory).service_key_file, **given)


def told_of(services: Scoring) -> dict[str, Any]:
    """Return the line that is told of a tally by `services`."""
    app = Celery("test", set_as_current=False)
    add_tasks(app, services)  # type: ignore[arg-type]
    with capture_logs() as lines:
        app.tasks[TALLY_MATCH].apply(args=["tc-000-a"])
    (line,) = lines
    return dict(line)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_acks_late", True),
        ("task_ignore_result", True),
        ("task_serializer", "json"),
        ("accept_content", ["json"]),
        ("worker_prefetch_multiplier", 1),
        ("worker_enable_remote_control", False),
        ("broker_connection_retry_on_startup", True),
        ("broker_connection_max_retries", None),
        ("broker_url", "redis://127.0.0.1:6379/1"),
    ],
)
def test_a_worker_trusts_neither_broker_nor_messages(tmp_path: Path, name: str, value: object) -> None:
    """[event_log 2.9] [event_log 5.2] Late acknowledgement, no results, JSON only, no wait without an end."""
    assert create_app(settings(tmp_path)).conf[name] == value


@pytest.mark.parametrize("option", ["visibility_timeout", "socket_timeout", "health_check_interval"])
def test_no_wait_for_the_broker_is_without_an_end(tmp_path: Path, option: str) -> None:
    """[event_log P24] [event_log P25]."""
    assert create_app(settings(tmp_path)).conf.broker_transport_options[option] <= 60


def test_a_worker_has_the_tasks_that_the_relay_sends(tmp_path: Path) -> None:
    """Tasks are known by names that are no Python paths, so code can move."""
    tasks = {name for name in create_app(settings(tmp_path)).tasks if not name.startswith("celery.")}
    assert tasks == {PLAY_BOT_TURN, TALLY_MATCH, LIST_MATCH, ARCHIVE_MATCH}


def test_a_worker_without_an_archive_archives_nothing(tmp_path: Path) -> None:
    """[style 8] It says which setting is missing, and the obligation stays."""
    with pytest.raises(SettingsError, match="PROMONTORY_ARCHIVE_URL"):
        Archiving(settings(tmp_path)).archive("tc-000-a", 0, attempt=1)


def test_malformed_addresses_are_refused_at_the_start(tmp_path: Path) -> None:
    """[style 8] Settings are validated in `main`, not by the first task."""
    with pytest.raises(SettingsError):
        create_app(settings(tmp_path, rules_targets="transcontinental"))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"queues": "bots,dreams", "rules_targets": "transcontinental=127.0.0.1:1"}, "PROMONTORY_QUEUES"),
        ({"queues": "bots"}, "PROMONTORY_RULES_TARGETS"),
    ],
)
def test_a_worker_that_could_do_nothing_does_not_start(tmp_path: Path, given: dict[str, str], named: str) -> None:
    """A misspelt queue would be served for ever, and nobody would notice."""
    with pytest.raises(SettingsError, match=named):
        run_worker(settings(tmp_path, **given))


def test_a_task_is_told_in_one_line(telemetry: Telemetry) -> None:
    """[style 8] One canonical line per task."""
    line = told_of(Scoring())
    assert line["duration_seconds"] >= 0
    del line["duration_seconds"]
    assert line == {
        "event": "task_done",
        "log_level": "info",
        "task": "tally_match",
        "arguments": ["tc-000-a"],
        "result": True,
    }


@pytest.mark.parametrize("error", [Unavailable("down"), EventLogUnavailable("down")])
def test_what_is_away_is_a_warning(telemetry: Telemetry, error: Exception) -> None:
    """[style 8] The relay sends the task again."""
    line = told_of(Scoring(error))
    assert (line["event"], line["log_level"]) == ("task_gave_up", "warning")


def test_any_other_failure_is_an_error(telemetry: Telemetry) -> None:
    """[style 8] Bugs are errors."""
    line = told_of(Scoring(NotFound("gone", reason="MATCH_NOT_FOUND")))
    assert (line["event"], line["log_level"]) == ("task_failed", "error")
