"""Prometheus and Alertmanager watch real processes under play. For `make monitoring-check`."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.local.platform import Platform
from tests.deploy.monitored import RULE_FILES, TEST_FILES, judged, panel_queries, rule_queries, selectors
from tests.deploy.prometheus import MISSING, PROGRAMS, Prometheus, Webhook, alertmanager, prometheus
from tests.deploy.running import fetch
from tests.deploy.test_monitoring import OBSERVABILITY
from tests.support.players import play_while
from tests.support.pools import POOLS_FILE
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"NOT checked: install {', '.join(MISSING)}")

PLAYERS = 6
SETTLED_SECONDS = 15
"""How long play goes on before it is looked at: long enough for every gauge to have been measured."""

EMPTY_IN_CALM = {
    'promontory_commands_total{outcome=~"unavailable|failed"}',
    "promontory_limits_reached_total",
    "promontory_append_conflicts_total",
    'promontory_append_conflicts_total{game=~".*"}',
    "max(promontory_log_memory_limit_bytes) > 0",
}
"""What gives series only when something goes wrong, or when the log's server has a limit."""

ALERTS_TABLE = 'overview: Alerts: ALERTS{alertstate=~"firing|pending"}'

SILENT = {"ProcessMissing", "WorkersDeaf", "CommandsFailing", "AppendConflicts", "LimitsReached"}
"""The alerts that have nothing to judge in calm."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with an archive that takes matches soon after their end."""
    directory = tmp_path_factory.mktemp("platform")
    settings = {
        "PROMONTORY_POOLS_FILE": str(POOLS_FILE),
        "PROMONTORY_DRAIN_SECONDS": "5",
        "PROMONTORY_ARCHIVE_URL": (directory / "archive").as_uri(),
        "PROMONTORY_ARCHIVE_AFTER_SECONDS": "1",
        "PROMONTORY_SURVEY_SECONDS": "2",
    }
    (directory / "archive").mkdir()
    with Platform(directory, settings=settings) as running:
        yield running


def targets(platform: Platform) -> list[str]:
    """Return the addresses of all processes' metrics."""
    return [ready.metrics for ready in platform.ready.values()]


@pytest.mark.parametrize("file", RULE_FILES, ids=[file.stem for file in RULE_FILES])
def test_promtool_takes_the_rules(file: Path) -> None:
    _promtool("check", "rules", str(file))


@pytest.mark.parametrize("file", TEST_FILES, ids=[file.stem for file in TEST_FILES])
def test_the_alerts_fire_and_are_silent_as_their_tests_say(file: Path) -> None:
    """[event_log R28] Every alert has at least one test of its own."""
    _promtool("test", "rules", str(file))


@pytest.mark.parametrize(
    ("heading", "command"),
    [
        ("Without the Prometheus Operator", ("promtool", "check", "config")),
        ("Having alerts delivered", ("amtool", "check-config")),
    ],
)
def test_what_the_page_has_people_configure_is_taken(heading: str, command: tuple[str, ...], tmp_path: Path) -> None:
    """[docs/observability.md] But for the looking into Kubernetes, which Debian's Prometheus is built without."""
    (text,) = re.findall(rf"^### {heading}\n.*?^```yaml\n(.*?)^```", OBSERVABILITY, re.MULTILINE | re.DOTALL)
    text = re.sub("kubernetes_sd_configs: .*", "static_configs: [{targets: [localhost]}]", text)
    (tmp_path / "configuration.yml").write_text(text, "utf-8")
    program, *arguments = command
    done = subprocess.run([str(PROGRAMS[program]), *arguments, tmp_path / "configuration.yml"], check=False)
    assert done.returncode == 0


@pytest.mark.timeout(240)
async def test_every_query_finds_series_and_no_alert_fires_in_calm(platform: Platform, tmp_path: Path) -> None:
    """[event_log R28] Of alerts: what they judge, and each series in it by itself."""

    async def look(found: Prometheus) -> None:
        await asyncio.sleep(SETTLED_SECONDS)
        await eventually(lambda: _archived(found), seconds=60)
        assert await asyncio.to_thread(_empty, found) == []
        assert await asyncio.to_thread(found.firing) == set()

    with prometheus(tmp_path, targets(platform)) as found:
        await play_while(look(found), platform, players=PLAYERS)


@pytest.mark.timeout(240)
async def test_a_worker_s_end_reaches_the_webhook_and_its_return_too(platform: Platform, tmp_path: Path) -> None:
    """[event_log R28] Alerts fire after a second here, else after half a minute."""

    async def stop_and_start(webhook: Webhook) -> None:
        platform.processes["worker-0"].terminate()
        await asyncio.to_thread(platform.processes["worker-0"].wait)
        await eventually(lambda: _told(webhook, "firing"), seconds=60)
        await asyncio.to_thread(platform.revive, "worker-0")
        await eventually(lambda: _told(webhook, "resolved"), seconds=60)

    with (
        Webhook() as webhook,
        alertmanager(tmp_path, webhook) as address,
        prometheus(tmp_path, targets(platform), tells=address, patience="1s") as found,
    ):
        await eventually(lambda: _sees_all(found, platform), seconds=30)
        await play_while(stop_and_start(webhook), platform, players=PLAYERS)
    assert webhook.seen["ProcessDown", "firing"]["labels"]["instance"] == platform.ready["worker-0"].metrics
    assert webhook.seen["ProcessMissing", "firing"]["labels"]["process"] == "worker"
    assert webhook.seen["ProcessMissing", "firing"]["annotations"]["summary"] == "No worker is running"


def test_promtool_finds_nothing_to_object_to_in_what_processes_show(platform: Platform) -> None:
    shown = {name: fetch(f"http://{ready.metrics}/metrics") for name, ready in platform.ready.items()}
    objections = {name: _objections(text) for name, text in shown.items()}
    assert {name: found for name, found in objections.items() if found} == {}


async def _archived(found: Prometheus) -> bool:
    wanted = 'sum(promontory_archivings_total{outcome="archived"}) > 0 and sum(promontory_tallies_total) > 0'
    return bool(await asyncio.to_thread(found.query, wanted))


async def _told(webhook: Webhook, status: str) -> bool:
    return {("ProcessDown", status), ("ProcessMissing", status)} <= webhook.seen.keys()


async def _sees_all(found: Prometheus, platform: Platform) -> bool:
    seen = await asyncio.to_thread(found.query, "promontory_process_info")
    return len(seen) == len(platform.ready)


def _empty(found: Prometheus) -> list[str]:
    """Return the queries that give no series, though nothing is wrong."""
    wanted = {f"{query.place}: {query.expression}": query.expression for query in panel_queries()}
    wanted |= {query.place: judged(query.expression) for query in rule_queries() if query.place not in SILENT}
    wanted |= {each: each for query in rule_queries() for each in selectors(query.expression)}
    spared = {place for place, query in wanted.items() if {query, *selectors(query)} & EMPTY_IN_CALM}
    return [place for place, query in wanted.items() if place not in spared | {ALERTS_TABLE} and not found.query(query)]


def _promtool(*arguments: str) -> None:
    done = subprocess.run([str(PROGRAMS["promtool"]), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _objections(text: str) -> str:
    command = [str(PROGRAMS["promtool"]), "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if line.startswith("promontory"))
