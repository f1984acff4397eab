"""The Grafana dashboards, described: `write` makes deploy/grafana/dashboards from this, `check` compares.

Every panel is a title and its queries by legend. Queries may hold `$game`, the games chosen above the dashboard, and
`$__rate_interval`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "grafana" / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${source}"}
COLUMNS, HEIGHTS = 24, {"stat": 4, "timeseries": 8, "table": 8}
GRAFANA_SCHEMA = 39

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel `width` of 24 columns wide; `about` says how to read it, `unit` is Grafana's word."""

    title: str
    queries: Mapping[str, str]
    unit: str = "short"
    width: int = 8
    kind: str = "timeseries"
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A dashboard, whose file and id are called `name`; its rows have titles and panels."""

    name: str
    title: str
    rows: Mapping[str, Sequence[Panel]]
    by_game: bool = False


def stat(title: str, query: str, *, unit: str = "short", about: str = "") -> Panel:
    """Return a panel with one number."""
    return Panel(title=title, queries={"": query}, unit=unit, width=4, kind="stat", about=about)


def quantiles(name: str, by: str = "", where: str = "", only: Sequence[float] = (0.5, 0.95, 0.99)) -> dict[str, str]:
    """Return the queries of the quantiles of the histogram `name`, by the label `by`."""
    labels = f"{by}, le" if by else "le"
    rate = f"sum by ({labels}) (rate({name}_bucket{where}[$__rate_interval]))"
    legend = f"{{{{{by}}}}} " if by else ""
    return {f"{legend}p{q * 100:g}": f"histogram_quantile({q}, {rate})" for q in only}


def rate(name: str, by: str, where: str = "") -> dict[str, str]:
    """Return the query of how fast the counter `name` grows, by the labels `by`."""
    legend = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return {legend: f"sum by ({by}) (rate({name}{where}[$__rate_interval]))"}


def value(name: str, by: str, where: str = "") -> dict[str, str]:
    """Return the query of the gauge `name`, of which many processes may show the same, by the labels `by`."""
    legend = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    return {legend: f"max by ({by}) ({name}{where})"}


def of_process(expression: str) -> dict[str, str]:
    """Return the query of what a Python process tells of itself, with the name of the process."""
    joined = f"{expression} * on (job, instance) group_left (process) promontory_process_info"
    return {"{{process}} {{instance}}": joined}


CHOSEN = '{game=~"$game"}'

OVERVIEW = Dashboard(
    name="overview",
    title="Promontory: overview",
    rows={
        "Now": [
            stat("Alerts", 'count(ALERTS{alertstate="firing"}) or vector(0)'),
            stat("Open matches", "sum(max by (game, rules_version, data) (promontory_open_matches))", about="Hourly."),
            stat("Commands", "sum(rate(promontory_commands_total[$__rate_interval]))", unit="reqps"),
            stat(
                "Slowest of 100 commands",
                next(iter(quantiles("promontory_command_duration_seconds", only=(0.99,)).values())),
                unit="s",
                about="The goal is 50 ms.",
            ),
            stat("Most overdue", "max(promontory_oldest_obligation_seconds)", unit="s", about="The goal is 15 s."),
            stat("Tickets", "sum(max by (pool) (promontory_tickets_open))"),
        ],
        "Players": [
            Panel(title="Commands", queries=rate("promontory_commands_total", "game"), unit="reqps"),
            Panel(
                title="Time to answer a command, p99",
                queries=quantiles("promontory_command_duration_seconds", "game", only=(0.99,)),
                unit="s",
            ),
            Panel(title="Calls by code", queries=rate("promontory_rpcs_total", "code"), unit="reqps"),
            Panel(
                title="Refusals",
                queries={
                    "{{reason}}": "topk(10, sum by (reason) (rate(promontory_refusals_total[$__rate_interval])) > 0)"
                },
                unit="reqps",
                about="The ten most frequent reasons. Rules refuse a lot in normal play.",
            ),
            Panel(title="Limits reached", queries=rate("promontory_limits_reached_total", "limit"), unit="reqps"),
            Panel(title="Watchers", queries={"{{game}}": "sum by (game) (promontory_watchers)"}),
        ],
        "Matches": [
            Panel(title="Matches created", queries=rate("promontory_matches_created_total", "game"), unit="ops"),
            Panel(title="Matches closed", queries=rate("promontory_matches_closed_total", "game"), unit="ops"),
            Panel(title="Oldest obligation", queries=value("promontory_oldest_obligation_seconds", "game"), unit="s"),
        ],
        "Processes": [
            Panel(
                title="Processes",
                queries={
                    "{{process}} {{version}}": "count by (process, version) (promontory_build_info"
                    " * on (job, instance) group_left (process) promontory_process_info)"
                },
            ),
            Panel(
                title="CPU", queries=of_process("rate(process_cpu_seconds_total[$__rate_interval])"), unit="percentunit"
            ),
            Panel(title="Memory", queries=of_process("process_resident_memory_bytes"), unit="bytes"),
            Panel(title="Open files", queries=of_process("process_open_fds")),
            Panel(title="Age", queries=of_process("(time() - process_start_time_seconds)"), unit="s"),
            Panel(
                title="Alerts",
                queries={"": 'ALERTS{alertstate=~"firing|pending"}'},
                kind="table",
                about="Each has a page below docs/runbooks.",
            ),
        ],
    },
)

GAMES = Dashboard(
    name="games",
    title="Promontory: games",
    by_game=True,
    rows={
        "Commands": [
            Panel(title="Commands", queries=rate("promontory_commands_total", "game, command", CHOSEN), unit="reqps"),
            Panel(title="Outcomes", queries=rate("promontory_commands_total", "game, outcome", CHOSEN), unit="reqps"),
            Panel(
                title="Time to answer",
                queries=quantiles("promontory_command_duration_seconds", "game", CHOSEN),
                unit="s",
                about="From a submission's arrival to its answer.",
            ),
            Panel(
                title="Commits that came second",
                queries=rate("promontory_append_conflicts_total", "game", CHOSEN),
                unit="ops",
            ),
            Panel(
                title="Calls",
                queries={"{{method}}": "sum by (method) (rate(promontory_rpcs_total[$__rate_interval]))"},
                unit="reqps",
                about="Of all services.",
            ),
            Panel(
                title="Time to serve a call, p99",
                queries=quantiles("promontory_rpc_duration_seconds", "method", only=(0.99,)),
                unit="s",
                about="Of all services; streams last as long as somebody watches.",
            ),
        ],
        "Matches": [
            Panel(title="Created", queries=rate("promontory_matches_created_total", "game", CHOSEN), unit="ops"),
            Panel(title="Closed", queries=rate("promontory_matches_closed_total", "game, reason", CHOSEN), unit="ops"),
            Panel(
                title="Open, by rules and data",
                queries=value("promontory_open_matches", "game, rules_version, data", CHOSEN),
                about="Counted at the start of a rules service and every hour.",
            ),
            Panel(
                title="Open, but not served",
                queries=value("promontory_unserved_matches", "game", CHOSEN),
                about="Their rules or data are missing.",
            ),
            Panel(title="Watchers", queries={"{{game}}": f"sum by (game) (promontory_watchers{CHOSEN})"}),
            Panel(
                title="House bots' thinking, p99",
                queries={
                    "{{game}} {{policy}}": "histogram_quantile(0.99, sum by (game, policy, le) "
                    f"(rate(promontory_bot_decision_duration_seconds_bucket{CHOSEN}[$__rate_interval])))"
                },
                unit="s",
            ),
        ],
    },
)

QUEUES = Dashboard(
    name="queues",
    title="Promontory: queues and bots",
    rows={
        "Tickets": [
            Panel(title="Waiting", queries=value("promontory_tickets_open", "pool")),
            Panel(title="Longest wait now", queries=value("promontory_oldest_ticket_seconds", "pool"), unit="s"),
            Panel(
                title="Wait for a match, p95",
                queries=quantiles("promontory_ticket_wait_seconds", "pool", only=(0.95,)),
                unit="s",
            ),
            Panel(title="Tickets", queries=rate("promontory_tickets_total", "event"), unit="ops"),
            Panel(title="Proposed matches", queries=rate("promontory_proposals_total", "game, outcome"), unit="ops"),
            Panel(title="Tallies", queries=rate("promontory_tallies_total", "outcome"), unit="ops"),
        ],
        "Obligations": [
            Panel(title="Due", queries=value("promontory_obligations_due", "game")),
            Panel(title="Most overdue", queries=value("promontory_oldest_obligation_seconds", "game"), unit="s"),
            Panel(title="Handed out", queries=rate("promontory_obligations_total", "kind, outcome"), unit="ops"),
            Panel(
                title="Since the last sweep",
                queries={"": "time() - max(promontory_last_sweep_timestamp_seconds)"},
                unit="s",
                about="A relay looks through all buckets once a second.",
            ),
            Panel(title="Pauses of the relay", queries=rate("promontory_relay_pauses_total", "cause"), unit="ops"),
            Panel(title="Tasks that wait", queries=value("promontory_tasks_queued", "queue")),
        ],
        "Workers": [
            Panel(title="Tasks", queries=rate("promontory_tasks_total", "task, outcome"), unit="ops"),
            Panel(
                title="Time of a task, p95",
                queries=quantiles("promontory_task_duration_seconds", "task", only=(0.95,)),
                unit="s",
            ),
            Panel(
                title="Tasks under way",
                queries={"": "sum(rate(promontory_task_duration_seconds_sum[$__rate_interval]))"},
                about="How many tasks run at a time on average; a worker does PROMONTORY_OVERLAP of them.",
            ),
        ],
    },
)

EVENT_LOG = Dashboard(
    name="event-log",
    title="Promontory: event log and archive",
    rows={
        "Appends": [
            Panel(title="Commits", queries=rate("promontory_appends_total", "outcome"), unit="ops"),
            Panel(
                title="Events",
                queries={"": "sum(rate(promontory_appended_events_total[$__rate_interval]))"},
                unit="ops",
            ),
            Panel(title="Time of an append", queries=quantiles("promontory_append_duration_seconds"), unit="s"),
            Panel(title="Conflicts", queries=rate("promontory_append_conflicts_total", "game"), unit="ops"),
            Panel(
                title="Lost what was read",
                queries={"{{kind}}": "sum by (kind) (increase(promontory_log_rewinds_total[10m]))"},
                about="How often processes found a log without commits that they had read there.",
            ),
            Panel(
                title="Refusals for the log",
                queries=rate(
                    "promontory_refusals_total",
                    "reason",
                    '{reason=~"EVENT_LOG_UNAVAILABLE|LOG_CORRUPT|CLOCK_SKEWED|ARCHIVE_.*"}',
                ),
                unit="reqps",
            ),
        ],
        "The server": [
            Panel(
                title="Memory",
                queries={
                    "used": "max(promontory_log_memory_bytes)",
                    "limit": "max(promontory_log_memory_limit_bytes) > 0",
                },
                unit="bytes",
                about="Of the fullest primary. When the limit is reached, commands are refused.",
            ),
            Panel(
                title="Kept on disk",
                queries={"": "min(promontory_log_persists)"},
                about="1: the last write of the append-only file succeeded.",
            ),
        ],
        "Archive": [
            Panel(title="Archived", queries=rate("promontory_archivings_total", "game, outcome"), unit="ops"),
            Panel(title="Matches that wait", queries=value("promontory_matches_to_archive", "game")),
            Panel(
                title="Longest wait",
                queries={
                    **value("promontory_oldest_match_to_archive_seconds", "game"),
                    "after so long they are archived": "max(promontory_archive_after_seconds)",
                },
                unit="s",
            ),
            Panel(title="Read", queries=rate("promontory_archive_reads_total", "outcome"), unit="ops"),
            Panel(
                title="Bytes", queries={"": "sum(rate(promontory_archived_bytes_total[$__rate_interval]))"}, unit="Bps"
            ),
        ],
    },
)

DASHBOARDS = (OVERVIEW, GAMES, QUEUES, EVENT_LOG)


def rendered(dashboard: Dashboard) -> str:
    """Return a dashboard as Grafana reads it."""
    model: Json = {
        "uid": f"promontory-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["promontory"],
        "schemaVersion": GRAFANA_SCHEMA,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [
            {"type": "dashboards", "tags": ["promontory"], "asDropdown": True, "title": "Promontory", "keepTime": True}
        ],
        "templating": {"list": list(_variables(dashboard))},
        "panels": list(_panels(dashboard)),
    }
    return json.dumps(model, indent=2) + "\n"


def _variables(dashboard: Dashboard) -> Iterator[Json]:
    yield {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    if dashboard.by_game:
        query = "label_values(promontory_archive_after_seconds, game)"
        yield {
            "name": "game",
            "label": "Game",
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": query, "refId": "game"},
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }


def _panels(dashboard: Dashboard) -> Iterator[Json]:
    number, y = 0, 0
    for title, panels in dashboard.rows.items():
        number += 1
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": _place(0, y, COLUMNS, 1)}
        x, y, height = 0, y + 1, 0
        for panel in panels:
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            number, height = number + 1, max(height, HEIGHTS[panel.kind])
            yield {"id": number, **_panel(panel), "gridPos": _place(x, y, panel.width, HEIGHTS[panel.kind])}
            x += panel.width
        y += height


def _place(x: int, y: int, width: int, height: int) -> Json:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel) -> Json:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "targets": [_target(at, legend, query, panel) for at, (legend, query) in enumerate(panel.queries.items())],
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"showLegend": any(panel.queries)}} if panel.kind == "timeseries" else {},
    }


def _target(at: int, legend: str, query: str, panel: Panel) -> Json:
    only_now = panel.kind == "table"
    shape = {"format": "table", "instant": True, "range": False} if only_now else {"range": True}
    return {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": query, "legendFormat": legend, **shape}


def differences() -> list[str]:
    """Return the names of the files that are not what the description gives, or that nothing describes."""
    wanted = {f"{each.name}.json": rendered(each) for each in DASHBOARDS}
    found = {file.name: file.read_text("utf-8") for file in FOLDER.glob("*.json")}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def main(arguments: Sequence[str]) -> int:
    """Write the dashboards, or say which are not current."""
    if list(arguments) == ["write"]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for each in DASHBOARDS:
            (FOLDER / f"{each.name}.json").write_text(rendered(each), "utf-8")
        return 0
    stale = differences()
    print("".join(f"{FOLDER.name}/{name} is not current: make dashboards\n" for name in stale), end="")  # noqa: T201
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
