"""deploy/compose.yaml fits the rest of the tree. `make compose-test` runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from promontory import __version__
from promontory.cli import parser
from promontory.games.registry import GAMES
from promontory.runtime import settings
from promontory.runtime.broker import QUEUES
from tests.house.source import ROOT
from tools.chart_schema import PROCESSES

DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
IMAGE = f"promontory:{__version__}"
OURS = [name for name, service in SERVICES.items() if service["image"] == IMAGE]
ONCE = ["functions", "keys"]
STAYING = sorted(SERVICES.keys() - set(ONCE))
SCRAPES = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "docker" / "Dockerfile").read_text("utf-8")


def kind_of(name: str) -> type[settings.ProcessSettings]:
    """Return what a service reads; those that run once read what all do."""
    return {**PROCESSES, "admin": settings.AdminSettings}.get(name.partition("-")[0], settings.ProcessSettings)


def test_every_process_runs_in_the_image_of_this_release() -> None:
    assert {IMAGE, "valkey/valkey:9.1"} == {
        service["image"] for name, service in SERVICES.items() if name not in ("prometheus", "grafana")
    }


def test_every_game_and_every_queue_has_its_service() -> None:
    games = {command[-1] for command in (SERVICES[name]["command"] for name in OURS) if "--game" in command}
    assert games == {game.name for game in GAMES}
    assert {name.removeprefix("workers-") for name in OURS if name.startswith("workers-")} == set(QUEUES)
    named = settings.targets(SERVICES["relay"]["environment"]["PROMONTORY_RULES_TARGETS"])
    assert {target.partition(":")[0] for target in named.values()} <= SERVICES.keys()
    assert named.keys() == games


def test_every_network_that_is_named_is_declared() -> None:
    """Docker knows `default` anyhow; others that read the file do not."""
    named = {network for service in SERVICES.values() for network in service.get("networks", ())}
    assert named == COMPOSE["networks"].keys()


@pytest.mark.parametrize("name", OURS)
def test_a_process_takes_its_command_and_its_settings(name: str) -> None:
    """Nothing is set that nobody reads, and nothing that this process does not read."""
    parser().parse_args(SERVICES[name]["command"])
    given = SERVICES[name].get("environment", {})
    settings.load(kind_of(name), given)
    assert [key for key in given if not hasattr(kind_of(name), key.removeprefix("PROMONTORY_").lower())] == []


@pytest.mark.parametrize("name", OURS)
def test_every_file_a_process_is_told_of_is_on_a_volume(name: str) -> None:
    mounts = [volume.split(":")[1] for volume in SERVICES[name].get("volumes", [])]
    told = re.findall(r"/var/lib/[\w./-]+", " ".join(SERVICES[name].get("environment", {}).values()))
    assert [path for path in told if not any(path.startswith(mount) for mount in mounts)] == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_may_do_no_more_than_it_must(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "pids_limit", "logging"} <= service.keys()


@pytest.mark.parametrize("name", STAYING)
def test_whatever_stays_has_a_health_check_and_is_started_again(name: str) -> None:
    """The processes' own is in the image."""
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert name in OURS or service["healthcheck"]["test"]
    assert 'HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["promontory", "health"]' in (
        DOCKERFILE
    )


def test_nothing_is_published_but_to_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []
    assert len({port.split(":")[1] for port in ports}) == len(ports)


def test_the_stores_are_reached_by_the_processes_only() -> None:
    assert COMPOSE["networks"]["stores"] == {"internal": True}
    assert [SERVICES[name]["networks"] for name in ("valkey", "broker")] == [["stores"]] * 2
    assert {name for name, service in SERVICES.items() if "stores" in service.get("networks", [])} == (
        {*OURS, "valkey", "broker"} - {"keys"}
    )


def test_prometheus_scrapes_every_process() -> None:
    (job,) = [job for job in SCRAPES["scrape_configs"] if job["job_name"] == "promontory"]
    (found,) = job["dns_sd_configs"]
    assert sorted(found["names"]) == sorted(set(OURS) - set(ONCE))
    assert f"EXPOSE 7401 {found['port']}" in DOCKERFILE


@pytest.mark.parametrize("name", ["prometheus", "grafana", "valkey"])
def test_every_file_that_is_mounted_is_there(name: str) -> None:
    files = [volume.split(":")[0] for volume in SERVICES[name]["volumes"] if volume.startswith("./")]
    assert [file for file in files if not (DEPLOY / Path(file)).exists()] == []


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text("utf-8"))["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "promontory.yaml").read_text("utf-8"))["providers"]
    assert source["url"] == "http://prometheus:9090"
    mounted = dict(volume.split(":")[:2] for volume in SERVICES["grafana"]["volumes"])
    assert mounted["./grafana/dashboards"] == provider["options"]["path"]


def test_the_image_holds_no_more_than_the_tree_gives_it() -> None:
    """What is copied into it is what .dockerignore lets through."""
    ignore = (ROOT / ".dockerignore").read_text("utf-8").split("\n")
    let_through = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copied = {
        path for sources in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for path in sources.split()
    }
    assert copied == let_through
    assert ignore[1] == "*"
