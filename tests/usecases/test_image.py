"""`make image`: what it asks the builder for, and what it says where that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.image import main

BUILDER = """#!/bin/sh
[ "$1" = info ] && exit 0
printf '%s\\n' "$@" > "$0.asked"
exit {code}
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A builder of images that writes down what it is asked for, and fails."""
    return _builder(tmp_path, monkeypatch, code=1)


def _builder(directory: Path, monkeypatch: pytest.MonkeyPatch, *, code: int) -> Path:
    file = directory / "docker"
    file.write_text(BUILDER.format(code=code))
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return file


def test_a_build_that_fails_says_what_to_do(docker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No trace: the builder has said what is amiss, and the base image may be out of reach."""
    assert main(["build"]) == 1
    assert "docker could not build the image (exit code 1)" in (said := capsys.readouterr().err)
    assert "--base" in said


def test_the_base_image_may_come_from_a_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[docs/image.md] For those without docker.io."""
    docker = _builder(tmp_path, monkeypatch, code=0)
    assert main(["build", "--base", "mirror.example/python:3.11-slim"]) == 0
    asked = docker.with_name("docker.asked").read_text().splitlines()
    assert "PYTHON_IMAGE=mirror.example/python:3.11-slim" in asked


def test_there_may_be_nothing_to_build_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["build"]) == 3
