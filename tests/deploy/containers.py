"""The image's processes in containers that share a network with nobody but one another."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from promontory.games.registry import GAMES
from tools.image import IMAGE, ROOT
from tools.stand_ins import STORAGE, VALKEY, run, stand_in

PODMAN = ["podman", *STORAGE, "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "file"]
HOME = "/var/lib/promontory"
KEYS, ARCHIVE = f"{HOME}/keys", f"{HOME}/archive"
READY_SECONDS = 60
POLL_SECONDS = 0.05
SAFE = ["--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
ULIMITS = ["--ulimit", "nofile=4096:8192", "--ulimit", "nproc=4096:8192"]
LIMITS = ["--memory", "512m", "--pids-limit", "64", *ULIMITS]
CONFIGURATION = ROOT / "deploy" / "redis" / "event-log.conf"


class Process(NamedTuple):
    """A process of the platform: its arguments, and the numbers of its ports' last digits."""

    arguments: Sequence[str]
    number: int
    settings: Mapping[str, str] = {}

    @property
    def environ(self) -> dict[str, str]:
        """The addresses at which it is to be found."""
        own = {"LISTEN": f"127.0.0.1:{7400 + self.number}", "METRICS_LISTEN": f"127.0.0.1:{9400 + self.number}"}
        return {**own, **self.settings}


SERVICES: dict[str, Process] = {
    **{
        f"rules-{game.name}": Process(["serve", "rules", "--game", game.name], 11 + index)
        for index, game in enumerate(GAMES)
    },
    "scoring": Process(["serve", "scoring"], 2),
    "matchmaking": Process(["serve", "matchmaking"], 1, {"POOLS_FILE": "/etc/promontory/pools.toml"}),
    "admin": Process(["serve", "admin"], 4),
}
OTHERS = {
    "relay": Process(["relay"], 3),
    **{
        f"workers-{queue}": Process(["work"], 21 + index, {"QUEUES": queue})
        for index, queue in enumerate(("bots", "tallies", "archive"))
    },
}
PROCESSES = {**SERVICES, **OTHERS}
ENDPOINTS = ",".join(
    f"{name.removeprefix('rules-')}={process.environ['LISTEN']}"
    for name, process in SERVICES.items()
    if name != "admin"
)
SHARED = {
    "REDIS_URL": "redis://127.0.0.1:6379/0",
    "BROKER_URL": "redis://127.0.0.1:6379/1",
    "ARCHIVE_URL": f"file://{ARCHIVE}",
    "ARCHIVE_AFTER_SECONDS": "1",
    "PLAYER_KEYS_FILE": f"{KEYS}/players.jwks.json",
    "SERVICE_KEYS_FILE": f"{KEYS}/services.jwks.json",
    "SEAL_KEY_FILE": f"{KEYS}/seal.key",
    "RULES_TARGETS": ",".join(target for target in ENDPOINTS.split(",") if target.partition("=")[0] not in SERVICES),
    "SCORING_TARGET": SERVICES["scoring"].environ["LISTEN"],
    "MATCHMAKING_TARGET": SERVICES["matchmaking"].environ["LISTEN"],
}


