"""The edge's configuration, run by a real Envoy before real gRPC servers. For `make chart-check`."""

from __future__ import annotations

import re
import struct
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from promontory.games.registry import GAMES
from tests.deploy.charting import EXAMPLES, main_container, of_kind, pods, rendered
from tests.deploy.running import ENVOY, Edge, fetch, running_edge, until

WITH_EDGE = [example for example in EXAMPLES if "edge" in of_kind(rendered(example), "Deployment")]
ANY_METHOD = "/promontory.api.{}.v1.AnyService/AnyMethod"


def configuration(example: str) -> dict[str, str]:
    """Return the files of the edge's configuration."""
    files: dict[str, str] = of_kind(rendered(example), "ConfigMap")["edge"]["data"]
    return files


@pytest.mark.parametrize("example", WITH_EDGE)
def test_envoy_takes_the_configuration_without_a_warning(example: str, tmp_path: Path) -> None:
    for name, text in configuration(example).items():
        moved = text.replace("/etc/envoy", str(tmp_path)).replace("/etc/promontory/tls", str(tmp_path))
        (tmp_path / name).write_text(moved, "utf-8")
    command = [*ENVOY, "--mode", "validate", "--log-level", "warning", "--config-path", str(tmp_path / "envoy.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("example", WITH_EDGE)
def test_every_game_that_is_served_has_its_route(example: str) -> None:
    routes = dict(re.findall(r"prefix: /promontory\.api\.(\w+)\.v1\.}\n *route:\n *cluster: ([\w-]+)", text(example)))
    served = {
        game for game in (entry.name for entry in GAMES) if f"rules-{game.replace('_', '-')}" in pods(rendered(example))
    }
    shared = {"matchmaking": "matchmaking", "lobby": "matchmaking", "players": "matchmaking", "scoring": "scoring"}
    assert routes == shared | {game: f"rules-{game.replace('_', '-')}" for game in served}


def text(example: str) -> str:
    return configuration(example)["envoy.yaml"]


@pytest.mark.parametrize("example", WITH_EDGE)
def test_the_edge_asks_for_the_health_of_services_that_there_are(example: str) -> None:
    asked = set(re.findall(r"grpc_health_check: {service_name: ([\w.]+)}", text(example)))
    games = {entry.service for entry in GAMES if entry.name in text(example)}
    others = {f"promontory.api.{name}.v1.{name.title()}Service" for name in ("matchmaking", "scoring")}
    assert asked == games | others


class Named(grpc.GenericRpcHandler):
    """Answers every call with its own name."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._name)


def serve(name: str, services: list[str]) -> tuple[grpc.Server, int]:
    """Start a server that calls itself `name`, and all `services` healthy; return it and its port."""
    server, servicer = grpc.server(ThreadPoolExecutor(4)), health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for service in services:
        servicer.set(service, health_pb2.HealthCheckResponse.SERVING)
    server.add_generic_rpc_handlers([Named(name)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    """The trial's edge, with pages of one origin allowed, before a server of Pacific and one of everything else."""
    origin = ("--set", "edge.cors.allowOrigins={https://play.example.org}")
    documents = rendered("trial", *origin)
    services = re.findall(r"service_name: ([\w.]+)", of_kind(documents, "ConfigMap")["edge"]["data"]["envoy.yaml"])
    pacific, other = serve("pacific", services), serve("other", services)
    upstreams = {name: (pacific if name == "rules-pacific" else other)[1] for name in of_kind(documents, "Service")}
    with running_edge(documents, upstreams, tmp_path_factory.mktemp("edge")) as found:
        yield found
    for server, _ in (pacific, other):
        server.stop(None)


def call(edge: Edge, package: str) -> bytes:
    """Call some method of a package through the edge."""
    with grpc.insecure_channel(f"127.0.0.1:{edge.calls}") as channel:
        answer: bytes = channel.unary_unary(ANY_METHOD.format(package))(b"", timeout=10, wait_for_ready=True)
        return answer


@pytest.mark.parametrize(
    ("package", "server"),
    [("pacific", b"pacific"), ("transcontinental", b"other"), ("lobby", b"other"), ("scoring", b"other")],
)
def test_a_call_goes_to_the_service_whose_package_it_names(edge: Edge, package: str, server: bytes) -> None:
    assert call(edge, package) == server


@pytest.mark.parametrize("package", ["poker", "admin", "replica"])
def test_a_call_of_nobody_and_one_of_admins_are_unimplemented(edge: Edge, package: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(edge, package)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def web(edge: Edge, method: str, headers: dict[str, str]) -> tuple[bytes, Any]:
    """Send what a browser sends; return body and headers of the answer."""
    body = struct.pack(">BI", 0, 0) if method == "POST" else None
    url = f"http://127.0.0.1:{edge.calls}{ANY_METHOD.format('pacific')}"
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310 - an address of our own
        return response.read(), response.headers


def test_a_browser_is_answered_in_grpc_web(edge: Edge) -> None:
    headers = {"content-type": "application/grpc-web+proto", "origin": "https://play.example.org"}
    body, answer = web(edge, "POST", headers)
    assert body.startswith(struct.pack(">BI", 0, 7) + b"pacific")
    assert b"grpc-status:0" in body
    assert answer["access-control-allow-origin"] == "https://play.example.org"


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://play.example.org", "https://play.example.org"), ("https://evil.example", None)]
)
def test_only_pages_of_the_named_origins_may_call(edge: Edge, origin: str, allowed: str | None) -> None:
    headers = {"origin": origin, "access-control-request-method": "POST"}
    try:
        _, answer = web(edge, "OPTIONS", headers)
    except urllib.error.HTTPError as error:
        answer = error.headers
    assert answer["access-control-allow-origin"] == allowed


def test_metrics_are_shown_and_nothing_else_of_the_administration(edge: Edge) -> None:
    assert "envoy_cluster_upstream_rq_total" in fetch(f"http://127.0.0.1:{edge.metrics}/stats/prometheus")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{edge.metrics}/config_dump", timeout=5)


def test_it_asks_clients_to_go_elsewhere_before_it_stops(edge: Edge) -> None:
    """The command that the kubelet runs before SIGTERM, without its pauses: connections that are open get a GOAWAY."""
    command = main_container(pods(rendered("trial"))["edge"])["lifecycle"]["preStop"]["exec"]["command"]
    program = re.sub(r"sleep \d+", "sleep 0.2", command[-1]).replace("/9901", f"/{edge.admin}")
    channel = grpc.insecure_channel(f"127.0.0.1:{edge.calls}")
    states: list[grpc.ChannelConnectivity] = []
    channel.subscribe(states.append)
    method = channel.unary_unary(ANY_METHOD.format("pacific"))
    assert method(b"", timeout=10) == b"pacific"
    subprocess.run([*command[:-1], program], check=True, timeout=20)

    def left() -> bool:
        method(b"", timeout=10)
        return grpc.ChannelConnectivity.IDLE in states

    until(left)
    channel.close()
