"""The metrics are those of the house: each one is counted somewhere, and named as Prometheus wants it."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

import pytest

from tests.house.source import MODULES, lines_of, tree_of

HOME = "runtime/metrics.py"
KINDS = {"Counter", "Gauge", "Histogram"}
UNIT = {"Counter": r"_total", "Histogram": r"_(seconds|bytes)", "Gauge": r"_(seconds|bytes|info)"}
COUNTS = {
    "promontory_watchers",
    "promontory_tickets_open",
    "promontory_obligations_due",
    "promontory_matches_to_archive",
    "promontory_open_matches",
    "promontory_unserved_matches",
    "promontory_tasks_queued",
    "promontory_log_persists",
    "promontory_log_functions_missing",
}
"""Gauges that count things or say yes or no, whose names say what and need no unit."""

CLOSED_SETS = {
    *("game", "command", "outcome", "reason", "event", "kind", "policy", "pool"),
    *("service", "method", "code", "task", "version", "limit"),
    *("process", "cause", "queue"),
    *("rules_version", "data"),
}
"""Labels whose values come from closed sets: the protos, the configuration, or the code."""


class Metric(NamedTuple):
    """A metric as the module defines it."""

    variable: str
    kind: str
    name: str
    labels: tuple[str, ...]


def _metric(node: ast.Assign) -> Metric | None:
    call, (target,) = node.value, node.targets
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in KINDS):
        return None
    name, _, *labels = [ast.literal_eval(argument) for argument in call.args]
    return Metric(ast.unparse(target), call.func.id, name, tuple(labels[0] if labels else ()))


METRICS = [metric for node in tree_of(HOME).body if isinstance(node, ast.Assign) and (metric := _metric(node))]
NAMES = [metric.name for metric in METRICS]


def test_the_metrics_are_found() -> None:
    assert "promontory_commands_total" in NAMES
    assert len(NAMES) == len(set(NAMES))


def _observed(module: str) -> set[str]:
    """Return the metrics that `module` sets, counts or observes, by the names of their variables."""
    written = "\n".join(lines_of(module))
    at_once = re.findall(r"\bmetrics\.([A-Z_]+)\.(?:labels|inc|set|observe)\(", written)
    return {*at_once, *re.findall(r"\bmetrics\.labelled\(metrics\.([A-Z_]+)", written)}


def test_every_metric_is_observed_somewhere() -> None:
    at_home = {"BUILD"}
    observed = at_home.union(*map(_observed, MODULES))
    assert {metric.variable for metric in METRICS} == observed


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_a_metric_has_the_prefix_and_the_unit_of_its_kind(metric: Metric) -> None:
    """[style 8] Prefix `promontory_`, base units, unit suffix, `_total` on counters."""
    assert metric.name in COUNTS or re.fullmatch(rf"promontory_[a-z_]+{UNIT[metric.kind]}", metric.name)


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_a_label_s_values_come_from_a_closed_set(metric: Metric) -> None:
    """[style 8] Never a match, player, ticket or error text."""
    assert set(metric.labels) <= CLOSED_SETS
