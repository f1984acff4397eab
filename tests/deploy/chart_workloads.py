"""What runs: settings, keys, rights, probes and time to stop. For `make chart-check`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from promontory.local.keys import SIGNING
from promontory.runtime import settings
from promontory.runtime.server import WATCHDOG_SECONDS
from tests.deploy.charting import (
    EXAMPLES,
    Document,
    containers,
    each_container,
    environment,
    main_container,
    matches,
    of_kind,
    pods,
    rendered,
)
from tools.chart_schema import PROCESSES

ALL_CONTAINERS = list(each_container())
OURS = [
    (example, name)
    for example in EXAMPLES
    for name, pod in pods(rendered(example)).items()
    if pod["metadata"]["labels"]["promontory/kind"] in PROCESSES
]
"""Example and name of each workload that runs a process of ours."""


def pod_of(example: str, name: str) -> Document:
    return pods(rendered(example))[name]


def container_of(example: str, name: str, container: str) -> Document:
    (found,) = [each for each in containers(pod_of(example, name)) if each["name"] == container]
    return found


def kind_of(pod: Document) -> str:
    kind: str = pod["metadata"]["labels"]["promontory/kind"]
    return kind


@pytest.mark.parametrize(("example", "name"), OURS)
def test_a_process_takes_the_settings_it_is_given(example: str, name: str) -> None:
    """It would refuse a name that no process reads, and is given none that it does not read itself.

    But admins' pod, where the doctor is run, who asks for the broker and for cards and tiles too.
    """
    pod = pod_of(example, name)
    given = environment(main_container(pod))
    kind = PROCESSES[kind_of(pod)]
    settings.load(kind, given)
    shared = {"PROMONTORY_" + name for name in settings_for_all(example)}
    shared |= {"PROMONTORY_BROKER_URL", "PROMONTORY_DATA_FILES"} if name == "admin" else set()
    unread = {key for key in given if not hasattr(kind, key.removeprefix("PROMONTORY_").lower())}
    assert unread <= shared


def settings_for_all(example: str) -> set[str]:
    """Return the names of the settings that every process of an example is given."""
    every = [set(environment(main_container(pod_of(each, name)))) for each, name in OURS if each == example]
    return {name.removeprefix("PROMONTORY_") for name in set.intersection(*every)}


def test_who_tells_whether_matches_can_be_played_has_the_data_that_they_are_played_with() -> None:
    """[docs/rules-versions.md] The rules, the workers that replay what they archive, and the doctor in admins' pod."""
    example = "production-cluster"
    own = {name: environment(main_container(pod_of(each, name))) for each, name in OURS if each == example}
    told = {name: given["PROMONTORY_DATA_FILES"] for name, given in own.items() if "PROMONTORY_DATA_FILES" in given}
    assert told.keys() == {"rules-transcontinental", "workers-archive", "admin"}
    assert len(set(told.values())) == 1


def test_an_upgrade_can_go_in_steps() -> None:
    """[docs/upgrades.md] The functions are the new release's first, then the rules, while the others stay."""
    steps = "image.tag=0.2.0,image.digest=,defaults.imageTag=0.1.9,rules.imageTag=0.2.0"
    found = pods(rendered("production-sentinel", "--set-string", steps))
    newer = {name for name, pod in found.items() if main_image(pod) == "registry.example.org/promontory:0.2.0"}
    older = {name for name, pod in found.items() if main_image(pod) == "registry.example.org/promontory:0.1.9"}
    assert newer == {"load-functions", "test", *(name for name in found if name.startswith("rules-"))}
    assert newer | older | {"edge"} == found.keys()


def main_image(pod: Document) -> str:
    """Return the image that a pod is about."""
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def test_backups_are_made_by_whoever_may_and_kept_in_turn() -> None:
    """[docs/backup.md] The archive is copied where it is a directory, and is only read."""
    found = {each: pods(rendered(each))["backup"] for each in ("production-sentinel", "production-cluster")}
    assert environment_secret(found["production-sentinel"]) == "promontory-redis-backup"
    assert main_container(found["production-cluster"])["args"] == ['exec promontory backup "/backups/$(date -u +%H)"']
    given = {each: environment(main_container(pod)).get("PROMONTORY_ARCHIVE_URL") for each, pod in found.items()}
    assert given == {"production-sentinel": None, "production-cluster": "file:///archive"}
    mounts = {each["mountPath"]: each for each in main_container(found["production-cluster"])["volumeMounts"]}
    assert (mounts["/archive"]["readOnly"], mounts["/backups"].get("readOnly")) == (True, None)


