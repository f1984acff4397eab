"""The life of a service process: it starts, says where it is, serves, drains when told to, and ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import msgspec
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from prometheus_client.parser import text_string_to_metric_families

from promontory.runtime import metrics
from promontory.runtime.identity import KeyFileError
from promontory.runtime.server import CannotListen, Ready, Service, announce, serve
from promontory.runtime.settings import ProcessSettings, ServerSettings, inherited
from tests.house.source import ROOT
from tests.support.rules_servers import SERVICE, Client, as_player
from tests.support.serving import Keys, everybody
from tests.support.waiting import eventually

STATES = HealthCheckResponse.ServingStatus
PATIENCE_SECONDS = 30


class Process:
    """A process of `tests.support.small_server`, its output in a file, its addresses in another."""

    def __init__(self, directory: Path, keys: Keys, mode: str, **settings: str) -> None:
        self.log_file, self.ready_file = directory / "log", directory / "ready.json"
        given = {
            "PROMONTORY_PLAYER_KEYS_FILE": str(keys.directory / "players.jwks.json"),
            "PROMONTORY_SERVICE_KEYS_FILE": str(keys.directory / "services.jwks.json"),
            "PROMONTORY_READY_FILE": str(self.ready_file),
            "PROMONTORY_LOG_FORMAT": "json",
            **{f"PROMONTORY_{name.upper()}": value for name, value in settings.items()},
        }
        command = [sys.executable, "-m", "tests.support.small_server", mode]
        with self.log_file.open("wb") as log:
            self.child = subprocess.Popen(
                command, cwd=ROOT, env={**inherited(), **given}, stdout=log, stderr=subprocess.STDOUT
            )

    async def ready(self) -> Ready:
        """Wait until the process serves, and return where."""

        async def there() -> bool:
            return self.ready_file.exists() or self.child.poll() is not None

        await eventually(there, seconds=PATIENCE_SECONDS)
        return msgspec.json.decode(self.ready_file.read_bytes(), type=Ready)

    async def ended(self) -> int:
        """Wait for the end, and return the exit code."""
        return await asyncio.to_thread(self.child.wait, PATIENCE_SECONDS)

    def terminate(self) -> None:
        """Tell the process to stop."""
        self.child.send_signal(signal.SIGTERM)

    def output(self) -> str:
        """Return all that the process has written."""
        return self.log_file.read_text()

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log."""
        return [json.loads(line) for line in self.output().splitlines()]


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path, keys: Keys) -> Iterator[Start]:
    """Start a process in some mode with some settings; it ends with the test."""
    started = list[Process]()

    def begin(mode: str = "well", **settings: str) -> Process:
        started.append(Process(tmp_path, keys, mode, **settings))
        return started[-1]

    yield begin
    for process in started:
        process.child.kill()
        process.child.wait()


@pytest.fixture
async def running(start: Start) -> AsyncIterator[tuple[Process, Ready, grpc.aio.Channel]]:
    """A process that serves, and a channel to it."""
    process = start()
    ready = await process.ready()
    async with grpc.aio.insecure_channel(ready.grpc) as channel:
        yield process, ready, channel


Running = tuple[Process, Ready, grpc.aio.Channel]


async def test_a_process_drains_when_it_is_told_to_stop(running: Running, keys: Keys) -> None:
    """It says that it no longer serves, answers what is under way, ends its streams, and exits with 0."""
    process, _, channel = running
    ada = Client(channel, as_player(keys, "ada"))
    health = aiter(HealthStub(channel).Watch(HealthCheckRequest(service=SERVICE)))
    stream = aiter(ada.stream("WatchMatch", match_id="m"))
    under_way = asyncio.create_task(ada.call("GetMatch", match_id="m"))
    assert (await anext(health)).status == STATES.SERVING
    assert (await anext(stream)).commit.version == 1
    await ada.call("GetMatch", match_id="now")  # which the server took after the one under way

    process.terminate()
    assert (await anext(health)).status == STATES.NOT_SERVING
    assert (await under_way).match.match_id == "m"
    assert [message async for message in stream] == []
    await channel.close()
    assert await process.ended() == 0
    assert [line["event"] for line in process.lines()][-1] == "server_stopped"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[Process]:
    """A process that several tests look at, and leave as it is; Ctrl-C ends it, in peace."""
    process = Process(tmp_path_factory.mktemp("lasting"), keys, "well")
    yield process
    process.child.send_signal(signal.SIGINT)
    assert process.child.wait(PATIENCE_SECONDS) == 0


@pytest.fixture
async def steady(lasting: Process) -> AsyncIterator[Running]:
    """The process that lasts, and a channel to it."""
    ready = await lasting.ready()
    async with grpc.aio.insecure_channel(ready.grpc) as channel:
        yield lasting, ready, channel


async def test_a_process_tells_its_health_without_a_token(steady: Running) -> None:
    """Of the whole, and of each service; what it does not have, it does not know."""
    stub = HealthStub(steady[2])
    asked = [await stub.Check(HealthCheckRequest(service=name)) for name in ("", SERVICE)]
    assert [answer.status for answer in asked] == [STATES.SERVING] * 2
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.Check(HealthCheckRequest(service="other"))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_the_ready_file_tells_the_real_addresses_and_appears_whole(steady: Running) -> None:
    """Port 0 takes any free one; who sees the file can read it."""
    process, ready, _ = steady
    assert (ready.pid, ready.grpc.endswith(":0"), ready.metrics.endswith(":0")) == (process.child.pid, False, False)
    assert [file.name for file in process.ready_file.parent.iterdir() if "partial" in file.name] == []
    announced = next(line for line in process.lines() if line["event"] == "process_ready")
    assert (announced["grpc"], announced["metrics"]) == (ready.grpc, ready.metrics)


