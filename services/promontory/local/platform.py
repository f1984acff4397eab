"""All processes of the platform on one machine, wired to one another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from promontory.games.registry import GAMES
from promontory.local.keys import KeyRing
from promontory.local.processes import ChildProcess
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.server import Ready
from promontory.runtime.settings import inherited

GAME_NAMES = tuple(game.name for game in GAMES)
SERVER = "server"
GRPC_PORTS, METRICS_PORTS = 7400, 9400


class Platform:
    """The platform in one directory: keys, data, logs, and every process. A context manager that stops all of them.

    Uses the server at `redis_url` if one is given, else an embedded one, `server`, whose data stays in the directory.
    `usual_ports` takes the ports that the documentation shows instead of any free ones.
    """

    def __init__(
        self,
        directory: Path,
        *,
        redis_url: str | None = None,
        usual_ports: bool = False,
        workers: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self.keys = KeyRing(self.directory / "keys")
        self.ready: dict[str, Ready] = {}
        self.processes: dict[str, ChildProcess] = {}
        self._usual_ports = usual_ports
        self._workers = workers
        self._settings = settings or {}
        self.server = None if redis_url else EmbeddedServer(self.directory / "valkey")
        self._redis_url = redis_url or ""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoints(self) -> dict[str, str]:
        """The services' addresses, as the SDK takes them."""
        found = {name: self.ready[name].grpc for name in ("matchmaking", "scoring", *GAME_NAMES)}
        return {
            **found,
            "lobby": found["matchmaking"],
            "players": found["matchmaking"],
            "admin": self.ready["admin"].grpc,
        }

    @property
    def redis_url(self) -> str:
        """The URL of the event log's server."""
        return self._redis_url

    def start(self) -> None:
        """Start everything and wait until it serves. Raises `ProcessFailed` if a process does not."""
        (self.directory / "logs").mkdir(parents=True, exist_ok=True)
        self.keys.create_missing()
        if self.server is not None:
            self.server.start()
            self._redis_url = self.server.url
        self._run_to_end("load-functions", "load-functions")
        for name in ("scoring", *GAME_NAMES):
            self.spawn(name)
        self._await("scoring", *GAME_NAMES)
        for name in ("matchmaking", "relay"):
            self.spawn(name)
        self._await("matchmaking")
        for name in self.worker_names:
            self.spawn(name)
        self.spawn("admin")
        self._await("relay", *self.worker_names, "admin")

    @property
    def worker_names(self) -> tuple[str, ...]:
        """The names of the worker processes."""
        return tuple(f"worker-{number}" for number in range(self._workers))

    def spawn(self, name: str) -> ChildProcess:
        """Start the process `name`, again if it had ended; the ports it had are kept.

        `scoring-2` is one more process of the kind `scoring`, and so on: any number serve side by side, each calling
        the peers of its own number where there are such.
        """
        arguments = _arguments(_kind(name))
        environ = {**self._environ(name), **self._listen(name)}
        child = ChildProcess(name, arguments, directory=self.directory / "logs", environ=environ)
        self.processes[name] = child
        return child

    def ended(self) -> list[str]:
        """Return the names of the processes that have ended; first the embedded server's, without which none starts."""
        found = [name for name, child in self.processes.items() if not child.running]
        return [SERVER, *found] if self.server is not None and not self.server.is_running else found

    def revive(self, name: str) -> None:
        """Start the process `name` again, which has ended, and wait until it serves.

        Raises `ProcessFailed`, or `ServerFailed` for the embedded server, which the main thread must start.
        """
        if name == SERVER and self.server is not None:
            self.server.start()
            return
        self.spawn(name)
        self._await(name)

    def log_file(self, name: str) -> Path:
        """Return where the process `name` writes its log."""
        return self.server.log_path if name == SERVER and self.server is not None else self.processes[name].log_file

    def stop(self) -> None:
        """Drain and stop every process, those that hand out work first, and the embedded server last."""
        for kinds in (("admin", "matchmaking", "relay"), ("worker",), ("scoring", *GAME_NAMES)):
            children = [child for name, child in self.processes.items() if _kind(name) in kinds]
            for child in children:
                child.terminate()
            for child in children:
                child.wait()
        if self.server is not None:
            self.server.stop()

    def _await(self, *names: str) -> None:
        for name in names:
            self.ready[name] = self.processes[name].ready()

    def _run_to_end(self, name: str, command: str) -> None:
        child = ChildProcess(name, [command], directory=self.directory / "logs", environ=self._environ(name))
        child.succeed()

    def _environ(self, name: str) -> dict[str, str]:
        kinds = ("scoring", "matchmaking", *GAME_NAMES)
        peers = {kind: self._peer(kind, name) for kind in kinds if kind in self.ready}
        found = {
            "PROMONTORY_REDIS_URL": self._redis_url,
            "PROMONTORY_REFLECTION": "true",
            "PROMONTORY_RULES_TARGETS": ",".join(f"{game}={peers[game]}" for game in GAME_NAMES if game in peers),
            **self.keys.environ(),
        }
        if "scoring" in peers:
            found["PROMONTORY_SCORING_TARGET"] = peers["scoring"]
        if "matchmaking" in peers:
            found["PROMONTORY_MATCHMAKING_TARGET"] = peers["matchmaking"]
        return {**inherited(), **self._settings, **found}

    def _peer(self, kind: str, name: str) -> str:
        return self.ready.get(f"{kind}-{name.rpartition('-')[2]}", self.ready[kind]).grpc

    def _listen(self, name: str) -> dict[str, str]:
        grpc, metrics = self._addresses(name)
        return {"PROMONTORY_LISTEN": grpc, "PROMONTORY_METRICS_LISTEN": metrics}

    def _addresses(self, name: str) -> tuple[str, str]:
        if name in self.ready:
            return self.ready[name].grpc or "127.0.0.1:0", self.ready[name].metrics
        number = self._numbers.get(name)
        ports = (GRPC_PORTS + number, METRICS_PORTS + number) if self._usual_ports and number else (0, 0)
        return f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}"

    @property
    def _numbers(self) -> dict[str, int]:
        """What is added to the first port for each process: 7401 is matchmaking, 7411 the first game's rules."""
        groups = {1: ("matchmaking", "scoring", "relay", "admin"), 11: GAME_NAMES, 21: self.worker_names}
        return {name: first + i for first, names in groups.items() for i, name in enumerate(names)}


def _kind(name: str) -> str:
    """Return which process `name` is one of: `worker` for `worker-0`."""
    kind, _, number = name.rpartition("-")
    return kind if number.isdecimal() else name


def _arguments(kind: str) -> list[str]:
    if kind in GAME_NAMES:
        return ["serve", "rules", "--game", kind]
    if kind == "worker":
        return ["work"]
    return [kind] if kind == "relay" else ["serve", kind]
