"""What docs/operators.md has people type and write fits the tree. What needs Helm is in `chart_operators.py`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from promontory import __version__
from promontory.cli import parser
from promontory.runtime.settings import ALL
from tests.deploy.charting import CHART
from tests.deploy.monitored import ALERTS
from tests.house.source import ROOT

PAGE = (ROOT / "docs" / "operators.md").read_text("utf-8")
FILES = ("players.jwks.json", "redis.env", "archive.env", "tls.crt", "tls.key", "production.yaml")
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
RECORDER = """#!/bin/sh
for word in "$(basename "$0")" "$@"; do printf '%s\\0' "$word" >> typed; done
printf '\\n' >> typed
"""


def section(heading: str) -> str:
    """Return what stands below a heading of the second level."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def blocks(heading: str, language: str) -> list[str]:
    """Return the blocks of a language below a heading."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section(heading), re.MULTILINE | re.DOTALL)


INSTALL = blocks("Install in ten commands", "console")[0]
(PRODUCTION,) = blocks("Install in ten commands", "yaml")
REDIS_KEYS = {line.partition("=")[0] for line in blocks("Install in ten commands", "")[0].splitlines()}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """Run the ten commands as they stand, among what they need; kubectl, Helm and others only write them down."""
    home = tmp_path_factory.mktemp("installation")
    for name in ("kubectl", "helm", "docker", "make"):
        (home / name).write_text(RECORDER, "ascii")
        (home / name).chmod(0o755)
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / ".venv" / "bin" / "promontory").symlink_to(Path(sys.executable).with_name("promontory"))
    (home / "deploy").symlink_to(ROOT / "deploy")
    for name in FILES:
        (home / name).write_text(PRODUCTION, "utf-8")
    program = re.sub(r"^[$>] ", "", INSTALL, flags=re.MULTILINE)
    environ = {"PATH": f"{home}:{home / '.venv' / 'bin'}:/usr/bin:/bin"}
    subprocess.run(["/bin/bash", "-euc", program], cwd=home, env=environ, check=True, capture_output=True)
    lines = (home / "typed").read_text("utf-8").splitlines()
    return home, [line.rstrip("\0").split("\0") for line in lines]


def test_there_are_ten_commands() -> None:
    assert len(re.findall(r"^\$ ", INSTALL, re.MULTILINE)) == 10


@pytest.mark.parametrize("name", ["redis.env", "archive.env", "tls.key", "token", "admin.token", "keys/seal.key"])
def test_git_ignores_the_secrets_that_lie_in_the_checkout(name: str) -> None:
    lines = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert [line for line in lines if fnmatch(f"/{name}", line) or f"/{name}".startswith(line)] != []


def test_the_files_are_told_of() -> None:
    assert [name for name in FILES if f"`{name}`" not in PAGE] == []


def secrets(typed: tuple[Path, list[list[str]]]) -> Iterator[tuple[str, str]]:
    """Yield the Secrets that were made, each with a key in it; those of files that are not there are none."""
    home, lines = typed
    for line in lines:
        if line[3:5] == ["create", "secret"]:
            for option, _, file in (word.partition("=") for word in line[7:]):
                assert (home / file).is_file()
                keys = {"--from-file": [Path(file).name], "--cert": ["tls.crt"], "--key": ["tls.key"]}
                yield from ((line[6], key) for key in keys.get(option, REDIS_KEYS if "redis" in line[6] else [""]))


def test_the_secrets_are_those_that_the_chart_wants(typed: tuple[Path, list[list[str]]]) -> None:
    """The defaults of `keys`, and what the page's own values refer to."""
    given = yaml.safe_load(PRODUCTION)
    servers = (given[name]["existingSecret"] for name in ("redis", "broker", "loadFunctions"))
    wanted = {(key["secretName"], key["key"]) for key in VALUES["keys"].values()}
    wanted |= {(server["name"], server["key"]) for server in servers}
    wanted |= {(given["archive"]["existingSecret"], "")}
    wanted |= {(given["edge"]["tls"]["secretName"], file) for file in ("tls.crt", "tls.key")}
    assert set(secrets(typed)) == wanted


def test_the_image_that_is_pushed_is_the_one_that_is_installed(typed: tuple[Path, list[list[str]]]) -> None:
    pushed = f"{yaml.safe_load(PRODUCTION)['image']['repository']}:{__version__}"
    docker = [line[1:] for line in typed[1] if line[0] == "docker"]
    assert docker == [["tag", f"promontory:{__version__}", pushed], ["push", pushed]]


def test_helm_gets_the_chart_and_the_values(typed: tuple[Path, list[list[str]]]) -> None:
    home, lines = typed
    install, test = (line[1:] for line in lines if line[0] == "helm")
    assert (home / install[2] / "Chart.yaml").is_file()
    assert (home / install[install.index("--values") + 1]).is_file()
    assert test[:2] == ["test", install[1]]


def test_make_has_what_is_named() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(
        re.findall(r"`make ([a-z-]+)`|^\$ make ([a-z-]+)|`((?:chart|image|compose|monitoring|ha)-[a-z]+)`", PAGE, re.M)
    )
    assert {name for names in named for name in names if name} - targets == set()


@pytest.mark.parametrize("command", re.findall(r"^\| `promontory (.*?)` \|", section("What runs"), re.MULTILINE))
def test_a_process_of_the_table_can_be_started(command: str) -> None:
    parser().parse_args(shlex.split(command.replace("GAME", "pacific")))


def test_alerts_that_are_named_are_alerts() -> None:
    named = set(re.findall(r"`((?:[A-Z][a-z]+){2,})`", PAGE))
    assert named - {rule["alert"] for rule in ALERTS} == set()


def test_settings_that_are_named_are_settings() -> None:
    named = set(re.findall(r"`(?:PROMONTORY_)?((?:[A-Z]+_)+[A-Z]+|REFLECTION)[`=]", PAGE))
    known = {field.name.upper() for kind in ALL for field in fields(kind)}
    assert named - known - {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} == set()


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:edge|networkPolicy|redis|test|monitoring|archive|broker)\.(?!env)[\w.]+)`", PAGE)
)
def test_a_value_that_is_named_is_one_of_the_chart(path: str) -> None:
    found: Any = VALUES
    for name in path.split("."):
        found = found[name]
