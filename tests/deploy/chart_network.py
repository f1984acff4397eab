"""What reaches what: everything that is needed, and nothing else. For `make chart-check`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.deploy.charting import (
    EXAMPLES,
    RELEASE,
    Document,
    containers,
    environment,
    main_container,
    matches,
    of_kind,
    pods,
    rendered,
)

GRPC, ADMIN, EDGE, METRICS, REDIS = 7401, 7404, 8080, 9401, 6379


class Network:
    """The pods of an example, and what its network policies let through among them."""

    def __init__(self, documents: tuple[Document, ...]) -> None:
        self.labels = {name: pod["metadata"]["labels"] for name, pod in pods(documents).items()}
        self._policies = [policy["spec"] for policy in of_kind(documents, "NetworkPolicy").values()]

    def lets(self, source: str, target: str, port: int) -> bool:
        """Tell whether `source` may open a connection to `port` of `target`."""
        leaves = self._allowed(source, "egress", "to", target, port)
        return leaves and self._allowed(target, "ingress", "from", source, port)

    def leaves(self, source: str, port: int) -> bool:
        """Tell whether `source` may reach `port` somewhere outside."""
        return self._allowed(source, "egress", "to", None, port)

    def enters(self, target: str, port: int) -> bool:
        """Tell whether somebody outside may reach `port` of `target`."""
        return self._allowed(target, "ingress", "from", None, port)

    def _allowed(self, pod: str, direction: str, way: str, other: str | None, port: int) -> bool:
        own = [policy for policy in self._policies if matches(policy["podSelector"], self.labels[pod])]
        assert own, f"no policy holds for {pod}"
        rules = [rule for policy in own for rule in policy.get(direction, ())]
        return any(self._holds(rule, way, other, port) for rule in rules)

    def _holds(self, rule: dict[str, Any], way: str, other: str | None, port: int) -> bool:
        if port not in [each["port"] for each in rule["ports"]]:
            return False
        peers = rule.get(way)
        if peers is None:
            return True
        inside = [peer["podSelector"] for peer in peers if peer.keys() == {"podSelector"}]
        if other is None:
            return len(inside) < len(peers)
        return any(matches(selector, self.labels[other]) for selector in inside)


def network(example: str) -> Network:
    return Network(rendered(example))


def calls(example: str) -> Iterator[tuple[str, str]]:
    """Yield who calls whom, as the environment and the edge's configuration tell."""
    documents = rendered(example)
    texts = {
        name: " ".join(environment(main_container(pod)).values())
        for name, pod in pods(documents).items()
        if len(containers(pod)) - len(pod["spec"].get("initContainers", ())) == 1
    }
    if "edge" in texts:
        texts["edge"] = of_kind(documents, "ConfigMap")["edge"]["data"]["envoy.yaml"]
    for name, text in texts.items():
        for target in set(re.findall(rf"{RELEASE}-promontory-([\w-]+)\.games\.svc", text)):
            yield name, target


@pytest.mark.parametrize("example", EXAMPLES)
def test_everyone_reaches_those_it_is_told_of_and_nobody_else(example: str) -> None:
    between = network(example)
    wanted = {(source, target) for source, target in calls(example) if target != "valkey"}
    open_ways = {
        (source, target)
        for source in between.labels
        for target in between.labels
        if source != "test" and (between.lets(source, target, GRPC) or between.lets(source, target, ADMIN))
    }
    assert open_ways == wanted


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_pod_of_the_release_reaches_admins_service(example: str) -> None:
    between = network(example)
    assert {
        name for name in between.labels if "admin" in between.labels and between.lets(name, "admin", ADMIN)
    } == set()


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_process_may_be_scraped(example: str) -> None:
    between = network(example)
    exposing = {name for name, pod in pods(rendered(example)).items() if METRICS in ports(pod)}
    assert {name for name in exposing if not between.enters(name, METRICS)} == set()


