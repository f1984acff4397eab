"""`promontory keys` and `promontory health`, which containers run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from prometheus_client import start_http_server

from promontory.local.keys import SIGNING, KeyRing
from promontory.rules.seal import load_seals
from promontory.runtime.identity import ServiceIdentity, Verifier, load_key
from tests.support.commands import exit_code as run

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
NO_SCOPES: frozenset[str] = frozenset()


def subjects(directory: Path) -> set[str]:
    """Return whom the services take the owners of the private keys in `directory` for."""
    verifier = Verifier(directory / "players.jwks.json", directory / "services.jwks.json")
    keys = {"operator": directory / "service.key.json"} | {
        name: directory / name / "service.key.json" for name in SIGNING
    }
    tokens = [ServiceIdentity(load_key(file), name, NO_SCOPES).token() for name, file in keys.items()]
    return {verifier.verify(token).subject for token in tokens}


def test_each_process_gets_a_key_to_speak_for_itself_with(tmp_path: Path) -> None:
    """[docs/kubernetes.md] One set of public keys, and a private key for each of those that call others."""
    assert run("keys", tmp_path) == 0
    assert subjects(tmp_path) == {"service:operator", *(f"service:{name}" for name in SIGNING)}
    assert len({(tmp_path / name / "service.key.json").read_text() for name in SIGNING}) == len(SIGNING)
    assert KeyRing(tmp_path).player_token("ada")
    load_seals(tmp_path / "seal.key")


def test_keys_that_are_there_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("keys", tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    capsys.readouterr()
    assert run("keys", tmp_path) == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before
    assert capsys.readouterr().out == ""


def test_a_key_is_changed_by_taking_the_old_one_away(tmp_path: Path) -> None:
    """The old public key stays beside the new one, for tokens that are still good."""
    run("keys", tmp_path)
    old = load_key((tmp_path / "relay" / "service.key.json").rename(tmp_path / "old.key.json"))
    run("keys", tmp_path)
    verifier = Verifier(tmp_path / "players.jwks.json", tmp_path / "services.jwks.json")
    assert verifier.verify(ServiceIdentity(old, "relay", NO_SCOPES).token()).subject == "service:relay"
    assert "service:relay" in subjects(tmp_path)
    assert load_key(tmp_path / "relay" / "service.key.json").kid != old.kid


def test_a_public_key_is_retired_once_its_private_one_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[docs/kubernetes.md] The last step of changing a key; those in use stay."""
    run("keys", tmp_path)
    old = load_key((tmp_path / "relay" / "service.key.json").rename(tmp_path / "old.key.json"))
    assert run("keys", "--retire", tmp_path) == 1
    assert "relay/service.key.json would have to be there" in capsys.readouterr().err
    run("keys", tmp_path)
    capsys.readouterr()
    assert run("keys", "--retire", tmp_path) == 0
    assert f"took the public key {old.kid} " in capsys.readouterr().out
    assert old.kid not in (tmp_path / "services.jwks.json").read_text()
    assert len(subjects(tmp_path)) == len(SIGNING) + 1
    assert run("keys", "--retire", tmp_path) == 0
    assert capsys.readouterr().out == "every public key is in use\n"


def test_an_identity_provider_of_your_own_signs_for_players(tmp_path: Path) -> None:
    assert run("keys", "--no-players", tmp_path) == 0
    assert list(tmp_path.glob("players*")) == []
    assert (tmp_path / "services.jwks.json").exists()


@pytest.fixture
def address() -> Iterator[str]:
    """A server of which one service serves, and one does not."""
    server, servicer = grpc.server(ThreadPoolExecutor(2)), health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    servicer.set("", SERVING)
    servicer.set("one", SERVING)
    servicer.set("other", NOT_SERVING)
    port = server.add_insecure_port("0.0.0.0:0")
    server.start()
    yield f"0.0.0.0:{port}"
    server.stop(None)


@pytest.fixture
def ready_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a process writes its addresses."""
    file = tmp_path / "ready.json"
    monkeypatch.setenv("PROMONTORY_READY_FILE", str(file))
    return file


@pytest.mark.parametrize(("service", "code"), [("", 0), ("one", 0), ("other", 1), ("third", 1)])
def test_health_tells_who_serves(address: str, ready_file: Path, service: str, code: int) -> None:
    ready_file.write_text(json.dumps({"metrics": "127.0.0.1:1", "pid": 1, "grpc": address}))
    assert run("health", "--service", service) == code


def test_a_server_is_asked_at_an_address(address: str) -> None:
    assert run("health", "--address", address.replace("0.0.0.0", "localhost"), "--service", "one") == 0  # noqa: S104


def test_a_process_without_services_is_asked_for_its_metrics(ready_file: Path) -> None:
    server, thread = start_http_server(0, addr="127.0.0.1")
    ready_file.write_text(json.dumps({"metrics": f"0.0.0.0:{server.server_port}", "pid": 1, "grpc": ""}))
    assert run("health") == 0
    server.shutdown()
    server.server_close()
    thread.join()
    assert run("health") == 1


def test_a_process_that_is_not_ready_does_not_serve(ready_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("health") == 1
    assert "not ready" in capsys.readouterr().err
