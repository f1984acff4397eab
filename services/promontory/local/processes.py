"""Child processes of the platform: started, awaited until ready, stopped, never orphaned."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from promontory.runtime import clock
from promontory.runtime.server import Ready

START_SECONDS = 60
STOP_SECONDS = 30
_POLL_SECONDS = 0.02


class ProcessFailed(Exception):
    """A process of the platform ended or did not get ready; the message shows the end of its log."""


class ChildProcess:
    """One `promontory` command running as a child: log in `<directory>/<name>.log`, addresses in `<name>.ready.json`.

    It stops when this process dies, whichever way, because its standard input then ends: nothing is left running.
    """

    def __init__(self, name: str, arguments: Sequence[str], *, directory: Path, environ: Mapping[str, str]) -> None:
        self.name = name
        self.log_file = directory / f"{name}.log"
        self._ready_file = directory / f"{name}.ready.json"
        self._ready_file.unlink(missing_ok=True)
        settings = {**environ, "PROMONTORY_READY_FILE": str(self._ready_file), "PROMONTORY_LOG_FORMAT": "json"}
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "promontory", "--end-with-input", *arguments],
                env=settings,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def ready(self) -> Ready:
        """Wait until the process serves and return its addresses. Raises `ProcessFailed`."""
        deadline = clock.monotonic() + START_SECONDS
        while not self._ready_file.exists():
            if not self.running:
                raise self._failure("ended before it was ready")
            if clock.monotonic() > deadline:
                raise self._failure(f"was not ready after {START_SECONDS} s")
            clock.pause(_POLL_SECONDS)
        return msgspec.json.decode(self._ready_file.read_bytes(), type=Ready)

    def succeed(self) -> None:
        """Wait for the end of a command that does one thing. Raises `ProcessFailed` if it exits with an error."""
        if self.wait() != 0:
            raise self._failure("failed")

    def terminate(self) -> None:
        """Ask the process to drain and stop."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def wait(self) -> int:
        """Wait for the end, killing the process if it outlives its grace, and return the exit code."""
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def _failure(self, what: str) -> ProcessFailed:
        tail = b"\n".join(self.log_file.read_bytes().splitlines()[-15:]).decode(errors="replace")
        return ProcessFailed(f"{self.name} {what}; the end of {self.log_file}:\n{tail}")
