"""The schema of the chart's values: `write` it, or `check` that the written one is current.

What processes may be told follows from the dataclasses of their settings, so that Helm refuses a misspelt name or an
unusable value before anything is installed. The schema keeps to draft 7, which Helm 3 and 4 both read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from promontory.local.keys import SIGNING
from promontory.runtime import settings

FILE = Path(__file__).parent.parent / "deploy" / "chart" / "values.schema.json"

PROCESSES: dict[str, type[settings.ProcessSettings]] = {
    "rules": settings.RulesSettings,
    "matchmaking": settings.MatchmakingSettings,
    "scoring": settings.ScoringSettings,
    "admin": settings.AdminSettings,
    "relay": settings.RelaySettings,
    "workers": settings.WorkerSettings,
}

OWN = re.compile(r".*(_url|_targets?|_files?|listen|queues)")
"""The settings that the chart gives itself: addresses and files."""

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "minLength": 1}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
AT_LEAST_ONE: Schema = {"type": "integer", "minimum": 1}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
PART: Schema = {"type": ["integer", "string"], "pattern": "^[0-9]+%?$", "minimum": 0}
FREE: Schema = {"type": "object"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}


def choice(*values: str) -> Schema:
    """Return the schema of one of `values`."""
    return {"enum": list(values)}


def many(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def node(**properties: Schema) -> Schema:
    """Return the schema of an object that has `properties` and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


def ref(name: str) -> Schema:
    """Return what stands for the definition called `name`."""
    return {"$ref": f"#/definitions/{name}"}


def is_own(field: str) -> bool:
    """Tell whether the chart gives the setting `field` itself."""
    return OWN.fullmatch(field) is not None


def of_settings(*kinds: type[settings.ProcessSettings]) -> Schema:
    """Return the schema of the settings, by the names in the README, that an operator may give to `kinds`."""
    found: Schema = {}
    for kind in kinds:
        types = get_type_hints(kind, include_extras=True)
        names = [field.name for field in fields(kind) if not is_own(field.name)]
        found |= {name.upper(): msgspec.json.schema(types[name]) for name in names}
    return node(**dict(sorted(found.items())))


def workload(allowed: Schema, **more: Schema) -> Schema:
    """Return the schema of what holds for a workload whose settings are `allowed`, and that takes `more` values."""
    return node(
        replicas=COUNT,
        imageTag=TEXT,
        settings=allowed,
        resources=FREE,
        autoscaling=ref("autoscaling"),
        disruption=ref("disruption"),
        rollout=node(maxUnavailable=PART, maxSurge=PART),
        topologySpread=many(FREE),
        podLabels=TEXTS,
        podAnnotations=TEXTS,
        serviceAccountAnnotations=TEXTS,
        nodeSelector=TEXTS,
        tolerations=many(FREE),
        affinity=FREE,
        priorityClassName=TEXT,
        **more,
    )


DEFINITIONS: Schema = {
    "autoscaling": node(
        enabled=FLAG,
        minReplicas=AT_LEAST_ONE,
        maxReplicas=AT_LEAST_ONE,
        cpuPercent=AT_LEAST_ONE,
        scaleDownSeconds={"type": "integer", "minimum": 0, "maximum": 3600},
    ),
    "disruption": node(enabled=FLAG, maxUnavailable=PART, minAvailable={"anyOf": [PART, {"type": "null"}]}),
    "image": node(
        repository=NAME,
        tag=TEXT,
        digest={"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
        pullPolicy=choice("Always", "IfNotPresent", "Never"),
    ),
    "secret": node(name=TEXT, key=NAME),
    "key": node(secretName=NAME, key=NAME),
    "server": {"type": "string", "pattern": "^([a-z+]+://\\S+)?$"},
    "peers": many(node(podSelector=FREE, namespaceSelector=FREE, ipBlock=FREE)),
}


def _workloads() -> Schema:
    allowed = {name: ref(f"{name}Settings") for name in PROCESSES}
    keda = node(dueObligations=COUNT, oldestSeconds={"type": "number", "minimum": 0}, queueLength=AT_LEAST_ONE)
    game = workload(allowed["rules"], enabled=FLAG, data=many(node(configMap=NAME, key=NAME)))
    worker = workload(allowed["workers"], keda=keda)
    return {
        "games": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[a-z][a-z0-9_]*$"},
            "additionalProperties": game,
        },
        "defaults": workload(of_settings(*PROCESSES.values())),
        "rules": workload(allowed["rules"]),
        "matchmaking": workload(allowed["matchmaking"], pools=TEXT),
        "scoring": workload(allowed["scoring"]),
        "admin": workload(allowed["admin"], enabled=FLAG),
        "relay": workload(allowed["relay"]),
        "workers": node(bots=worker, tallies=worker, archive=worker),
        "edge": _edge(),
    }