def test_whole_numbers_are_written_as_such() -> None:
    """YAML's numbers reach templates as floating point, and 2592000 would be written 2.592e+06."""
    given = environment(main_container(pod_of("production-sentinel", "scoring")))
    assert given["PROMONTORY_MAX_TOKEN_AGE_SECONDS"] == "2592000"


@pytest.mark.parametrize(("example", "name"), OURS)
def test_every_file_a_process_is_told_of_is_mounted(example: str, name: str) -> None:
    pod = pod_of(example, name)
    container = main_container(pod)
    paths = re.findall(r"/etc/promontory/[^,\s]+", " ".join(environment(container).values()))
    assert {path for path in paths if path not in mounted(pod, container)} == set()


def mounted(pod: Document, container: Document) -> set[str]:
    """Return the files that a container finds, of those whose names the chart knows."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    found = set()
    for mount in container["volumeMounts"]:
        volume = volumes[mount["name"]]
        sources = [source["secret"] for source in volume.get("projected", {}).get("sources", ())]
        items = [item["path"] for each in (*sources, volume.get("configMap", {})) for item in each.get("items", ())]
        found |= {f"{mount['mountPath']}/{path}" for path in (*items, "pools.toml")}
    return found


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_process_holds_the_keys_that_it_needs_and_no_others(example: str) -> None:
    """Services that sign for nobody have no private key; only the rules can open seeds; `helm test` is a player."""
    held = {
        (kind_of(pod), item["path"])
        for pod in pods(rendered(example)).values()
        for volume in pod["spec"].get("volumes", ())
        for source in volume.get("projected", {}).get("sources", ())
        for item in source["secret"]["items"]
    }
    public = {(kind, key) for kind in ("rules", "matchmaking", "scoring", "admin") for key in ("players", "services")}
    private = {("rules", "seal"), ("test", "token"), *((kind, "own") for kind in SIGNING)}
    without = {"older-kubernetes": {"admin", "test"}, "production-sentinel": set()}.get(example, {"test"})
    assert held == {(kind, key) for kind, key in public | private if kind not in without}


@pytest.mark.parametrize(("example", "name", "container"), ALL_CONTAINERS)
def test_a_container_has_no_rights(example: str, name: str, container: str) -> None:
    """[Pod Security Standards, restricted], and nothing to write to but /tmp and its data."""
    pod, own = pod_of(example, name), container_of(example, name, container)
    assert own["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    writable = {mount["mountPath"] for mount in own.get("volumeMounts", ()) if not mount.get("readOnly")}
    assert writable <= {"/tmp", "/data", "/archive", "/backups"}


@pytest.mark.parametrize(("example", "name", "container"), ALL_CONTAINERS)
def test_a_container_says_what_it_needs_and_where_it_comes_from(example: str, name: str, container: str) -> None:
    own = container_of(example, name, container)
    assert own["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in own["resources"]["limits"]
    assert re.fullmatch(r"[\w./-]+:[\w.-]+(@sha256:[0-9a-f]{64})?", own["image"])


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_pod_knows_the_cluster(example: str) -> None:
    """No token of its API, and none of the names that Kubernetes would put into the environment."""
    specs = [pod["spec"] for pod in pods(rendered(example)).values()]
    assert {(spec["automountServiceAccountToken"], spec["enableServiceLinks"]) for spec in specs} == {(False, False)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_whatever_stays_is_probed(example: str) -> None:
    staying = {name: pod for name, pod in pods(rendered(example)).items() if stays(pod)}
    probes = {"startupProbe", "livenessProbe", "readinessProbe"}
    assert {name for name, pod in staying.items() if not probes <= main_container(pod).keys()} == set()


def stays(pod: Document) -> bool:
    """Tell whether a pod is to run until it is stopped."""
    return kind_of(pod) not in {"backup", "functions", "test"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_probes_ask_the_port_that_a_process_serves_at(example: str) -> None:
    """That of its calls; of those who take none, and of Envoy, that of their metrics."""
    staying = {name: main_container(pod) for name, pod in pods(rendered(example)).items() if stays(pod)}
    asked = {name: {asked_port(own, key) for key in own if key.endswith("Probe")} for name, own in staying.items()}
    served = {name: {port["name"]: port["containerPort"] for port in own["ports"]} for name, own in staying.items()}
    assert asked == {name: {own.get("grpc") or own.get("redis") or own["metrics"]} for name, own in served.items()}


def asked_port(container: Document, key: str) -> int:
    """Return the port that a probe asks; Valkey's own command asks its usual one."""
    probe = container[key]
    if "grpc" in probe:
        return int(probe["grpc"]["port"])
    if "httpGet" in probe:
        (port,) = [port for port in container["ports"] if port["name"] == probe["httpGet"]["port"]]
        return int(port["containerPort"])
    address = re.search(r"localhost:(\d+)", " ".join(probe["exec"]["command"]))
    return int(address[1]) if address else 6379


