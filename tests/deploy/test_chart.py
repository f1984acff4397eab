"""The chart fits the rest of the tree. What needs Helm is in the files beside this one, for `make chart-check`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from promontory.games.registry import GAMES
from promontory.rules.seal import load_seals
from promontory.runtime.broker import QUEUES
from promontory.runtime.identity import PLAYERS, ServiceIdentity, Verifier, create_key, load_key
from promontory.runtime.settings import ALL, fields
from tests.deploy.charting import CHART, EXAMPLES, values_of
from tests.house.source import ROOT
from tools import chart_schema

VALUES_TEXT = (CHART / "values.yaml").read_text("utf-8")
VALUES = yaml.safe_load(VALUES_TEXT)
TEMPLATES = "\n".join(path.read_text("utf-8") for path in sorted((CHART / "templates").rglob("*.*")))
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_the_schema_is_what_the_settings_give() -> None:
    """If a setting is new: `make chart-schema`."""
    assert chart_schema.FILE.read_text("utf-8") == chart_schema.text()


def test_the_chart_serves_every_game() -> None:
    assert list(VALUES["games"]) == [game.name for game in GAMES]


def test_every_queue_has_its_workers() -> None:
    assert set(VALUES["workers"]) == set(QUEUES)


def test_what_the_templates_set_is_a_setting() -> None:
    """The rendered environment is checked against each process's own settings by `make chart-check`."""
    known = {f"PROMONTORY_{field.name.upper()}" for kind in ALL for field in fields(kind)}
    assert set(re.findall(r"name: (PROMONTORY_\w+)\n", TEMPLATES)) - known == set()


def test_every_service_of_the_protos_is_routed_to_somebody() -> None:
    protos = (ROOT / "protos").rglob("*_service.proto")
    packages = {re.search(r"package promontory\.api\.(\w+)\.v1;", path.read_text("utf-8")).group(1) for path in protos}
    routed = set(re.findall(r"\w+", " ".join(re.findall(r"packages: \[(.*)\]", TEMPLATES))))
    assert packages == routed | set(VALUES["games"])


def undocumented() -> Iterator[str]:
    """Yield the values without a comment above them. Items of lists are told by their list's."""
    before = ""
    for line in VALUES_TEXT.splitlines():
        found = re.match(r"( *)(\w+):", line)
        in_list = re.match(r" *- | {6,}(maxSkew|whenUnsat|matchL|kubernetes)", line)
        if found and not in_list and not before.startswith(f"{found[1]}#"):
            yield line
        before = line


def test_every_value_is_documented() -> None:
    assert list(undocumented()) == []


def unknown(values: Any, schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the values that a schema has no property for."""
    schema = chart_schema.schema()["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if isinstance(values, dict) and "properties" in schema:
        for name, value in values.items():
            if name in schema["properties"]:
                yield from unknown(value, schema["properties"][name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_gives_values_that_there_are(example: str) -> None:
    assert list(unknown(yaml.safe_load(values_of(example).read_text("utf-8")), chart_schema.schema())) == []


def test_the_default_values_are_those_of_the_schema() -> None:
    schema = chart_schema.schema()
    assert list(unknown(VALUES, schema)) == []
    assert schema["properties"].keys() - VALUES.keys() == {"global"}


@pytest.fixture
def target() -> Iterator[str]:
    """A server of which one service serves, and one does not."""
    server, servicer = grpc.server(ThreadPoolExecutor(2)), health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    servicer.set("", SERVING)
    servicer.set("one", SERVING)
    servicer.set("other", NOT_SERVING)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


@pytest.mark.parametrize(("service", "code"), [("", 0), ("one", 0), ("other", 1), ("third", 1)])
def test_the_probe_for_older_clusters_tells_who_serves(target: str, service: str, code: int) -> None:
    """As the chart runs it: its text after `python -c`."""
    program = (CHART / "files" / "probe.py").read_text("utf-8")
    done = subprocess.run([sys.executable, "-c", program, target, service], check=False, capture_output=True)
    assert done.returncode == code


def test_the_keys_of_the_docs_let_each_service_speak_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[docs/kubernetes.md] One set of public keys, and a private key for each of those that call others."""
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "kubernetes.md").read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(program, {})  # noqa: S102 - our own text
    create_key(PLAYERS, tmp_path / "players.key.json", tmp_path / "players.jwks.json")
    verifier = Verifier(tmp_path / "players.jwks.json", tmp_path / "services.jwks.json")
    signing = set(VALUES["keys"]) - {"players", "services", "seal"}
    keys = {name: load_key(tmp_path / name / "service.key.json") for name in signing}
    tokens = [ServiceIdentity(key, name, frozenset()).token() for name, key in keys.items()]
    assert {verifier.verify(token).subject for token in tokens} == {f"service:{name}" for name in signing}
    load_seals(tmp_path / "seal.key")