def ports(pod: Document) -> set[int]:
    """Return the ports that a pod's containers have."""
    return {port["containerPort"] for container in containers(pod) for port in container.get("ports", ())}


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_port_has_somebody_who_may_reach_it(example: str) -> None:
    between = network(example)
    closed = {
        (name, port)
        for name, pod in pods(rendered(example)).items()
        for port in ports(pod)
        if not between.enters(name, port) and not any(between.lets(other, name, port) for other in between.labels)
    }
    assert closed - {("admin", ADMIN)} == set()


@pytest.mark.parametrize("example", EXAMPLES)
def test_nothing_but_edge_and_metrics_is_open_to_the_outside(example: str) -> None:
    """Unless the values say so: a gateway of one's own, and whoever may reach the admin service."""
    between = network(example)
    entered = {
        (between.labels[name]["promontory/kind"], port)
        for name in between.labels
        for port in (GRPC, ADMIN, REDIS, EDGE)
        if between.enters(name, port)
    }
    said = {
        "older-kubernetes": {(kind, GRPC) for kind in ("rules", "matchmaking", "scoring")},
        "production-sentinel": {("edge", EDGE), ("admin", ADMIN)},
    }
    assert entered == said.get(example, {("edge", EDGE)})


@pytest.mark.parametrize("example", EXAMPLES)
def test_only_those_reach_the_log_whose_environment_names_it(example: str) -> None:
    between = network(example)
    told = {
        name
        for name, pod in pods(rendered(example)).items()
        for container in containers(pod)
        if {"PROMONTORY_REDIS_URL", "PROMONTORY_BROKER_URL"} & environment(container).keys()
    }
    reaching = {
        name
        for name in between.labels
        if (between.lets(name, "valkey", REDIS) if "valkey" in between.labels else between.leaves(name, REDIS))
    }
    assert reaching == told


@pytest.mark.parametrize(
    ("given", "workload", "port"),
    [
        ("archive.url=s3://bucket/prefix", "scoring", 443),
        ("archive.url=s3://bucket/prefix?region=eu&endpoint=http://store:9000", "scoring", 9000),
        ("archive.url=s3://bucket?endpoint=https%3A%2F%2Fstore%3A9443%2Fpath", "scoring", 9443),
        ("archive.url=s3://bucket?endpoint=http://store", "scoring", 80),
        ("tracing.url=http://collector:4319", "relay", 4319),
        ("redis.url=redis://me@redis.example.org:6390/0", "relay", 6390),
        ("redis.url=redis://[2001:db8::1]:6390/0", "relay", 6390),
        (r"redis.mode=sentinel,redis.url=sentinel://a:26380\,b:26380/main,broker.url=redis://b:6390", "relay", 26380),
        ("redis.mode=cluster,redis.url=clusters://a,broker.url=sentinels://b/broker", "relay", 26379),
    ],
)
def test_the_port_that_an_address_names_is_open(given: str, workload: str, port: int) -> None:
    """But where `ports` says otherwise."""
    between = Network(rendered("older-kubernetes", "--set", given))
    assert between.leaves(workload, port)
    assert not between.leaves(workload, 1234)
    names = {443: "archive", 9000: "archive", 9443: "archive", 80: "archive", 4319: "tracing"}
    said = f"{given},{names.get(port, 'redis')}.ports={{1234}},broker.ports={{1234}}"
    assert Network(rendered("older-kubernetes", "--set", said)).leaves(workload, 1234)


def test_the_edge_and_its_test_reach_no_server() -> None:
    between = network("trial")
    assert not between.lets("edge", "valkey", REDIS)
    assert not between.leaves("edge", 443)
    assert between.lets("test", "scoring", GRPC)
    assert between.lets("test", "edge", EDGE)
    assert network("production-cluster").lets("test", "edge", EDGE)


def test_bots_reach_the_broker_but_not_the_log_where_both_are_apart() -> None:
    """In the cluster's example the peers are the same ports of other networks."""
    pod = pods(rendered("production-cluster"))["workers-bots"]
    assert "PROMONTORY_REDIS_URL" not in environment(main_container(pod))
    assert "PROMONTORY_BROKER_URL" in environment(main_container(pod))