@pytest.mark.parametrize(("example", "name"), OURS)
def test_a_pod_has_time_to_drain(example: str, name: str) -> None:
    """Its last calls are served, its drain takes its time, and its own watchdog ends it, before the kubelet does."""
    pod = pod_of(example, name)
    own = settings.load(PROCESSES[kind_of(pod)], environment(main_container(pod)))
    pause = main_container(pod)["lifecycle"]["preStop"]
    seconds = pause["sleep"]["seconds"] if "sleep" in pause else int(pause["exec"]["command"][1])
    assert pod["spec"]["terminationGracePeriodSeconds"] > seconds + drain_of(own) + WATCHDOG_SECONDS


def drain_of(own: settings.ProcessSettings) -> float:
    """Return the most seconds that a process takes to stop, without its watchdog."""
    if isinstance(own, settings.WorkerSettings):
        return own.task_seconds
    return own.drain_seconds if isinstance(own, settings.ServerSettings) else 0


@pytest.mark.parametrize("example", EXAMPLES)
def test_selectors_select_the_pods_they_are_meant_for(example: str) -> None:
    """Those of services, disruption budgets and deployments select one workload's pods each."""
    documents = rendered(example)
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(documents).items()}
    selectors = selectors_of(documents)
    selected = {name: [pod for pod, own in labels.items() if matches(selector, own)] for name, selector in selectors}
    assert {name: found for name, found in selected.items() if found != [name[1]]} == {}


def selectors_of(documents: tuple[Document, ...]) -> list[tuple[tuple[str, str], Any]]:
    """Return kind, name and selector of all objects that select pods of one workload."""
    services = of_kind(documents, "Service")
    others = (
        of_kind(documents, "Deployment"),
        of_kind(documents, "StatefulSet"),
        of_kind(documents, "PodDisruptionBudget"),
    )
    found = [(("Service", name), {"matchLabels": own["spec"]["selector"]}) for name, own in services.items()]
    return found + [((own["kind"], name), own["spec"]["selector"]) for each in others for name, own in each.items()]


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_object_holds_a_secret(example: str) -> None:
    """But for the random password of a trial's own server."""
    secrets = of_kind(rendered(example), "Secret")
    assert list(secrets) == (["valkey"] if example == "trial" else [])


@pytest.mark.parametrize("example", EXAMPLES)
def test_service_accounts_and_configuration_are_there(example: str) -> None:
    documents = rendered(example)
    wanted = {
        pod["spec"]["serviceAccountName"] for pod in pods(documents).values() if "serviceAccountName" in pod["spec"]
    }
    there = {each["metadata"]["name"] for each in of_kind(documents, "ServiceAccount").values()}
    assert wanted == there


def test_functions_are_loaded_before_services_start() -> None:
    """[event_log 2.4] By a hook where the server is there already, else by each pod itself."""
    job = of_kind(rendered("production-sentinel"), "Job")["load-functions"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert environment_secret(job["spec"]["template"]) == "promontory-redis-loader"
    trial = pods(rendered("trial"))
    assert [each["args"] for each in trial["scoring"]["spec"]["initContainers"]] == [["load-functions"]]
    assert of_kind(rendered("trial"), "Job") == {}


def environment_secret(pod: Document) -> str:
    """Return the name of the Secret that a pod has its server's URL from."""
    (entry,) = [each for each in main_container(pod)["env"] if each["name"] == "PROMONTORY_REDIS_URL"]
    name: str = entry["valueFrom"]["secretKeyRef"]["name"]
    return name