def _edge() -> Schema:
    return workload(
        node(),
        enabled=FLAG,
        image=ref("image"),
        service=node(
            type=choice("ClusterIP", "NodePort", "LoadBalancer"),
            port=PORT,
            annotations=TEXTS,
            loadBalancerSourceRanges=many(TEXT),
            externalTrafficPolicy=choice("Cluster", "Local"),
        ),
        tls=node(secretName=TEXT),
        cors=node(allowOrigins=many(NAME)),
        maxConnections=AT_LEAST_ONE,
        drainSeconds=COUNT,
        accessLog=FLAG,
    )


def _servers() -> Schema:
    return {
        "redis": node(
            mode=choice("single", "sentinel", "cluster"),
            url=ref("server"),
            existingSecret=ref("secret"),
            ports=many(PORT),
            ca=node(secretName=TEXT, key=NAME),
        ),
        "broker": node(url=ref("server"), existingSecret=ref("secret"), ports=many(PORT)),
        "loadFunctions": node(mode=choice("auto", "job", "init", "none"), existingSecret=ref("secret"), resources=FREE),
        "valkey": node(
            enabled=FLAG,
            image=ref("image"),
            existingSecret=TEXT,
            maxMemory={"type": "string", "pattern": "^[0-9]+[kmg]b$"},
            persistence=node(enabled=FLAG, size=NAME, storageClass=TEXT),
            resources=FREE,
        ),
        "archive": node(
            url={"type": "string", "pattern": "^((s3|file)://\\S+)?$"},
            existingSecret=TEXT,
            claim=TEXT,
            ports=many(PORT),
        ),
        "backup": node(
            enabled=FLAG,
            schedule=NAME,
            generation={"type": "string", "pattern": "^[%\\w.-]+$"},
            claim=TEXT,
            existingSecret=ref("secret"),
            resources=FREE,
        ),
        "tracing": node(url={"type": "string", "pattern": "^(https?://\\S+)?$"}, ports=many(PORT)),
        "keys": node(**{name: ref("key") for name in ("players", "services", "seal", *SIGNING)}),
    }


def _surroundings() -> Schema:
    peers = ("dns", "redis", "broker", "archive", "tracing", "edge", "services", "admin", "monitoring")
    return {
        "probes": node(
            type=choice("grpc", "exec"),
            periodSeconds=AT_LEAST_ONE,
            timeoutSeconds=AT_LEAST_ONE,
            failureThreshold=AT_LEAST_ONE,
            startupSeconds=AT_LEAST_ONE,
        ),
        "preStopSeconds": COUNT,
        "security": node(pod=FREE, container=FREE),
        "networkPolicy": node(enabled=FLAG, **{name: ref("peers") for name in peers}),
        "monitoring": node(
            annotations=FLAG,
            podMonitors=node(enabled=FLAG, labels=TEXTS, interval=NAME),
            rules=node(
                enabled=FLAG,
                runbookBaseUrl={"type": "string", "pattern": "^(https?://\\S+)?$"},
                labels=TEXTS,
            ),
            dashboards=node(enabled=FLAG, labels=TEXTS),
        ),
        "keda": node(
            enabled=FLAG,
            prometheusAddress=ref("server"),
            broker=node(address=TEXT, database=COUNT, passwordSecret=TEXT),
        ),
        "test": node(token=node(secretName=TEXT, key=NAME), pool=NAME, game=NAME, seconds=AT_LEAST_ONE, resources=FREE),
    }


def schema() -> Schema:
    """Return the whole schema."""
    general = {
        "global": FREE,
        "image": ref("image"),
        "imagePullSecrets": many(node(name=NAME)),
        "nameOverride": TEXT,
        "fullnameOverride": TEXT,
        "clusterDomain": NAME,
        "listenHost": NAME,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": DEFINITIONS | {f"{name}Settings": of_settings(kind) for name, kind in PROCESSES.items()},
        **node(**general, **_workloads(), **_servers(), **_surroundings()),
    }


def text() -> str:
    """Return the schema as it is written."""
    return json.dumps(schema(), indent=2) + "\n"


def main() -> None:
    """Write or check the schema; exit with 1 if the written one is not current."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("write", "check"))
    if parser.parse_args().action == "write":
        FILE.write_text(text(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text():
        sys.exit(f"{FILE.name} is not what the settings give: make chart-schema")


if __name__ == "__main__":
    main()
