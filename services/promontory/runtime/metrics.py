"""Every metric of every process. Label values come from closed sets: never a match, player, ticket or error text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

import prometheus_client
from prometheus_client import REGISTRY, Counter, Histogram, disable_created_metrics, start_http_server

from promontory import __version__

M = TypeVar("M", Counter, Histogram)

_FAST = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WAIT = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)


class Gauge(prometheus_client.Gauge):
    """A gauge that nobody sees before it is set: 0 would tell of what this process has not measured."""

    def __init__(self, name: str, documentation: str, labelnames: Iterable[str] = (), **more: Any) -> None:
        self._unseen = not labelnames
        super().__init__(name, documentation, labelnames, registry=None if self._unseen else REGISTRY, **more)

    def set(self, value: float) -> None:
        """Set the gauge, and show it from now on."""
        super().set(value)
        if self._unseen:
            self._unseen = False
            REGISTRY.register(self)


BUILD = Gauge("promontory_build_info", "The running version; always 1.", ["version"])
BUILD.labels(version=__version__).set(1)
PROCESS = Gauge("promontory_process_info", "What this process is; always 1.", ["process"])

RPCS = Counter("promontory_rpcs_total", "Calls served.", ["service", "method", "code"])
RPC_SECONDS = Histogram(
    "promontory_rpc_duration_seconds", "Time to serve a call.", ["service", "method"], buckets=_FAST
)

REFUSALS = Counter("promontory_refusals_total", "Calls refused.", ["service", "reason"])
LIMITS_REACHED = Counter("promontory_limits_reached_total", "Calls refused for a limit.", ["limit"])

COMMANDS = Counter("promontory_commands_total", "Commands judged.", ["game", "command", "outcome"])
COMMAND_SECONDS = Histogram(
    "promontory_command_duration_seconds", "Time from a submission's arrival to its answer.", ["game"], buckets=_FAST
)
MATCHES_CREATED = Counter("promontory_matches_created_total", "Matches created.", ["game"])
MATCHES_CLOSED = Counter("promontory_matches_closed_total", "Matches closed.", ["game", "reason"])
OPEN_MATCHES = Gauge(
    "promontory_open_matches", "Open matches by what they are pinned to.", ["game", "rules_version", "data"]
)
UNSERVED_MATCHES = Gauge(
    "promontory_unserved_matches", "Open matches whose rules version or data no process has.", ["game"]
)
WATCHERS = Gauge("promontory_watchers", "Open watch streams.", ["game"])

APPENDS = Counter("promontory_appends_total", "Commits appended to the event log.", ["outcome"])
APPENDED_EVENTS = Counter("promontory_appended_events_total", "Events appended to the event log.")
APPEND_SECONDS = Histogram("promontory_append_duration_seconds", "Time of an append.", buckets=_FAST)
APPEND_CONFLICTS = Counter("promontory_append_conflicts_total", "Appends refused for their position.", ["game"])
LOG_REWINDS = Counter("promontory_log_rewinds_total", "Times that the log had lost what was read there.", ["kind"])

TICKETS_OPEN = Gauge("promontory_tickets_open", "Tickets waiting.", ["pool"])
OLDEST_TICKET_SECONDS = Gauge("promontory_oldest_ticket_seconds", "Age of the ticket that waits longest.", ["pool"])
TICKET_WAIT_SECONDS = Histogram(
    "promontory_ticket_wait_seconds", "Time from a ticket's creation to its match.", ["pool"], buckets=_WAIT
)
TICKETS = Counter("promontory_tickets_total", "Tickets that ended or began.", ["pool", "event"])

PROPOSALS = Counter("promontory_proposals_total", "Attempts to get a proposed match made.", ["game", "outcome"])

OBLIGATIONS_DUE = Gauge("promontory_obligations_due", "Obligations that are due.", ["game"])
OLDEST_OBLIGATION_SECONDS = Gauge("promontory_oldest_obligation_seconds", "Age of the most overdue one.", ["game"])
OBLIGATIONS = Counter("promontory_obligations_total", "Obligations handed out.", ["kind", "outcome"])

RELAY_PAUSES = Counter("promontory_relay_pauses_total", "Times that the relay could hand out nothing.", ["cause"])
LAST_SWEEP = Gauge("promontory_last_sweep_timestamp_seconds", "When the relay last looked through all buckets.")
TASKS_QUEUED = Gauge("promontory_tasks_queued", "Tasks that wait at the broker.", ["queue"])

LOG_MEMORY_BYTES = Gauge("promontory_log_memory_bytes", "Memory that the event log's server uses.")
LOG_MEMORY_LIMIT_BYTES = Gauge("promontory_log_memory_limit_bytes", "What that server may use; 0: it has no limit.")
LOG_PERSISTS = Gauge("promontory_log_persists", "1 if that server's last write of its append-only file succeeded.")
LOG_FUNCTIONS_MISSING = Gauge("promontory_log_functions_missing", "1 if a primary of the log lacks its functions.")

ARCHIVE_AFTER_SECONDS = Gauge(
    "promontory_archive_after_seconds", "How long after its end a match is to be archived.", ["game"]
)
ARCHIVINGS = Counter("promontory_archivings_total", "Attempts to archive a match.", ["game", "outcome"])
ARCHIVED_BYTES = Counter("promontory_archived_bytes_total", "Bytes of the files that were archived.")
ARCHIVE_READS = Counter("promontory_archive_reads_total", "Matches looked for in the archive.", ["outcome"])
MATCHES_TO_ARCHIVE = Gauge("promontory_matches_to_archive", "Closed matches that are not archived.", ["game"])
OLDEST_TO_ARCHIVE_SECONDS = Gauge(
    "promontory_oldest_match_to_archive_seconds", "Time since the first of those was closed.", ["game"]
)

BOT_DECISION_SECONDS = Histogram(
    "promontory_bot_decision_duration_seconds", "A house bot's thinking time.", ["game", "policy"], buckets=_FAST
)
TALLIES = Counter("promontory_tallies_total", "Tallies of closed matches.", ["pool", "outcome"])
TASKS = Counter("promontory_tasks_total", "Celery tasks.", ["task", "outcome"])
TASK_SECONDS = Histogram("promontory_task_duration_seconds", "Time of a Celery task.", ["task"], buckets=_FAST)


def begin(counter: Counter, **labels: Iterable[str]) -> None:
    """Show `counter` as 0 for every combination of `labels`: Prometheus sees no increase in what begins at 1."""
    for values in product(*labels.values()):
        counter.labels(**dict(zip(labels, values, strict=True)))


_LABELLED: dict[tuple[object, ...], Any] = {}


def labelled(metric: M, **labels: str) -> M:
    """Return what `metric.labels` does, from where it was put the first time: for what is counted at every call."""
    key = (metric, *labels.items())
    if key not in _LABELLED:
        _LABELLED[key] = metric.labels(**labels)
    found: M = _LABELLED[key]
    return found


def outcome_of(error: Exception, outcomes: Mapping[type[Exception], str]) -> str:
    """Return the label of what became of a thing that `error` ended: the first that fits of `outcomes`, or `failed`."""
    return next((outcome for kind, outcome in outcomes.items() if isinstance(error, kind)), "failed")


def serve(listen: str) -> str:
    """Serve `/metrics` at `host:port` (port 0: any free one) from a thread; return the address it got."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    host, _, port = listen.rpartition(":")
    server, _thread = start_http_server(int(port), addr=host.strip("[]"))
    return f"{host}:{server.server_port}"
