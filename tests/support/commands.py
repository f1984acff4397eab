"""`promontory` commands run by a test, with all that they start."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from promontory.cli import main
from promontory.runtime.settings import inherited


def exit_code(*arguments: object) -> int:
    """Run a command in this process, and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


class Mark:
    """What the environment of a command, and of everything it starts, carries."""

    def __init__(self) -> None:
        self._text = uuid.uuid4().hex

    def start(self, *arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command."""
        command = [sys.executable, "-m", "promontory", *arguments]
        environ = {**inherited(), **(settings or {}), "MARK": self._text}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)

    def running(self) -> list[str]:
        """Return the ids of the marked processes that run."""
        return [
            found.parent.name for found in Path("/proc").glob("[0-9]*/environ") if self._text in _environment(found)
        ]


def _environment(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:  # it has ended, or is another user's
        return ""
