"""Importing a module of the package only defines names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.source import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imports")


@pytest.fixture(scope="module")
def imported(folder: Path) -> dict[str, Any]:
    """What importing every module did, watched in a fresh process that works in an empty folder."""
    program = ROOT / "tests" / "house" / "import_watch.py"
    result = subprocess.run([sys.executable, program], cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_every_module_is_imported(imported: dict[str, Any]) -> None:
    assert {"promontory.games.kernel", "promontory.eventlog.port"} <= set(imported["modules"])


def test_an_import_reads_no_file_and_no_environment_and_opens_no_connection(imported: dict[str, Any]) -> None:
    assert imported["effects"] == []


def test_an_import_starts_no_thread(imported: dict[str, Any]) -> None:
    assert imported["threads"] == []


def test_an_import_leaves_no_file(imported: dict[str, Any], folder: Path) -> None:
    assert imported["modules"]
    assert list(folder.iterdir()) == []
