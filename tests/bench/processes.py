"""Promontory's processes as benchmarks run them: with the settings of every day, on a store of the benchmark's own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from promontory.local.processes import ChildProcess
from promontory.rules.seal import create_seal_key
from promontory.runtime.settings import inherited
from tests.support.serving import create_keys

UNLIMITED = "1000000"
LONG = "3600"
ERRORS, MOST_LETTERS = 2, 500
"""How many of a process's errors are told, and how much of each."""
FULL_BYTES = 2**20
UNTROUBLED = {
    "PROMONTORY_MAX_CALLS_PER_SECOND": UNLIMITED,
    "PROMONTORY_MAX_COMMANDS_PER_SECOND": UNLIMITED,
    "PROMONTORY_MAX_STREAM_SECONDS": LONG,
    "PROMONTORY_MAX_CONNECTION_AGE_SECONDS": LONG,
}
"""What is not as every day: what limits single players and ends streams is lifted."""


class Processes:
    """Processes on the store at `store_url`, with keys of their own in `directory`, until they are closed."""

    def __init__(self, directory: Path, store_url: str) -> None:
        self.keys = create_keys(directory)
        create_seal_key(directory / "seal.key")
        self._directory = directory
        self._usual = {
            "PROMONTORY_REDIS_URL": store_url,
            "PROMONTORY_PLAYER_KEYS_FILE": str(directory / "players.jwks.json"),
            "PROMONTORY_SERVICE_KEYS_FILE": str(directory / "services.jwks.json"),
            "PROMONTORY_SERVICE_KEY_FILE": str(self.keys.service_key_file),
            "PROMONTORY_SEAL_KEY_FILE": str(directory / "seal.key"),
            **UNTROUBLED,
        }
        self._started: list[ChildProcess] = []

    def start(self, name: str, command: str, environ: Mapping[str, str] | None = None) -> ChildProcess:
        """Return the process of a `promontory` command, begun under a name, with settings of its own in `environ`."""
        settings = {**inherited(), **self._usual, **(environ or {})}
        child = ChildProcess(name, command.split(), directory=self._directory, environ=settings)
        self._started.append(child)
        return child

    def kill(self, child: ChildProcess) -> None:
        """End one at once, as a crash would."""
        child.kill()
        self._started.remove(child)

    def close(self) -> None:
        """End them all; tell on the standard error output what went wrong with them, or if the disk is full."""
        if shutil.disk_usage(self._directory).free < FULL_BYTES:
            sys.stderr.write(f"the disk of {self._directory} is full: say by TMPDIR where there is more room\n")
        for child in self._started:
            was_ready = (self._directory / f"{child.name}.ready.json").exists()
            if was_ready and not child.running:
                sys.stderr.write(f"{child.name} had ended with code {child.wait()}\n")
            child.kill()
            for line in _errors(child.log_file):
                sys.stderr.write(f"{child.name}: {line}\n")


def _errors(file: Path) -> Iterator[str]:
    """Yield the last errors that a process has noted, in short."""
    lines = [line for line in file.read_text("utf-8", "replace").splitlines() if '"level": "error"' in line]
    for line in lines[-ERRORS:]:
        entry = msgspec.json.decode(line)
        what = str(entry.get("exception", "")).strip()[-MOST_LETTERS:]
        yield f"{entry['event']} {what}"
