"""The trial's own server, started as its pod starts it. For `make chart-check`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from promontory.eventlog.redis_server import check_policy, connect
from promontory.local.functions import load_all
from promontory.runtime.embedded import find_binary
from tests.deploy.charting import main_container, of_kind, pods, rendered
from tests.deploy.running import free_ports
from tests.support.waiting import eventually

PASSWORD = "p4ss-of-a-trial"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The container's own command, in other directories and on another port; and the server's URL."""
    (tmp_path / "valkey-server").symlink_to(find_binary())
    (port,) = free_ports(1)
    configuration = of_kind(rendered("trial"), "ConfigMap")["valkey"]["data"]["event-log.conf"]
    (tmp_path / "event-log.conf").write_text(f"{configuration}\nport {port}\n", "utf-8")
    container = main_container(pods(rendered("trial"))["valkey"])
    (program,) = container["args"]
    program = re.sub("|".join(mount["mountPath"] for mount in container["volumeMounts"]), str(tmp_path), program)
    memory = {entry["name"]: entry.get("value", PASSWORD) for entry in container["env"]}
    path = {"PATH": f"{tmp_path}:{os.defpath}"}
    process = subprocess.Popen([*container["command"], program], env=memory | path)
    try:
        yield process, f"redis://:{PASSWORD}@127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


async def answers(url: str) -> bool:
    async with connect(url) as connections:
        with suppress(RedisError):
            return bool(await connections.commands.ping())
    return False


async def test_it_may_hold_the_event_log(server: tuple[subprocess.Popen[bytes], str]) -> None:
    """It takes the functions, does nothing without the password, forgets nothing, and ends when it is told to."""
    process, url = server
    await eventually(lambda: answers(url))
    assert len(await load_all(url, require_aof=True)) == 2
    async with connect(url) as connections:
        await check_policy(connections.commands)
        limit = await connections.commands.config_get("maxmemory")
    assert int(limit["maxmemory"]) == 768 << 20
    assert not await answers(url.replace(PASSWORD, "guessed"))
    process.terminate()
    assert process.wait(10) == 0