async def test_metrics_are_what_prometheus_reads(steady: Running, keys: Keys) -> None:
    """[style 8] Prefix, unit suffixes, `_total` on counters, help on all; served while calls are."""
    _, ready, channel = steady
    await Client(channel, as_player(keys, "ada")).call("GetMatch", match_id="now")
    response = await asyncio.to_thread(urllib.request.urlopen, f"http://{ready.metrics}/metrics")
    text = response.read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    ours = {name: family for name, family in families.items() if name.startswith("promontory_")}
    assert response.headers["Content-Type"].startswith("text/plain")
    assert {"promontory_rpcs", "promontory_rpc_duration_seconds", "promontory_build_info"} <= ours.keys()
    assert [name for name, family in ours.items() if not family.documentation.endswith(".")] == []
    assert [name for name, family in ours.items() if family.type == "histogram" and not name.endswith("_seconds")] == []
    assert 'promontory_rpcs_total{code="OK",method="GetMatch",service="TranscontinentalService"} 1.0' in text


async def test_a_log_is_lines_of_json_without_a_token(running: Running, keys: Keys) -> None:
    """[style 8] Each with time, level, process and a short constant; tokens never, whatever becomes of the call."""
    process, _, channel = running
    tokens = [as_player(keys, "ada"), as_player(keys, "eve", "history:read"), (("authorization", "Bearer swordfish"),)]
    [await _tried(Client(channel, metadata).raw("GetMatch", b"\x0a\x03now")) for metadata in tokens]
    [await _tried(Client(channel, metadata).raw("ListMatchEvents", b"")) for metadata in tokens]
    process.terminate()
    await channel.close()
    await process.ended()
    lines = process.lines()
    assert len(lines) == 1 + 6 + 2
    assert [line for line in lines if not {"event", "level", "timestamp", "process"} <= line.keys()] == []
    assert {line["process"] for line in lines} == {"small"}
    assert [line["event"] for line in lines if " " in line["event"]] == []
    secrets = {part for metadata in tokens for part in metadata[0][1].removeprefix("Bearer ").split(".")}
    assert [secret for secret in secrets if secret in process.output()] == []


async def _tried(call: Any) -> None:
    with suppress(grpc.aio.AioRpcError):
        await call


async def test_a_process_whose_background_work_fails_drains_and_fails(running: Running, keys: Keys) -> None:
    """A service without it would be a lie: calls are still answered, but whoever runs the process starts it again."""
    process, _, channel = running
    answered = await Client(channel, as_player(keys, "ada")).call("GetMatch", match_id="fail")
    await channel.close()
    assert answered.match.match_id == "fail"
    assert await process.ended() == 1
    assert "BesideFailed: the work beside has failed" in process.output()


async def test_a_process_whose_background_work_fails_at_once_fails(start: Start) -> None:
    process = start("broken")
    assert await process.ended() == 1
    assert "background_failed" in process.output()


async def test_a_call_that_never_ends_is_given_up_after_the_drain(start: Start, keys: Keys) -> None:
    """[README, DRAIN_SECONDS] How long calls under way may take after SIGTERM."""
    process = start("stubborn", drain_seconds="0.1")
    async with grpc.aio.insecure_channel((await process.ready()).grpc) as channel:
        ada = Client(channel, as_player(keys, "ada"))
        under_way = asyncio.create_task(ada.call("GetMatch", match_id="m"))
        await ada.call("GetMatch", match_id="now")
        process.terminate()
        with pytest.raises(grpc.aio.AioRpcError):
            await under_way
        assert await process.ended() == 0


async def test_a_drain_that_hangs_does_not_hold_up_the_end(start: Start) -> None:
    """An upgrade goes on."""
    process = start("hanging", drain_seconds="0.1")
    await process.ready()
    process.terminate()
    assert await process.ended() == 1


@pytest.fixture
def taken() -> Iterator[str]:
    """An address where another process listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def settings(keys: Keys, **given: Any) -> ServerSettings:
    files = {f"{kind}_keys_file": keys.directory / f"{kind}s.jwks.json" for kind in ("player", "service")}
    return ServerSettings(**{**files, **given})


async def _nothing() -> None:
    raise AssertionError("it began before the process could serve")


async def test_a_taken_port_is_named_with_what_to_do(taken: str, keys: Keys) -> None:
    """Nothing begins, and no coroutine is left behind."""
    beside = _nothing()
    with pytest.raises(CannotListen, match=f"cannot listen on {taken}: .*PROMONTORY_LISTEN"):
        await serve(Service(servicers=[], beside=[beside], players=everybody()), settings(keys, listen=taken))
    assert beside.cr_frame is None


def test_a_taken_port_for_the_metrics_is_named_too(taken: str, tmp_path: Path) -> None:
    """And what nobody could reach is not announced."""
    with pytest.raises(CannotListen, match=f"cannot listen on {taken}: .*PROMONTORY_METRICS_LISTEN"):
        announce(ProcessSettings(metrics_listen=taken, ready_file=tmp_path / "ready.json"))
    assert list(tmp_path.iterdir()) == []


async def test_without_keys_nothing_begins(keys: Keys, tmp_path: Path) -> None:
    """The error names the file."""
    beside = _nothing()
    with pytest.raises(KeyFileError, match=r"nowhere\.json"):
        await serve(
            Service(servicers=[], beside=[beside], players=everybody()),
            settings(keys, player_keys_file=tmp_path / "nowhere.json"),
        )
    assert beside.cr_frame is None


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_metrics_are_served_at_an_ipv6_address() -> None:
    """[settings] `[::1]:0`, as clusters with both kinds of addresses write it."""
    with urllib.request.urlopen(f"http://{metrics.serve('[::1]:0')}/metrics") as response:
        assert response.status == 200
