"""What monitoring is made of: the rules, their tests, the dashboards' queries, and the metrics that they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.house.source import ROOT

RULES = ROOT / "deploy" / "prometheus" / "rules"
DASHBOARDS = ROOT / "deploy" / "grafana" / "dashboards"
RUNBOOKS = ROOT / "docs" / "runbooks"
RULE_FILES = sorted(RULES.glob("*.yaml"))
TEST_FILES = sorted(RULES.glob("*_test.yml"))

_SELECTOR = re.compile(r"\b(?:promontory_[a-z_]+|process_[a-z_]+|up|promontory:[a-z_:0-9]+)\b(?:\{[^}]*\})?")


class Query(NamedTuple):
    """An expression, and where it stands."""

    place: str
    expression: str


def rules_of(file: Path) -> list[dict[str, Any]]:
    """Return all rules in a file of rules."""
    return [rule for group in yaml.safe_load(file.read_text("utf-8"))["groups"] for rule in group["rules"]]


RECORDED = [rule for file in RULE_FILES for rule in rules_of(file) if "record" in rule]
ALERTS = [rule for file in RULE_FILES for rule in rules_of(file) if "alert" in rule]


def panel_queries() -> Iterator[Query]:
    """Yield the queries of all panels as Grafana sends them when all games are chosen."""
    for file in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(file.read_text("utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                sent = target["expr"].replace("$__rate_interval", "1m").replace("$game", ".*")
                yield Query(f"{file.stem}: {panel['title']}", sent)


def rule_queries() -> list[Query]:
    """Return the expressions of all rules."""
    return [Query(rule.get("alert") or rule["record"], rule["expr"]) for rule in (*RECORDED, *ALERTS)]


def selectors(expression: str) -> set[str]:
    """Return the series that an expression takes from the processes, each with what it wants of their labels."""
    bare = re.sub(r"\b(by|on|group_left) \([^)]*\)", "", expression)
    return set(_SELECTOR.findall(bare))


def metric(selector: str) -> str:
    """Return the name under which the metric of a selector is defined."""
    name = selector.partition("{")[0]
    return re.sub(r"_(bucket|count|sum)$", "", name) if name.endswith(("_bucket", "_count", "_sum")) else name


def judged(expression: str) -> str:
    """Return an alert's expression such that it gives what is judged, whether or not that is beyond its threshold."""
    return re.sub(r"(==|[<>])(?= (?:[\d.]|on\b))", ">= bool", expression)
