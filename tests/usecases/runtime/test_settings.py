"""Settings: read once from the environment, checked to the last name, and passed on as plain values."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from promontory.runtime.settings import (
    ALL,
    MatchmakingSettings,
    ProcessSettings,
    RelaySettings,
    RulesSettings,
    ScoringSettings,
    ServerSettings,
    SettingsError,
    WorkerSettings,
    given,
    inherited,
    load,
    targets,
)

Kind = type[ProcessSettings]
SAMPLES = {"redis_url": "unix:///tmp/x.sock?db=3", "listen": "0.0.0.0:7401", "metrics_listen": "[::]:9401"}
BY_TYPE: dict[Any, str] = {bool: "true", int: "7", float: "1.5", str: "text", Path: "a/file", Path | None: "a/file"}
CHOICES = {"log_level": "debug", "log_format": "console", "player_ids": "opaque"}
TRACES = {"traces_url": "http://collector:4317", "traces_ratio": "0.5"}
FIELDS = [(kind, field.name) for kind in ALL for field in fields(kind)]


def read(kind: Kind, name: str, value: str) -> Any:
    return getattr(load(kind, {f"PROMONTORY_{name.upper()}": value}), name)


def sample(kind: Kind, name: str) -> str:
    """Return a value that the setting can have, other than its default."""
    known = {**SAMPLES, **CHOICES, **TRACES, "require_aof": "false"}
    return known.get(name) or BY_TYPE[get_type_hints(kind)[name]]


@pytest.mark.parametrize("kind", ALL)
def test_every_default_is_a_value_that_may_be_given(kind: Kind) -> None:
    """Defaults work on one machine."""
    assert load(kind, {}) == kind()


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_a_setting_is_read_under_its_name(kind: Kind, name: str) -> None:
    """[README, settings] The field `drain_seconds` is `PROMONTORY_DRAIN_SECONDS`, as its type."""
    found = read(kind, name, sample(kind, name))
    default = getattr(kind(), name)
    assert found != default
    assert type(found) is type(default) or default is None or isinstance(found, Path | float)


@pytest.mark.parametrize(("kind", "name"), FIELDS)
def test_an_empty_value_counts_as_not_given(kind: Kind, name: str) -> None:
    """Compose files and charts pass on what is not set as an empty text."""
    assert load(kind, {f"PROMONTORY_{name.upper()}": ""}) == kind()


@pytest.mark.parametrize(
    ("kind", "name", "value", "found"),
    [
        (ProcessSettings, "require_aof", "FALSE", False),
        (ProcessSettings, "require_aof", "0", False),
        (ServerSettings, "reflection", "1", True),
        (ProcessSettings, "buckets", "4096", 4096),
        (ServerSettings, "drain_seconds", "0.5", 0.5),
        (ServerSettings, "drain_seconds", "5", 5.0),
        (ServerSettings, "max_request_bytes", "67108864", 67_108_864),
        (ProcessSettings, "log_level", "warning", "warning"),
        (ProcessSettings, "ready_file", "/run/ready.json", Path("/run/ready.json")),
        (RulesSettings, "seal_key_file", "null", Path("null")),
        (ServerSettings, "listen", "[::1]:0", "[::1]:0"),
        (ServerSettings, "listen", "rules.internal:65535", "rules.internal:65535"),
    ],
)
def test_a_value_becomes_what_its_type_says(kind: Kind, name: str, value: str, found: Any) -> None:
    assert read(kind, name, value) == found


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (ProcessSettings, "require_aof", "yes"),
        (ProcessSettings, "require_aof", "null"),
        (ProcessSettings, "buckets", "0"),
        (ProcessSettings, "buckets", "4097"),
        (ProcessSettings, "buckets", "-1"),
        (ProcessSettings, "buckets", "many"),
        (ProcessSettings, "buckets", "1.5"),
        (ProcessSettings, "log_level", "INFO"),
        (ProcessSettings, "log_format", "xml"),
        (ProcessSettings, "metrics_listen", "9401"),
        (ProcessSettings, "metrics_listen", ":9401"),
        (ServerSettings, "listen", "127.0.0.1"),
        (ServerSettings, "listen", "127.0.0.1:"),
        (ServerSettings, "listen", "127.0.0.1:port"),
        (ServerSettings, "listen", "127.0.0.1:123456"),
        (ServerSettings, "listen", "::1:7401"),
        (ServerSettings, "listen", "two words:7401"),
        (ServerSettings, "drain_seconds", "0"),
        (ServerSettings, "drain_seconds", "-1"),
        (ServerSettings, "drain_seconds", "nan"),
        (ServerSettings, "drain_seconds", "inf"),
        (ServerSettings, "drain_seconds", "20s"),
        (ServerSettings, "token_issuer", "two words"),
        (ServerSettings, "token_issuer", "promontory-services"),
        (ServerSettings, "token_audience", "promontory-admin"),
        (ServerSettings, "max_request_bytes", "0"),
        (ServerSettings, "max_request_bytes", "67108865"),
        (ServerSettings, "max_connection_age_seconds", "86401"),
        (RulesSettings, "cached_matches", "0"),
        (MatchmakingSettings, "matching_interval_seconds", "0"),
        (RelaySettings, "max_attempts", "0"),
        (WorkerSettings, "concurrency", "0"),
    ],
)
def test_an_unusable_value_is_refused_with_the_name_of_its_setting(kind: Kind, name: str, value: str) -> None:
    """Also what only gRPC would stumble over, when everything else has started."""
    with pytest.raises(SettingsError, match=f"PROMONTORY_{name.upper()}: .*README"):
        read(kind, name, value)


@pytest.mark.parametrize("value", ["http://x", ""])
def test_a_name_that_no_process_reads_is_refused(value: str) -> None:
    """A misspelt setting never goes unnoticed: all of them are named at once."""
    environ = {"PROMONTORY_REDIS_ULR": value, "PROMONTORY_BUKETS": "1", "PROMONTORY_BUCKETS": "2", "HOME": "/"}
    with pytest.raises(SettingsError, match=r"PROMONTORY_BUKETS\b.*, PROMONTORY_REDIS_ULR\b"):
        load(ProcessSettings, environ)


@pytest.mark.parametrize("kind", ALL)
def test_a_process_passes_over_the_settings_of_others(kind: Kind) -> None:
    """One environment serves all processes of a machine; what another reads is not checked twice."""
    environ = {f"PROMONTORY_{name.upper()}": sample(each, name) for each, name in FIELDS}
    assert load(kind, {**environ, "PROMONTORY_LOG_LEVEL": "error"}).log_level == "error"


def test_a_secret_in_a_value_is_not_told() -> None:
    """The error is printed and logged."""
    with pytest.raises(SettingsError) as refused:
        load(ServerSettings, {"PROMONTORY_LISTEN": "swordfish"})
    assert "swordfish" not in str(refused.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        load(ScoringSettings, {}).buckets = 3  # type: ignore[misc]


def test_the_environment_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMONTORY_BUCKETS", "12")
    monkeypatch.setenv("PROMONTORY_REDIS_URL", "")
    assert load(ProcessSettings).buckets == 12
    assert (given("buckets"), given("redis_url"), given("listen")) == ("12", None, None)


def test_a_child_inherits_everything_but_the_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes cannot have the same."""
    [monkeypatch.setenv(f"PROMONTORY_{name}", "1") for name in ("LISTEN", "METRICS_LISTEN", "READY_FILE", "BUCKETS")]
    found = inherited()
    assert {name for name in found if name.startswith("PROMONTORY_")} == {"PROMONTORY_BUCKETS"}
    assert "PATH" in found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("transcontinental=a:1", {"transcontinental": "a:1"}),
        ("pacific=a:1,transcontinental=[::1]:2", {"pacific": "a:1", "transcontinental": "[::1]:2"}),
        (" pacific = a:1 , transcontinental = dns:///b:2 ,", {"pacific": "a:1", "transcontinental": "dns:///b:2"}),
    ],
)
def test_addresses_are_written_name_by_name(text: str, found: dict[str, str]) -> None:
    """[README, RULES_TARGETS] `game=host:port,game=host:port`; white space does not matter."""
    assert targets(text) == found


@pytest.mark.parametrize("text", ["a", "a=", "=a:1", "a=b:1,c", "a=b:1,a=c:2", " = ", "a = "])
def test_addresses_of_another_form_are_refused(text: str) -> None:
    """A name that stands twice too: one of its addresses would get lost."""
    with pytest.raises(SettingsError, match="name=host:port"):
        targets(text)


def test_a_name_means_the_same_to_every_process() -> None:
    """One environment for all."""
    hints = {kind: get_type_hints(kind, include_extras=True) for kind in ALL}
    shared = [
        (name, one[name], other[name])
        for one, other in itertools.combinations(hints.values(), 2)
        for name in one.keys() & other.keys()
    ]
    assert [name for name, one, other in shared if one != other] == []
