"""Helm and Kubernetes accept the chart; values that make no sense are refused with a reason. For `make chart-check`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.charting import CHART, EXAMPLES, RELEASE, rendered, run_helm, template, values_of

SUPPORTED = ("1.30", "1.37")
"""The oldest and the newest Kubernetes that the chart is checked for."""

UNCHECKED = {"keda.sh", "monitoring.coreos.com"}
"""The groups of objects whose schemas are not Kubernetes' own."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_helm_finds_nothing_to_say(example: str) -> None:
    done = run_helm("lint", "--strict", "--quiet", CHART, "--values", values_of(example))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_both_majors_of_helm_make_the_same_of_it(example: str) -> None:
    """But for blank lines. The password of a trial's server is another each time, unless it is given."""
    arguments = ("template", RELEASE, CHART, "--values", values_of(example), "--set", "valkey.existingSecret=given")
    older, newer = (run_helm(*arguments, variable=variable) for variable in ("HELM3", "HELM"))
    assert run_helm("version", variable="HELM3").stdout.startswith('version.BuildInfo{Version:"v3.')
    assert (older.returncode, newer.returncode) == (0, 0)
    assert list(yaml.safe_load_all(older.stdout)) == list(yaml.safe_load_all(newer.stdout))


@pytest.mark.parametrize("version", SUPPORTED)
def test_kubernetes_knows_every_object_and_every_field(version: str, tmp_path: Path) -> None:
    """[reference] Only `--strict` finds fields that there are not."""
    file = tmp_path / "objects.yaml"
    file.write_text("\n---\n".join(template(example).stdout for example in EXAMPLES), "utf-8")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "tool", "run", "--quiet", "--from", "kubernetes-validate==1.37.0", "kubernetes-validate"]
    done = subprocess.run(
        [*command, "--strict", "-k", version, file], capture_output=True, text=True, check=False, timeout=110
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("INFO")]
    assert done.returncode == 0, said
    assert [line for line in said if not any(f"api version {group}/" in line for group in UNCHECKED)] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_object_is_there_twice(example: str) -> None:
    names = [(document["kind"], document["metadata"]["name"]) for document in rendered(example)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("rules.setings.LOG_LEVEL=debug", "setings"),
        ("rules.settings.HEARTBEAT=1", "HEARTBEAT"),
        ("rules.settings.SWEEP_SECONDS=1", "SWEEP_SECONDS"),
        ("matchmaking.settings.MAX_OPEN_TICKETS=none", "MAX_OPEN_TICKETS"),
        ("defaults.settings.REDIS_URL=redis://elsewhere", "REDIS_URL"),
        ("workers.bots.autoscaling.minReplicas=0", "minReplicas"),
        ("image.digest=latest", "digest"),
        ("redis.url=redis://elsewhere", "in one way"),
        ("valkey.enabled=false", "given: none"),
        ("redis.mode=sentinel", "a server of its own"),
        ("archive.url=file:///archive", "archive.claim"),
        ("backup.enabled=true", "backup.claim"),
        ("keda.enabled=true", "keda.prometheusAddress"),
        ("test.token.secretName=given,test.game=eighteen", "test.game"),
    ],
)
def test_values_that_make_no_sense_are_refused(given: str, told: str) -> None:
    done = template("trial", "--set", given)
    assert done.returncode == 1
    assert told in done.stderr


def test_a_game_more_is_one_entry() -> None:
    """[style 1] Its rules service, its route, and its place in the addresses that the others are told."""
    before = {(each["kind"], each["metadata"]["name"]) for each in rendered("trial")}
    after = {(each["kind"], each["metadata"]["name"]) for each in rendered("trial", "--set-json", "games.eighteen={}")}
    kinds = {"Deployment", "Service", "ServiceAccount", "NetworkPolicy", "PodDisruptionBudget"}
    assert after - before == {(kind, "northern-promontory-rules-eighteen") for kind in kinds}
    text = str(rendered("trial", "--set-json", "games.eighteen={}"))
    assert "eighteen=northern-promontory-rules-eighteen.games.svc.cluster.local:7401" in text
    assert "prefix: /promontory.api.eighteen.v1." in text
