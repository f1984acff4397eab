"""Checkov finds nothing in what the chart renders, but for what is meant to be so. For `make chart-policy`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.charting import EXAMPLES, template

CHECKOV = "checkov==3.3.30"
"""Pinned, and with it the list of its checks."""

MEANT = {
    "CKV_K8S_11": "no CPU limits: being throttled looks like a slow event log",
    "CKV_K8S_35": "the servers' URLs are settings, and settings are environment; keys are files",
    "CKV_K8S_43": "the examples need not pin other people's images by digest; operators can",
    "CKV_K8S_15": "an image with a version need not be pulled again",
}

OF_THE_TEST = {"CKV_K8S_8", "CKV_K8S_9"}
"""Checks of probes: the pod of `helm test` runs to its end and is not probed."""


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_is_found_but_what_is_meant(example: str, tmp_path: Path) -> None:
    """It asks a remote host for descriptions first, says so where it has none, and goes on."""
    file = tmp_path / "objects.yaml"
    file.write_text(template(example).stdout, "utf-8")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "tool", "run", "--quiet", "--from", CHECKOV, "checkov", "--framework", "kubernetes", "--compact"]
    options = ["--quiet", "--output", "json", "--skip-check", ",".join(MEANT), "--file", file]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=110)
    report = json.loads(done.stdout)
    assert "results" in report or report["passed"] > 0, report
    failed = report.get("results", {}).get("failed_checks", ())
    found = {(each["check_id"], each["check_name"], each["resource"]) for each in failed}
    assert {each for each in found if not (each[0] in OF_THE_TEST and each[2].startswith("Pod."))} == set()
