"""deploy/compose.yaml, run by a Docker of its own. For `make compose-test`.

Without Grafana, of which there is no package to make a stand-in of; its files are tried by `make monitoring-check`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promontory.client.bot_command import new
from tests.deploy.docker import Docker, running_docker
from tests.deploy.running import until
from tests.deploy.test_compose import ONCE, OURS, SERVICES
from tests.house.source import ROOT
from tools.image import IMAGE
from tools.stand_ins import PROMETHEUS, VALKEY, stand_in

FILE = ["--file", ROOT / "deploy" / "compose.yaml"]
RUNNING = sorted(SERVICES.keys() - {"grafana"})
PROMONTORY = Path(sys.executable).with_name("promontory")
ENDPOINTS = (
    "matchmaking=127.0.0.1:7401,scoring=127.0.0.1:7402,"
    "transcontinental=127.0.0.1:7411,pacific=127.0.0.1:7412,railroad_dice_2=127.0.0.1:7413"
)
"""As docs/image.md says."""

pytestmark = pytest.mark.timeout(600)


class Platform(NamedTuple):
    """What Compose runs, and a directory for a player's files."""

    engine: Docker
    home: Path

    def compose(self, *arguments: str | Path) -> str:
        """Run Compose on the file."""
        return self.engine.compose(*FILE, *arguments)

    def up(self) -> None:
        """Start everything, and wait until it is healthy."""
        self.compose("up", "--detach", "--wait", "--no-build", "--pull", "never", *RUNNING)

    def play(self, *arguments: str) -> Any:
        """Run a player's command on this machine, and return what it printed as JSON."""
        where = ["--endpoints", ENDPOINTS, "--token-file", self.home / "token", "--json"]
        return json.loads(self.engine.inside(PROMONTORY, *arguments, *where))

    def metrics(self, query: str) -> Any:
        """Return what Prometheus answers at a path of its API."""
        program = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())"
        url = f"http://127.0.0.1:9090/api/v1/{query}"
        return json.loads(self.engine.inside(sys.executable, "-c", program, url))["data"]

    def states(self) -> dict[str, dict[str, Any]]:
        """Return the state of each service's container."""
        found = [json.loads(line) for line in self.compose("ps", "--all", "--format", "json").splitlines()]
        return {each["Service"]: each for each in found}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Everything that the file has, up."""
    images = [IMAGE, stand_in(VALKEY), stand_in(PROMETHEUS)]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory,
        running_docker(Path(directory)) as engine,
    ):
        for image in images:
            engine.load(image, Path(directory))
        found = Platform(engine, tmp_path_factory.mktemp("player"))
        found.up()
        token = found.compose("run", "--rm", "-T", "--no-deps", "keys", "token", "--player", "ada", "--data-dir", ".")
        (found.home / "token").write_text(token, "utf-8")
        yield found
        found.compose("down", "--volumes")


def test_whatever_stays_is_healthy(platform: Platform) -> None:
    states = platform.states()
    assert {name: states[name]["Health"] for name in RUNNING if name not in ONCE} == {
        name: "healthy" for name in RUNNING if name not in ONCE
    }
    assert {states[name]["ExitCode"] for name in ONCE} == {0}


@pytest.mark.parametrize("pool", ["transcontinental.ranked", "railroad_dice_2.ranked.2"])
def test_a_match_is_played_from_the_machine_itself(platform: Platform, pool: str) -> None:
    bot = platform.home / f"{pool}.py"
    new(bot, pool.partition(".")[0])
    assert len(platform.play("bot", "run", str(bot), "--pool", pool)["matches"]) == 1


def test_prometheus_reads_every_process_and_every_rule(platform: Platform) -> None:
    def all_up() -> bool:
        targets = platform.metrics("targets?state=active")["activeTargets"]
        return {each["labels"].get("service") for each in targets if each["health"] == "up"} >= set(OURS) - set(ONCE)

    until(all_up, seconds=60)
    rules = [rule for group in platform.metrics("rules")["groups"] for rule in group["rules"]]
    assert rules
    assert [rule["name"] for rule in rules if rule["health"] == "err"] == []


def test_it_stops_by_itself_and_goes_on_where_it_was(platform: Platform) -> None:
    """Keys, logs and ratings are on volumes; nothing has to be killed."""
    before = platform.play("leaderboard", "--pool", "transcontinental.ranked")
    platform.compose("stop")
    codes = {name: state["ExitCode"] for name, state in platform.states().items() if name in OURS}
    assert {name: code for name, code in codes.items() if code} == {}
    platform.compose("down")
    platform.up()
    assert platform.play("leaderboard", "--pool", "transcontinental.ranked") == before
