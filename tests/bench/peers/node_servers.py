"""Other projects' servers that `bench-commands` compares with, under Node.js: boardgame.io and Colyseus.

Both keep matches in memory, of a game of their own with one kind of move and no rules worth the name. They are fetched
on request, as the lock in `node/` says, into the user's cache; nothing of theirs is in the project but what calls it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from promontory.runtime.settings import inherited
from tests.bench.contenders import serving, started

PEERS = Path(__file__).parent / "node"
NAMES = ("boardgameio", "colyseus")
IN_MEMORY = "none"
NPM_OPTIONS = ("--omit=optional", "--omit=peer", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


class Peer:
    """A server of another project under Node.js, in memory, and a process of its own that plays on it."""

    kinds: Sequence[str] = ("sockets",)
    fsyncs: Sequence[str] = (IN_MEMORY,)
    warming_seconds = 4.0
    pids: Mapping[str, int]

    def __init__(self, name: str, directory: Path) -> None:
        """Start both; `fetch` must have been called. What they complain of goes into `directory`."""
        self.name, cache = name, folder()
        log = directory / f"{name}.log"
        self._server, port = serving(["node", f"{name}_server.js"], cwd=cache, log=log)
        self._playing = started(["node", "client.js", name, str(port)], cwd=cache, log=log)
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
        self._playing.stdin.write(json.dumps(question) + "\n")
        self._playing.stdin.flush()
        return json.loads(self._playing.stdout.readline())

    def close(self) -> None:
        """End both processes."""
        for process in (self._playing, self._server):
            process.kill()
            process.wait()


def folder() -> Path:
    """Return where the servers are installed."""
    return Path(inherited().get("XDG_CACHE_HOME") or Path.home() / ".cache") / "promontory" / "peers"


def fetch() -> bool:
    """Install the servers unless they are, and return whether they are: not without Node.js and npm."""
    npm = shutil.which("npm")
    if npm is None or not shutil.which("node"):
        return False
    place, lock = folder(), (PEERS / "package-lock.json").read_bytes()
    place.mkdir(parents=True, exist_ok=True)
    for file in PEERS.iterdir():
        shutil.copy(file, place)
    installed = place / "node_modules" / ".promontory-lock"
    if not installed.exists() or installed.read_bytes() != lock:
        sys.stderr.write(f"fetching boardgame.io and Colyseus into {place}\n")
        subprocess.run([npm, "ci", *NPM_OPTIONS], cwd=place, check=True, stdout=sys.stderr)
        installed.write_bytes(lock)
    return True
