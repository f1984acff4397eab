"""What docs/operators.md has people install is rendered, and its servers' users may do what is needed and no more.

For `make chart-check`.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from promontory.eventlog.redis_server import connect
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.settings import inherited
from tests.deploy.charting import CHART, NAMESPACE, RELEASE, Document, main_container, of_kind, pods, run_helm
from tests.deploy.running import free_ports
from tests.deploy.test_operators_page import PAGE, PRODUCTION, RECORDER, blocks
from tests.house.source import ROOT
from tests.support.players import play_while
from tests.support.pools import POOLS_FILE
from tests.support.process_logs import log_faults

USERS = [line.split() for block in blocks("Security checklist", "") for line in block.splitlines()]
PLAY_SECONDS = 10
LIMIT = {"maxmemory": "64mb"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, ...]:
    """Render the chart with the page's values."""
    values = tmp_path_factory.mktemp("values") / "production.yaml"
    values.write_text(PRODUCTION, "utf-8")
    done = run_helm("template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values)
    assert done.returncode == 0, done.stderr
    return tuple(document for document in yaml.safe_load_all(done.stdout) if document)


def test_nothing_is_wanted_that_the_commands_do_not_make(installed: tuple[Document, ...]) -> None:
    """Every Secret that a pod or the edge refers to, in whichever way."""
    specs = yaml.safe_dump([pod["spec"] for pod in pods(installed).values()])
    made = {"redis", "archive", "edge-tls", "players", "services", "seal", "admin", "matchmaking", "relay", "workers"}
    assert set(re.findall(r"[nN]ame: (promontory-[a-z-]+)", specs)) == {f"promontory-{name}" for name in made}


def test_what_the_page_looks_into_is_there(installed: tuple[Document, ...]) -> None:
    named = set(re.findall(rf"deploy/{RELEASE}-promontory-([a-z-]+)", PAGE))
    assert named
    assert named - of_kind(installed, "Deployment").keys() == set()


UPGRADE = re.findall(
    r"^```console\n(.*?)^```", (ROOT / "docs" / "upgrades.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
KUBECTL = """#!/bin/sh
case "$*" in *" get "*) cat deployment.json;; *" create "*) cat > pod.json;; esac
"""


def type_(block: str, home: Path, **programs: str) -> None:
    """Run what a page has people type in `home`, with `programs` in place of their own."""
    for name, text in programs.items():
        (home / name).write_text(text, "ascii")
        (home / name).chmod(0o755)
    typed = re.sub(r"^[$>] ", "", block, flags=re.MULTILINE)
    subprocess.run(["/bin/bash", "-euc", typed], cwd=home, env={"PATH": f"{home}:/usr/bin:/bin"}, check=True)


@pytest.mark.skipif(shutil.which("jq") is None, reason="NOT checked: install jq")
def test_versions_are_counted_with_the_new_image_and_the_settings_of_the_old(
    installed: tuple[Document, ...], tmp_path: Path
) -> None:
    """[docs/upgrades.md] In a copy of the admin's pod."""
    deployment = of_kind(installed, "Deployment")["admin"]
    (tmp_path / "deployment.json").write_text(json.dumps(deployment), "utf-8")
    type_(UPGRADE[0], tmp_path, kubectl=KUBECTL)
    made = json.loads((tmp_path / "pod.json").read_text("utf-8"))
    before, after = main_container(deployment["spec"]["template"]), main_container(made)
    kept = ("command", "env", "securityContext", "volumeMounts", "resources")
    assert [after[key] for key in kept] == [before[key] for key in kept]
    assert (after["image"], after["args"]) == ("registry.example.org/promontory:0.2.0", ["versions"])
    assert [key for key in after if key.endswith("Probe")] == []
    assert (made["kind"], made["spec"]["restartPolicy"]) == ("Pod", "Never")


def test_an_upgrade_in_steps_takes_one_kind_after_the_other(tmp_path: Path) -> None:
    """[docs/upgrades.md] In the order of the page, each with what came before; workers come with the chart itself."""
    type_(UPGRADE[1], tmp_path, helm=RECORDER, git="#!/bin/sh\n")
    *steps, last = [line.rstrip("\0").split("\0") for line in (tmp_path / "typed").read_text("utf-8").splitlines()]
    values = tmp_path / "production.yaml"
    values.write_text(PRODUCTION, "utf-8")
    newer = []
    for step in steps:
        done = run_helm("template", RELEASE, CHART, "--values", values, "--set-string", step[-1])
        assert done.returncode == 0, done.stderr
        found = pods(tuple(document for document in yaml.safe_load_all(done.stdout) if document))
        newer.append({kind_of(pod) for pod in found.values() if ":0.2.0" in pod["spec"]["containers"][0]["image"]})
    assert [len(kinds) for kinds in newer] == [3, 4, 5, 6]
    assert newer[-1] == {"functions", "test", "rules", "scoring", "matchmaking", "relay"}
    assert "--set-string" not in last


def kind_of(pod: Document) -> str:
    """Return the kind of what a pod runs."""
    kind: str = pod["metadata"]["labels"]["promontory/kind"]
    return kind


class Installation(Platform):
    """A platform whose functions were loaded by another user than its own."""

    loader_url = ""

    def _run_to_end(self, name: str, command: str) -> None:
        environ = {**inherited(), "PROMONTORY_REDIS_URL": self.loader_url}
        subprocess.run([sys.executable, "-m", "promontory", command], env=environ, check=True, capture_output=True)


async def add_users(url: str) -> None:
    """Make the users of the page on a server."""
    async with connect(url) as connections:
        for _, *user in USERS:
            await connections.commands.execute_command("ACL", "SETUSER", *user)


async def refused(url: str) -> set[str]:
    """Return the commands that a server refused somebody who had no right to them."""
    async with connect(url) as connections:
        redis: Any = connections.commands
        stats = await redis.info("commandstats")
    return {name.removeprefix("cmdstat_") for name, each in stats.items() if each["rejected_calls"]}


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[EmbeddedServer, EmbeddedServer, list[int]]]:
    """The log's server and the broker, with the page's users, and their ports."""
    ports = free_ports(2)
    with (
        EmbeddedServer(tmp_path / "log", port=ports[0], settings=LIMIT) as log,
        EmbeddedServer(tmp_path / "broker", port=ports[1]) as broker,
    ):
        for server in (log, broker):
            asyncio.run(add_users(server.url))
        yield log, broker, ports


def test_the_servers_users_have_the_rights_they_need(
    servers: tuple[EmbeddedServer, EmbeddedServer, list[int]], tmp_path: Path
) -> None:
    """All processes, each as the user it is told to be: matches are played, tallied and archived, and all is well.

    So are backups, by their own user.
    """
    log, broker, ports = servers
    settings = {
        "PROMONTORY_BROKER_URL": f"redis://broker:SECRET@127.0.0.1:{ports[1]}/0",
        "PROMONTORY_ARCHIVE_URL": (tmp_path / "archive").as_uri(),
        "PROMONTORY_ARCHIVE_AFTER_SECONDS": "1",
        "PROMONTORY_POOLS_FILE": str(POOLS_FILE),
    }
    url = f"redis://promontory:SECRET@127.0.0.1:{ports[0]}/0"
    platform = Installation(tmp_path / "platform", redis_url=url, settings=settings)
    platform.loader_url = url.replace("promontory", "loader")
    with platform:
        journal = asyncio.run(play_while(asyncio.sleep(PLAY_SECONDS), platform, players=6))
        write_connection(platform)
        examined = subprocess.run(
            [sys.executable, "-m", "promontory", "admin", "doctor", "--data-dir", platform.directory],
            env={**inherited(), **settings, "PROMONTORY_REDIS_URL": url},
            check=False,
            capture_output=True,
            text=True,
        )
        saved = subprocess.run(
            [sys.executable, "-m", "promontory", "backup", tmp_path / "backup"],
            env={**inherited(), **settings, "PROMONTORY_REDIS_URL": url.replace("promontory", "backup")},
            check=False,
            capture_output=True,
            text=True,
        )
    assert journal.ended
    assert saved.returncode == 0, saved.stdout + saved.stderr
    assert examined.returncode == 0, examined.stdout + examined.stderr
    assert [*journal.failed, *log_faults(platform.directory / "logs")] == []
    assert [asyncio.run(refused(server.url)) for server in (log, broker)] == [set(), set()]
