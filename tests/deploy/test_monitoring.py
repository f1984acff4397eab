"""Alerts, dashboards and runbooks fit the rest of the tree. What needs Prometheus is for `make monitoring-check`."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import yaml

from promontory.cli import parser
from tests.deploy.monitored import (
    ALERTS,
    RECORDED,
    RULE_FILES,
    RUNBOOKS,
    TEST_FILES,
    Query,
    metric,
    panel_queries,
    selectors,
)
from tests.deploy.monitored import rule_queries as queries_of_rules
from tests.house.source import ROOT
from tests.house.test_metrics import METRICS
from tools import dashboards

OBSERVABILITY = (ROOT / "docs" / "observability.md").read_text("utf-8")
QUERIES = [*panel_queries(), *queries_of_rules()]
NAMES = [rule["alert"] for rule in ALERTS]
KNOWN = {each.name for each in METRICS} | {rule["record"] for rule in RECORDED}
FOREIGN = {
    *("up", "process_cpu_seconds_total", "process_resident_memory_bytes"),
    *("process_open_fds", "process_start_time_seconds"),
}
"""What Prometheus and its client library tell of every process."""


def cell_names(heading: str) -> list[str]:
    """Return what stands in backquotes in the first cells of the table below `heading` in docs/observability.md."""
    section = OBSERVABILITY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| \[?`([\w:]+)", section, re.MULTILINE)


def test_the_dashboards_are_what_their_description_gives() -> None:
    """If one has changed: `make dashboards`."""
    assert dashboards.differences() == []


@pytest.mark.parametrize("query", QUERIES, ids=[query.place for query in QUERIES])
def test_a_query_names_metrics_that_there_are(query: Query) -> None:
    """[event_log R28] A misspelt name would be silent for ever."""
    assert {metric(each) for each in selectors(query.expression)} - KNOWN - FOREIGN == set()


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_an_alert_says_how_bad_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks/{rule['alert']}.md"


def test_each_alert_has_a_page_of_its_own() -> None:
    assert sorted(file.stem for file in RUNBOOKS.glob("*.md")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_it_means_who_suffers_where_to_look_and_what_to_do(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text("utf-8")
    assert re.findall(r"^#+ (.*)", text, re.MULTILINE) == [name, "What it means", "Who suffers", "Look at", "Do"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_pages_and_metrics_that_there_are(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text("utf-8")
    assert set(re.findall(r"`(\w+)\.md`", text)) - set(NAMES) == set()
    assert {metric(each) for each in re.findall(r"promontory_[a-z_]+", text)} - KNOWN == set()


TYPED = sorted(
    {
        (file.stem, " ".join(command.split()))
        for file in RUNBOOKS.glob("*.md")
        for command in re.findall(r"`promontory\s([^`]+)`", file.read_text("utf-8"))
    }
)
"""What pages have people type, by page."""


@pytest.mark.parametrize(("name", "command"), TYPED)
def test_a_command_of_a_page_is_one(name: str, command: str) -> None:
    parser().parse_args(shlex.split(command))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_reads_no_key_of_the_log_by_hand(name: str) -> None:
    """[docs/admin.md] `promontory admin` shows what is owed and how a match stands, and needs no server's password."""
    text = (RUNBOOKS / f"{name}.md").read_text("utf-8")
    assert re.findall(r"\b(?:XRANGE|ZRANGE|HGETALL|HGET|LRANGE|SMEMBERS|redis-cli -u)\b", text) == []


def test_each_alert_is_tested_to_fire_and_to_be_silent() -> None:
    """[event_log R28] `promtool test rules` runs these in `make monitoring-check`."""
    tests = [test for file in TEST_FILES for test in yaml.safe_load(file.read_text("utf-8"))["tests"]]
    assert {test["name"].partition(":")[0] for test in tests} - {"In calm no alert fires"} == set(NAMES)
    assert [file.stem.removesuffix("_test") for file in TEST_FILES] == [file.stem for file in RULE_FILES]


def test_the_documentation_lists_every_metric() -> None:
    assert sorted(cell_names("Metrics")) == sorted(each.name for each in METRICS)


@pytest.mark.parametrize("found", METRICS, ids=[each.name for each in METRICS])
def test_the_documentation_tells_a_metric_s_labels_and_type(found: Any) -> None:
    (row,) = re.findall(rf"^\| `{found.name}` \|.*", OBSERVABILITY, re.MULTILINE)
    _, _, labels, kind, *_ = row.split("|")
    assert (re.findall(r"`(\w+)`", labels), kind.strip()) == (list(found.labels), found.kind.lower())


def test_the_documentation_lists_every_alert() -> None:
    assert sorted(cell_names("Alerts")) == sorted(NAMES)


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_the_documentation_tells_how_bad_an_alert_is_and_leads_to_its_page(rule: dict[str, Any]) -> None:
    name, severity, after = rule["alert"], rule["labels"]["severity"], rule.get("for", "at once")
    assert f"\n| [`{name}`](runbooks/{name}.md) | {severity} | {after} | " in OBSERVABILITY
