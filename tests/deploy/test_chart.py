"""The chart fits the rest of the tree. What needs Helm is in the files beside this one, for `make chart-check`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from promontory.cli import parser
from promontory.games.registry import GAMES
from promontory.local.keys import create_installation
from promontory.runtime.broker import QUEUES
from promontory.runtime.settings import ALL, fields
from tests.deploy.charting import CHART, EXAMPLES, values_of
from tests.house.source import ROOT
from tools import chart_schema

VALUES_TEXT = (CHART / "values.yaml").read_text("utf-8")
VALUES = yaml.safe_load(VALUES_TEXT)
TEMPLATES = "\n".join(path.read_text("utf-8") for path in sorted((CHART / "templates").rglob("*.*")))


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
    """But what is for admins, which nobody must reach by the edge."""
    protos = (ROOT / "protos").rglob("*_service.proto")
    packages = {re.search(r"package promontory\.api\.(\w+)\.v1;", path.read_text("utf-8")).group(1) for path in protos}
    routed = set(re.findall(r"\w+", " ".join(re.findall(r"packages: \[(.*)\]", TEMPLATES))))
    assert packages - {"admin", "replica"} == routed | set(VALUES["games"])


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


def test_the_probe_for_older_clusters_is_a_command() -> None:
    """Its own tests are those of `promontory health`."""
    (probe,) = re.findall(r"command: \[promontory, (health, .*), --service, ", TEMPLATES)
    arguments = probe.replace("{{ $.workload.port }}", "7401")
    given = parser().parse_args([*re.findall(r"[\w:-]+", arguments), "--service", "one"])
    assert (given.address, given.service) == ("localhost:7401", "one")


def test_files_that_the_templates_read_are_there() -> None:
    """Helm takes one that is not there for an empty one."""
    read = re.findall(r'Files\.Get "([^"]+)"', TEMPLATES)
    assert [file for file in read if not (CHART / file).is_file()] == []


def test_the_keys_of_the_docs_are_those_that_the_chart_asks_for(tmp_path: Path) -> None:
    """[docs/kubernetes.md] Each file goes into the Secret, and under the key, that the values name."""
    text = (ROOT / "docs" / "kubernetes.md").read_text("utf-8").replace("$who", "{who}")
    (signing,) = re.findall(r"for who in ([\w ]+);", text)
    made = re.findall(r"generic (promontory-\S+) --from-file=keys/(\S+?)[;\s]", text)
    files = {secret.format(who=who): file.format(who=who) for who in signing.split() for secret, file in made}
    asked = {key["secretName"]: key["key"] for name, key in VALUES["keys"].items() if name != "players"}
    assert {secret: Path(file).name for secret, file in files.items()} == asked
    create_installation(tmp_path, with_players=False)
    assert [file for file in files.values() if not (tmp_path / file).is_file()] == []
