"""The chart, rendered for its example values by the Helm that is named in the environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.house.source import ROOT

CHART = ROOT / "deploy" / "chart"
EXAMPLES = sorted(path.stem for path in (CHART / "ci").glob("*.yaml"))
RELEASE, NAMESPACE = "northern", "games"

Document = dict[str, Any]


def run_helm(*arguments: str | Path, variable: str = "HELM") -> subprocess.CompletedProcess[str]:
    """Run Helm on the chart: HELM in the environment says which, as `make chart-check` does, and HELM3 an older one."""
    helm = os.environ.get(variable, "helm")  # noqa: TID251 - the tools of a check, not a process's settings
    return subprocess.run([helm, *map(str, arguments)], capture_output=True, text=True, check=False)


def values_of(example: str) -> Path:
    """Return the file of an example's values."""
    return CHART / "ci" / f"{example}.yaml"


def template(example: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Render the chart with the values of an example, and `more` arguments."""
    return run_helm("template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values_of(example), *more)


@cache
def rendered(example: str, *more: str) -> tuple[Document, ...]:
    """Return the objects that the chart makes of an example."""
    done = template(example, *more)
    assert done.returncode == 0, done.stderr
    return tuple(document for document in yaml.safe_load_all(done.stdout) if document)


def of_kind(documents: tuple[Document, ...], *kinds: str) -> dict[str, Document]:
    """Return the objects of `kinds` by name, without the release's own part of it."""
    own = [document for document in documents if document["kind"] in kinds]
    return {document["metadata"]["name"].removeprefix(f"{RELEASE}-promontory-"): document for document in own}


def pods(documents: tuple[Document, ...]) -> dict[str, Document]:
    """Return what pods look like, `metadata` and `spec`, by the name of what makes them."""
    makers = of_kind(documents, "Deployment", "StatefulSet", "Job")
    found = {name: maker["spec"]["template"] for name, maker in makers.items()}
    at_times = of_kind(documents, "CronJob")
    found |= {name: maker["spec"]["jobTemplate"]["spec"]["template"] for name, maker in at_times.items()}
    return found | of_kind(documents, "Pod")


def containers(pod: Document) -> list[Document]:
    """Return all containers of a pod."""
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


def main_container(pod: Document) -> Document:
    """Return the one container that a pod is for."""
    (found,) = pod["spec"]["containers"]
    return found


def environment(container: Document) -> dict[str, str]:
    """Return the environment of a container; what comes from a Secret stands there as a URL."""
    return {entry["name"]: entry.get("value", "redis://from-a-secret:6379/0") for entry in container.get("env", ())}


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Tell whether a label selector of the kinds that the chart uses selects `labels`."""
    return selector.get("matchLabels", {}).items() <= labels.items()


def each_container() -> Iterator[Any]:
    """Yield example, pod and container of everything that runs in all examples."""
    for example in EXAMPLES:
        for name, pod in pods(rendered(example)).items():
            for container in containers(pod):
                yield example, name, container["name"]