class Containers:
    """The containers of one test run, all called `<name>-...`, and their volumes; matchmaking serves `pools`."""

    def __init__(self, name: str, *, pools: Path) -> None:
        self.name, self._pools = name, pools
        self._network = ["--network", f"container:{name}-valkey"]
        self._volumes = ["--volume", f"{name}-keys:{KEYS}", "--volume", f"{name}-archive:{ARCHIVE}"]

    def start_server(self) -> None:
        """Start the event log's server, whose network the others join: it has a loopback interface only."""
        mount = ["--volume", f"{CONFIGURATION}:/etc/valkey/event-log.conf:ro", "--user", "999:999"]
        data = ["--volume", f"{self.name}-log:/data", "--network", "none", "--name", f"{self.name}-valkey"]
        command = ["valkey-server", "/etc/valkey/event-log.conf", "--dir", "/data"]
        podman("run", "--detach", *SAFE, *LIMITS, *mount, *data, stand_in(VALKEY), *command)

    def once(self, *arguments: str, options: Sequence[str] = ()) -> str:
        """Run a command of the image to its end, and return what it printed."""
        return podman("run", "--rm", *self._options(SHARED), *options, IMAGE, *arguments)

    def start(self, name: str) -> None:
        """Start a process of the platform."""
        process = PROCESSES[name]
        key = name.partition("-")[0]
        settings = {**SHARED, **process.environ, "SERVICE_KEY_FILE": f"{KEYS}/{key}/service.key.json"}
        podman("run", "--detach", "--name", f"{self.name}-{name}", *self._options(settings), IMAGE, *process.arguments)

    def await_ready(self, name: str) -> float:
        """Wait until the image's own probe says that it serves, and return how many seconds the start took."""
        deadline = time.monotonic() + READY_SECONDS
        while self.probe(name) != 0:
            assert time.monotonic() < deadline, f"{name} is not ready:\n{self.log(name)[-2000:]}"
            time.sleep(POLL_SECONDS)
        logged = json.loads(next(line for line in self.log(name).splitlines() if "process_ready" in line))
        return _seconds(logged["timestamp"]) - _seconds(self.inspect(name)["State"]["StartedAt"])

    def probe(self, name: str) -> int:
        """Run the image's HEALTHCHECK in a container, and return its exit code."""
        command = json.loads(podman("image", "inspect", "--format", "{{json .HealthCheck.Test}}", IMAGE))[1:]
        done = subprocess.run([*PODMAN, "exec", f"{self.name}-{name}", *command], capture_output=True, check=False)
        return done.returncode

    def python(self, name: str, program: str) -> str:
        """Run a Python program in a container, and return what it printed."""
        return podman("exec", f"{self.name}-{name}", "python", "-c", program)

    def status(self, name: str) -> dict[str, str]:
        """Return what the kernel says of a container's first process, `/proc/<pid>/status`."""
        text = Path(f"/proc/{self.inspect(name)['State']['Pid']}/status").read_text("ascii")
        return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}

    def inspect(self, name: str) -> Any:
        """Return what the engine knows of a container."""
        (found,) = json.loads(podman("container", "inspect", f"{self.name}-{name}"))
        return found

    def log(self, name: str) -> str:
        """Return what a process wrote, to both of its outputs."""
        command = [*PODMAN, "logs", f"{self.name}-{name}"]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout

    def stop(self, name: str, *, grace_seconds: int) -> tuple[int, float]:
        """Stop a container by its STOPSIGNAL, and return its exit code and how many seconds it took."""
        began = time.monotonic()
        podman("stop", "--time", str(grace_seconds), f"{self.name}-{name}")
        return self.inspect(name)["State"]["ExitCode"], time.monotonic() - began

    def remove(self) -> None:
        """Remove everything, running or not."""
        found = podman("ps", "--all", "--quiet", "--filter", f"name=^{self.name}-").split()
        volumes = [f"{self.name}-{volume}" for volume in ("keys", "archive", "log")]
        for command in (["rm", "--force", "--time", "1", *found], ["volume", "rm", "--force", *volumes]):
            subprocess.run([*PODMAN, *command], capture_output=True, check=False)

    def _options(self, settings: Mapping[str, str]) -> list[str]:
        environ = [part for key, value in settings.items() for part in ("--env", f"PROMONTORY_{key}={value}")]
        pools = ["--volume", f"{self._pools}:/etc/promontory/pools.toml:ro"]
        files = ["--tmpfs", "/tmp:rw,size=64m,mode=1777", *self._volumes, *pools]
        return [*SAFE, *LIMITS, "--no-healthcheck", *self._network, *files, *environ]


def podman(*arguments: str) -> str:
    """Run podman, and return what it printed."""
    return run(*PODMAN, *arguments)


def _seconds(time_stamp: str) -> float:
    """Return the seconds since 1970 of a time in UTC that may have digits down to nanoseconds."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*Z?.*|Z$", r"\1+00:00", time_stamp)).timestamp()
