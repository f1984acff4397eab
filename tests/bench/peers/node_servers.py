"""Other projects' servers that `bench-commands` compares with, under Node.js: boardgame.io and Colyseus.

Both keep matches in memory, of a game of their own with one kind of move and no rules worth the name. They are fetched
on request, as the lock in `node/` says, into the user's cache; nothing of theirs is in the project but what calls it.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from promontory.runtime.settings import inherited
from tests.bench.contenders import serving, started
from tests.bench.reporting import BenchFailed

PEERS = Path(__file__).parent / "node"
NAMES = ("boardgameio", "colyseus")
IN_MEMORY = "none"
NPM_OPTIONS = (
    "--omit=optional",
    "--omit=peer",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--loglevel=error",
    "--fetch-retries=1",
)


class Peer:
    """A server of another project under Node.js, in memory, and a process of its own that plays on it."""

    kinds: Sequence[str] = ("sockets",)
    fsyncs: Sequence[str] = (IN_MEMORY,)
    warming_seconds = 4.0
    pids: Mapping[str, int]

    def __init__(self, name: str, directory: Path) -> None:
        """Start both; `fetched` must have named it. What they complain of goes into `directory`."""
        self.name, cache = name, folder()
        self._log = directory / f"{name}.log"
        self._server, port = serving(["node", f"{name}_server.js"], cwd=cache, log=self._log)
        self._playing = started(["node", "client.js", name, str(port)], cwd=cache, log=self._log)
        self.pids, self.client = {"server": self._server.pid}, self._playing.pid

    async def open(self, kind: str, matches: int) -> None:
        """Have so many matches ready; see `Contender.open`."""
        await asyncio.to_thread(self._ask, {"open": matches})

    async def use(self, fsync: str) -> None:
        """Do nothing: nothing is written to disk."""

    async def play(self, kind: str, matches: int, seconds: float) -> list[float]:
        """Play; see `Contender.play`."""
        answer = await asyncio.to_thread(self._ask, {"matches": matches, "seconds": seconds})
        return [each / 1000 for each in answer["milliseconds"]]

    def _ask(self, question: Mapping[str, object]) -> Any:
        assert self._playing.stdin is not None
        assert self._playing.stdout is not None
        with suppress(BrokenPipeError):
            self._playing.stdin.write(json.dumps(question) + "\n")
            self._playing.stdin.flush()
        for line in self._playing.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise BenchFailed(f"{self.name} has ended, or lost its player:\n{self._log.read_text()[-2000:]}")

    def close(self) -> None:
        """End both processes."""
        for process in (self._playing, self._server):
            process.kill()
            process.wait()


def folder() -> Path:
    """Return where the servers are installed."""
    return Path(inherited().get("XDG_CACHE_HOME") or Path.home() / ".cache") / "promontory" / "peers"


def fetched() -> Sequence[str]:
    """Install the servers unless they are, and return their names; say why there are none if they cannot be had."""
    npm = shutil.which("npm")
    if npm is None or not shutil.which("node"):
        sys.stderr.write("boardgame.io and Colyseus are left out: this machine has no Node.js with npm\n")
        return ()
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    try:
        with (place / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another benchmark may fetch them now
            _install(npm, place)
    except subprocess.CalledProcessError:
        sys.stderr.write("boardgame.io and Colyseus are left out: npm could not fetch them\n")
        return ()
    return NAMES


def _install(npm: str, place: Path) -> None:
    for file in PEERS.iterdir():
        shutil.copy(file, place)
    wanted, installed = place / "package-lock.json", place / "node_modules" / ".promontory-lock"
    if not installed.exists() or installed.read_bytes() != wanted.read_bytes():
        sys.stderr.write(f"fetching boardgame.io and Colyseus into {place}\n")
        subprocess.run([npm, "ci", *NPM_OPTIONS], cwd=place, check=True, stdout=sys.stderr)
        shutil.copy(wanted, installed)
