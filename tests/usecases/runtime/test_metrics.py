"""What a process shows of the metrics that all processes have."""

from __future__ import annotations

import subprocess
import sys

from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from promontory.runtime import metrics
from promontory.runtime.settings import inherited

SHOW = """
from urllib.request import urlopen
from promontory.runtime.metrics import serve
print(urlopen(f"http://{serve('127.0.0.1:0')}/metrics").read().decode())
"""


def test_a_process_shows_no_gauge_that_it_has_not_set() -> None:
    """[event_log R28] What only the relay measures must not be 0 in all others: `min` and `max` are taken over all."""
    shown = subprocess.run([sys.executable, "-c", SHOW], env=inherited(), capture_output=True, text=True, check=True)
    families = [each for each in text_string_to_metric_families(shown.stdout) if each.name.startswith("promontory_")]
    gauges = {sample.name for family in families if family.type == "gauge" for sample in family.samples}
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
    assert gauges == {"promontory_build_info"}


def test_a_gauge_is_shown_once_it_is_set_even_to_nothing() -> None:
    gauge = metrics.Gauge("promontory_of_a_test_bytes", "Nothing.")
    assert REGISTRY.get_sample_value("promontory_of_a_test_bytes") is None
    gauge.set(0)
    gauge.set(0)
    assert REGISTRY.get_sample_value("promontory_of_a_test_bytes") == 0
    REGISTRY.unregister(gauge)
