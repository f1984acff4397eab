"""A trial, without its cluster: every process as its pod starts it, the edge, and a match. For `make chart-check`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from promontory.client.bot_command import new
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.identity import PLAYER_SCOPES, PLAYERS, create_key
from promontory.runtime.settings import inherited
from tests.deploy.charting import main_container, rendered
from tests.deploy.running import Edge, Installation, fetch, free_ports, running_edge, until
from tests.house.source import ROOT
from tests.support.pools import POOLS_FILE

SIGNING = ("matchmaking", "relay", "workers")
OWN_KEYS = [argument for name in SIGNING for argument in ("--set", f"keys.{name}.secretName=promontory-{name}")]
VALUES = ("trial", "--set-file", f"matchmaking.pools={POOLS_FILE}", *OWN_KEYS)
"""The trial, with each service's own key in a Secret of its own, and pools whose house bots do not wait long."""


class Running(NamedTuple):
    """A trial that runs, its processes, its edge, and a directory with a player's `token`."""

    installation: Installation
    processes: dict[str, subprocess.Popen[bytes]]
    edge: Edge
    home: Path


def secrets(folder: Path) -> dict[str, dict[str, str]]:
    """Make keys in `folder` as docs/kubernetes.md says, and return the Secrets that hold them."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "kubernetes.md").read_text("utf-8"), re.DOTALL)
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    players = create_key(PLAYERS, folder / "players.key.json", folder / "players.jwks.json")
    (folder / "token").write_text(players.mint("ada", PLAYER_SCOPES, life=timedelta(hours=1)), "utf-8")
    shared = {
        name: (folder / name).read_text("utf-8") for name in ("players.jwks.json", "services.jwks.json", "seal.key")
    }
    own = {name: (folder / name / "service.key.json").read_text("utf-8") for name in SIGNING}
    return {"promontory-keys": shared} | {f"promontory-{name}": {"service.key.json": key} for name, key in own.items()}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The trial, up and serving."""
    home, (port,) = tmp_path_factory.mktemp("trial"), free_ports(1)
    with EmbeddedServer(home / "valkey", port=port):
        installation = Installation(
            rendered(*VALUES), secrets(home), redis_url=f"redis://127.0.0.1:{port}/0", home=home
        )
        upstreams = {name: ports[0] for name, ports in installation.ports.items()}
        with (
            installation.running() as processes,
            running_edge(rendered(*VALUES), upstreams, home) as edge,
        ):
            until(lambda: all(fetch(f"http://127.0.0.1:{ports[1]}/metrics") for ports in installation.ports.values()))
            yield Running(installation, processes, edge, home)


def is_ready(trial: Running, name: str) -> bool:
    """Ask as the kubelet does."""
    probe = main_container(trial.installation.pods[name])["readinessProbe"]
    calls, metrics = trial.installation.ports[name]
    if "grpc" not in probe:
        return fetch(f"http://127.0.0.1:{metrics}{probe['httpGet']['path']}") != ""
    with grpc.insecure_channel(f"127.0.0.1:{calls}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(service=probe["grpc"]["service"]), timeout=5)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def test_every_pod_becomes_ready(trial: Running) -> None:
    assert {name for name in trial.processes if not is_ready(trial, name)} == set()


@pytest.mark.parametrize("pool", ["transcontinental.ranked", "pacific.ranked.3"])
def test_a_bot_plays_a_match_through_the_edge(trial: Running, pool: str) -> None:
    """From the ticket to the outcome, against house bots that the relay and the workers move."""
    bot = trial.home / f"{pool.partition('.')[0]}_bot.py"
    new(bot, pool.partition(".")[0])
    program = Path(sys.executable).with_name("promontory")
    where = ["--endpoints", f"127.0.0.1:{trial.edge.calls}", "--token-file", trial.home / "token"]
    done = subprocess.run(
        [program, "bot", "run", bot, "--pool", pool, "--json", *where],
        env=inherited(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr + trial.installation.log("matchmaking")[-2000:]
    assert len(json.loads(done.stdout)["matches"]) == 1


def test_every_pod_ends_within_its_grace(trial: Running) -> None:
    """The last test here: nothing is killed that was told to stop."""
    graces = [pod["spec"]["terminationGracePeriodSeconds"] for pod in trial.installation.pods.values()]
    deadline = time.monotonic() + min(graces)
    for process in trial.processes.values():
        process.terminate()
    codes = {name: process.wait(max(deadline - time.monotonic(), 0.1)) for name, process in trial.processes.items()}
    assert {name: code for name, code in codes.items() if code} == {}
