"""A trial, without its cluster: every process as its pod starts it, the edge, and a match. For `make chart-check`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from promontory.client.bot_command import new
from promontory.local.keys import SIGNING, KeyRing, create_installation
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.settings import inherited
from tests.deploy.charting import main_container, of_kind, rendered
from tests.deploy.running import Edge, Installation, fetch, free_ports, running_edge, until
from tests.support.pools import POOLS_FILE

OWN_KEYS = [argument for name in SIGNING for argument in ("--set", f"keys.{name}.secretName=promontory-{name}")]
PLAYING = ("--set", "test.token.secretName=promontory-tester,test.pool=transcontinental.ranked")
VALUES = ("trial", "--set-file", f"matchmaking.pools={POOLS_FILE}", *OWN_KEYS, *PLAYING)
"""The trial, with each service's own key in a Secret of its own, pools whose house bots do not wait long, and a test
that plays."""


class Running(NamedTuple):
    """A trial that runs, its processes, its edge, and a directory with tokens: of Ada, a player, and Olga, an admin."""

    installation: Installation
    processes: dict[str, subprocess.Popen[bytes]]
    edge: Edge
    home: Path


def secrets(folder: Path) -> dict[str, dict[str, str]]:
    """Make keys and tokens in `folder`, and return the Secrets that hold them."""
    create_installation(folder, with_players=True)
    ring = KeyRing(folder)
    (folder / "ada.token").write_text(ring.player_token("ada"), "utf-8")
    (folder / "olga.token").write_text(ring.admin_token("olga"), "utf-8")
    shared = {
        name: (folder / name).read_text("utf-8") for name in ("players.jwks.json", "services.jwks.json", "seal.key")
    }
    own = {name: (folder / name / "service.key.json").read_text("utf-8") for name in SIGNING}
    signing = {f"promontory-{name}": {"service.key.json": key} for name, key in own.items()}
    return signing | {"promontory-keys": shared, "promontory-tester": {"token": ring.player_token("tess")}}


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
            metrics = [f"http://127.0.0.1:{ports[1]}/metrics" for ports in installation.ports.values()]
            until(lambda: all(map(fetch, metrics)), seconds=90)
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


def told(trial: Running, *arguments: str | Path) -> Any:
    """Run a command of `promontory` and return the JSON that it prints."""
    command = [Path(sys.executable).with_name("promontory"), *arguments, "--json"]
    done = subprocess.run(command, env=inherited(), capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr + trial.installation.log("matchmaking")[-2000:]
    return json.loads(done.stdout)


def as_ada(trial: Running) -> tuple[str | Path, ...]:
    """Return the options by which a player reaches the trial: through the edge."""
    return "--endpoints", f"127.0.0.1:{trial.edge.calls}", "--token-file", trial.home / "ada.token"


def test_the_test_of_a_release_plays_a_match(trial: Running) -> None:
    """`helm test`: the containers of its pod, which asks all services and plays through the edge."""
    pod = of_kind(rendered(*VALUES), "Pod")["test"]
    done = list(trial.installation.run_once("test", pod, trial.edge))
    assert [each.stderr for each in done if each.returncode] == []
    assert len(done) == 2 + len(trial.installation.ports) - len(("admin", "relay", "bots", "tallies"))
    assert "transcontinental.ranked" in done[-1].stdout


def test_a_bot_plays_a_match_of_three_through_the_edge(trial: Running) -> None:
    """From the ticket to the outcome, against house bots that the relay and the workers move."""
    new(trial.home / "bot.py", "pacific")
    played = told(trial, "bot", "run", trial.home / "bot.py", "--pool", "pacific.ranked.3", *as_ada(trial))
    assert len(played["matches"]) == 1


def test_an_admin_cancels_a_match_and_suspends_a_player(trial: Running) -> None:
    """[docs/admin.md] Rules and matchmaking take the admin service's own key; an admin comes by port-forward."""
    table = told(trial, "table", "create", "--game", "transcontinental", "--bot", "1=greedy", *as_ada(trial))
    port, _ = trial.installation.ports["admin"]
    who = ("--yes", "--reason", "tried", "--admin", f"127.0.0.1:{port}", "--token-file", trial.home / "olga.token")
    acts = [
        told(trial, "admin", "cancel", table["match_id"], *who),
        told(trial, "admin", "suspend", "eve", "--for", "1h", *who),
    ]
    assert [(act["admin_id"], act["state"]) for act in acts] == [("olga", "done")] * 2


def test_the_doctor_finds_nothing_broken(trial: Running) -> None:
    """[docs/kubernetes.md] In the admin service's pod, where it misses the processes' metrics: a risk, exit code 2."""
    done = trial.installation.execute("admin", "promontory", "admin", "doctor")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no process's metrics are known" in done.stdout


def test_every_pod_ends_within_its_grace(trial: Running) -> None:
    """The last test here: nothing is killed that was told to stop."""
    graces = [pod["spec"]["terminationGracePeriodSeconds"] for pod in trial.installation.pods.values()]
    deadline = time.monotonic() + min(graces)
    for process in trial.processes.values():
        process.terminate()
    codes = {name: process.wait(max(deadline - time.monotonic(), 0.1)) for name, process in trial.processes.items()}
    assert {name: code for name, code in codes.items() if code} == {}
