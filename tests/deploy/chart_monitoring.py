"""Alerts and dashboards are packed as they are, wherever they lie. For `make chart-check`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.deploy.charting import CHART, Document, rendered, run_helm, values_of
from tests.deploy.monitored import ALERTS

ALERT = """\
groups:
  - name: relay
    rules:
      - alert: ObligationsLate
        expr: max(promontory_oldest_obligation_seconds) > 30
        annotations: {summary: "{{ $labels.game }} is {{ $value }} s late"}
"""
TEST = "rule_files: [alerts.yml]\ntests: []\n"
DASHBOARD = '{"title": "Matches", "panels": [{"legendFormat": "{{game}}"}]}\n'
LARGEST_BYTES = 700_000
"""Kubernetes takes Secrets of 1 MiB, and Helm keeps the chart in one, compressed but in Base64."""


@pytest.fixture
def documents(tmp_path: Path) -> list[Document]:
    """What the chart makes of the production values with a rule file, its test, and a dashboard."""
    chart = shutil.copytree(CHART, tmp_path / "chart", symlinks=False)
    for name, text in {
        "prometheus/rules/alerts.yml": ALERT,
        "prometheus/rules/alerts_test.yml": TEST,
        "prometheus/prometheus.yml": "scrape_configs: []\n",
        "grafana/dashboards/matches_by_game.json": DASHBOARD,
    }.items():
        file = chart / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    done = run_helm("template", "northern", chart, "--values", values_of("production-sentinel"))
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def test_rules_keep_their_own_templates_and_nothing_else_is_taken_for_rules(documents: list[Document]) -> None:
    own = {each["metadata"]["name"]: each for each in documents if each["kind"] == "PrometheusRule"}
    packed = own["northern-promontory-alerts"]
    assert packed["spec"] == yaml.safe_load(ALERT)
    assert packed["metadata"]["labels"]["release"] == "prometheus"
    assert {"northern-promontory-alerts-test", "northern-promontory-prometheus"} & own.keys() == set()


def test_a_dashboard_is_found_by_its_label(documents: list[Document]) -> None:
    (packed,) = [each for each in documents if each["metadata"]["name"].endswith("-dashboard-matches-by-game")]
    assert packed["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert packed["data"] == {"matches_by_game.json": DASHBOARD}


def test_each_pod_is_scraped_once(documents: list[Document]) -> None:
    """Envoy has another path than the processes of ours."""
    monitors = [each["spec"] for each in documents if each["kind"] == "PodMonitor"]
    kinds = [(each["selector"]["matchExpressions"][0]["operator"], endpoint(each)) for each in monitors]
    assert sorted(kinds) == [("In", "/stats/prometheus"), ("NotIn", "/metrics")]


@pytest.mark.parametrize("named", ["", "nameOverride=games", "fullnameOverride=games"])
def test_a_job_has_the_name_that_the_alert_on_processes_goes_by(named: str) -> None:
    """[ProcessDown] The operator would call it by its namespace and the monitor, which may be called anything."""
    documents = rendered("production-sentinel", "--set", named)
    (alert,) = [rule for rule in ALERTS if rule["alert"] == "ProcessDown"]
    (wanted,) = re.findall(r'job=~"(.*?)"', alert["expr"])
    monitors = [each["spec"]["podMetricsEndpoints"][0] for each in documents if each["kind"] == "PodMonitor"]
    jobs = [each["replacement"] for own in monitors for each in own["relabelings"] if each["targetLabel"] == "job"]
    assert sorted(jobs) == ["promontory", "promontory-edge"]
    assert [job for job in jobs if not re.fullmatch(wanted, job)] == []


@pytest.mark.parametrize(
    ("base", "link"),
    [("", "docs/runbooks/{}.md"), ("https://git.example.org/runbooks/", "https://git.example.org/runbooks/{}.md")],
)
def test_an_alert_links_to_its_page_where_the_values_say_it_is(base: str, link: str) -> None:
    documents = rendered("production-sentinel", "--set", f"monitoring.rules.runbookBaseUrl={base}")
    packed = [each for each in documents if each["kind"] == "PrometheusRule"]
    rules = [rule for each in packed for group in each["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert {rule["alert"]: rule["annotations"]["runbook_url"] for rule in rules} == {
        rule["alert"]: link.format(rule["alert"]) for rule in ALERTS
    }


def endpoint(monitor: Document) -> str:
    (found,) = monitor["podMetricsEndpoints"]
    path: str = found["path"]
    return path


def test_a_release_of_the_chart_fits_into_a_secret(tmp_path: Path) -> None:
    done = run_helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (package,) = tmp_path.glob("*.tgz")
    assert package.stat().st_size < LARGEST_BYTES
