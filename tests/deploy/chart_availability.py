"""What stays up while nodes, pods and load come and go. For `make chart-check`."""

from __future__ import annotations

import re

import pytest

from promontory.runtime import metrics
from tests.deploy.charting import (
    EXAMPLES,
    NAMESPACE,
    RELEASE,
    Document,
    environment,
    main_container,
    of_kind,
    pods,
    rendered,
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_workload_may_lose_one_pod_at_a_time(example: str) -> None:
    """But on clusters that know no disruption budgets; and none holds up the drain of a node for good."""
    documents = rendered(example)
    budgets = {name: own["spec"] for name, own in of_kind(documents, "PodDisruptionBudget").items()}
    deployments = of_kind(documents, "Deployment")
    assert budgets.keys() == (set() if example == "older-kubernetes" else deployments.keys())
    assert {name for name, own in budgets.items() if not leaves_room(own, fewest(documents, name))} == set()


def leaves_room(budget: Document, pods_at_least: int) -> bool:
    return bool(budget.get("maxUnavailable", 0) >= 1 or budget.get("minAvailable", pods_at_least) < pods_at_least)


def fewest(documents: tuple[Document, ...], name: str) -> int:
    """Return how many pods a workload has at the least."""
    scaler = of_kind(documents, "HorizontalPodAutoscaler").get(name, {"spec": {}})["spec"]
    scaled = of_kind(documents, "ScaledObject").get(name, {"spec": {}})["spec"]
    own = of_kind(documents, "Deployment")[name]["spec"]
    return int(scaler.get("minReplicas") or scaled.get("minReplicaCount") or own["replicas"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_pods_are_spread_over_nodes_and_zones(example: str) -> None:
    """Each workload's own pods: a selector of more would count those of others."""
    spread = {
        (name, rule["topologyKey"], rule["labelSelector"]["matchLabels"]["app.kubernetes.io/component"])
        for name, own in of_kind(rendered(example), "Deployment").items()
        for rule in own["spec"]["template"]["spec"]["topologySpreadConstraints"]
    }
    names = of_kind(rendered(example), "Deployment")
    keys = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    assert spread == {(name, key, name) for name in names for key in keys}


@pytest.mark.parametrize("example", EXAMPLES)
def test_services_are_headless_so_that_clients_know_every_pod(example: str) -> None:
    """But the edge, which outsiders reach; and each is where the others are told that it is."""
    services = {name: own["spec"] for name, own in of_kind(rendered(example), "Service").items()}
    assert {name for name, own in services.items() if own.get("clusterIP") != "None"} <= {"edge", "valkey"}
    texts = " ".join(" ".join(environment(main_container(pod)).values()) for pod in processes(example))
    told = set(re.findall(rf"{RELEASE}-promontory-([\w-]+)\.{NAMESPACE}\.svc\.cluster\.local:(\d+)", texts))
    there = {(name, str(port["port"])) for name, own in services.items() for port in own["ports"]}
    assert told <= there
    assert {name for name, _ in there - told} <= {"admin", "edge", "valkey"}


def processes(example: str) -> list[Document]:
    """Return the pods of what stays."""
    return [pod for name, pod in pods(rendered(example)).items() if name not in {"test", "load-functions"}]


def test_the_edge_has_time_to_send_its_clients_elsewhere() -> None:
    pod = pods(rendered("trial"))["edge"]
    program = main_container(pod)["lifecycle"]["preStop"]["exec"]["command"][-1]
    pauses = sum(int(seconds) for seconds in re.findall(r"sleep (\d+)", program))
    assert pod["spec"]["terminationGracePeriodSeconds"] >= pauses + 10


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_scales_itself_is_told_no_number(example: str) -> None:
    documents = rendered(example)
    scalers = of_kind(documents, "HorizontalPodAutoscaler", "ScaledObject")
    scaled = {scaler["spec"]["scaleTargetRef"]["name"] for scaler in scalers.values()}
    free = {
        each["metadata"]["name"] for each in of_kind(documents, "Deployment").values() if "replicas" not in each["spec"]
    }
    assert free == scaled


def test_keda_scales_each_queue_by_what_waits_in_it() -> None:
    """By the length of the queue; bots also by obligations that are due, and by the age of the oldest."""
    scalers = of_kind(rendered("production-cluster"), "ScaledObject")
    queues = {name: scaler["spec"]["triggers"][-1]["metadata"]["listName"] for name, scaler in scalers.items()}
    assert queues == {f"workers-{queue}": queue for queue in ("archive", "bots", "tallies")}
    triggers = scalers["workers-bots"]["spec"]["triggers"]
    assert [trigger["type"] for trigger in triggers] == ["prometheus", "prometheus", "redis"]
    asked = re.findall(r"promontory_\w+", " ".join(trigger["metadata"].get("query", "") for trigger in triggers))
    assert asked == [
        metric.describe()[0].name for metric in (metrics.OLDEST_OBLIGATION_SECONDS, metrics.OBLIGATIONS_DUE)
    ]
